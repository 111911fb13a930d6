//! `caseload person`: gives a person a copy of their data. `caseload erase` erases a person.

mod document;
mod export;

use clap::Subcommand;

use super::session::block_on;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Write everything that is stored of a person as one JSON document
    Export(Box<export::ExportArgs>),
}

pub(crate) fn run(command: PersonCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        PersonCommand::Export(args) => block_on(export::run(*args, printer)),
    }
}
