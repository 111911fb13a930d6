//! `caseload issues`: lists, counts, reads, imports and exports issues. Issues are printed as the
//! server's bytes. A list goes to standard output, the page number and total to standard error.

mod count;
mod export;
mod import;
mod list;
mod search;

use caseload_client::Params;
use clap::{Args, Subcommand};

use super::session::block_on;
use super::wire::line_of;
use crate::args::ServerArgs;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Subcommand)]
pub(crate) enum IssuesCommand {
    /// List issues, newest first: a page of them as JSON, or all of them as a table
    List(list::ListArgs),
    /// List the issues in which a text occurs, one per row
    Search(search::SearchArgs),
    /// Count issues by one or two properties, with bars on a terminal
    Count(count::CountArgs),
    /// Print one issue
    Get(GetArgs),
    /// Create or replace issues from a file, and wait for the end
    Import(Box<import::ImportArgs>),
    /// Write all issues of a time span as JSON Lines, oldest first
    Export(export::ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Id of the issue
    #[arg(value_parser = issue_id)]
    id: u64,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(command: IssuesCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        IssuesCommand::List(args) => list::run(args, printer),
        IssuesCommand::Search(args) => block_on(search::run(args, printer)),
        IssuesCommand::Count(args) => block_on(count::run(args, printer)),
        IssuesCommand::Get(args) => block_on(get(args, printer)),
        IssuesCommand::Import(args) => import::run(&args, printer),
        IssuesCommand::Export(args) => block_on(export::run(args, printer)),
    }
}

fn issue_id(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "the id of an issue is a whole number, such as 28".to_owned())
}

async fn get(args: GetArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let issue = client.issue(args.id, &Params::all_included()).await?;
    printer.data(&line_of(&issue))?;
    Ok(Done::Good)
}
