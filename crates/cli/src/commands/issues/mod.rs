//! `caseload issues`: lists, reads, imports and exports issues as JSON Lines. The program prints
//! the server's bytes unchanged. A list goes to standard output, the page number and total to
//! standard error.

mod export;
mod import;
mod list;
mod wire;

use caseload_client::IssueParams;
use clap::{Args, Subcommand};
use wire::line_of;

use super::session::block_on;
use crate::args::ServerArgs;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Subcommand)]
pub(crate) enum IssuesCommand {
    /// Print one page of issues as JSON Lines, or explain how the store finds it
    List(list::ListArgs),
    /// Print one issue
    Get(GetArgs),
    /// Import a file of issues, in as many tasks as it needs
    Import(import::ImportArgs),
    /// Write all issues of a time span as JSON Lines, oldest first
    Export(export::ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Id of the issue
    id: u64,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(command: IssuesCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        IssuesCommand::List(args) => list::run(args, printer),
        IssuesCommand::Get(args) => block_on(get(args, printer)),
        IssuesCommand::Import(args) => import::run(&args, printer),
        IssuesCommand::Export(args) => block_on(export::run(args, printer)),
    }
}

async fn get(args: GetArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let issue = client.issue(args.id, &IssueParams::all_included()).await?;
    printer.data(&line_of(&issue))?;
    Ok(Done::Good)
}
