//! `caseload profiles`: imports files of people, exports them and finds them. Profiles are printed
//! as the server's bytes.

mod export;
mod find;
mod import;
mod kind;

use clap::Subcommand;

use super::session::block_on;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// Create or update profiles from a file, and wait for the end
    Import(Box<import::ImportArgs>),
    /// Write all profiles, or those that filters select, as JSON Lines or CSV
    Export(export::ExportArgs),
    /// Find profiles by an identity or by a part of a name
    Find(find::FindArgs),
}

pub(crate) fn run(command: ProfilesCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        ProfilesCommand::Import(args) => import::run(&args, printer),
        ProfilesCommand::Export(args) => block_on(export::run(args, printer)),
        ProfilesCommand::Find(args) => block_on(find::run(args, printer)),
    }
}
