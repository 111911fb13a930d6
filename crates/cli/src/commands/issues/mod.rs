//! `caseload issues`: issues as JSON Lines, in and out. What is printed are the server's own bytes.
//! A list goes to standard output, where it stands in the whole goes to standard error.

mod entries;
mod export;
mod import;
mod list;

use caseload_client::IssueParams;
use clap::{Args, Subcommand};
use serde_json::value::RawValue;

use super::block_on;
use crate::args::ServerArgs;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Subcommand)]
pub(crate) enum IssuesCommand {
    /// Print one page of issues as JSON Lines, or explain how the store finds it
    List(list::ListArgs),
    /// Print one issue
    Get(GetArgs),
    /// Import a file of issues, in as many tasks as it takes
    Import(import::ImportArgs),
    /// Write all issues of a span as JSON Lines, oldest first
    Export(export::ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The issue's id
    id: u64,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(command: IssuesCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        IssuesCommand::List(args) => list::run(args, printer),
        IssuesCommand::Get(args) => block_on(get(args, printer)),
        IssuesCommand::Import(args) => block_on(import::run(args, printer)),
        IssuesCommand::Export(args) => block_on(export::run(args, printer)),
    }
}

async fn get(args: GetArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let issue = client.issue(args.id, &IssueParams::all_included()).await?;
    printer.data(&line_of(&issue))?;
    Ok(Done::Good)
}

/// An issue as a line. A line break in JSON can only stand between tokens, where a space does the
/// same; no server of ours sends one.
fn line_of(issue: &RawValue) -> Vec<u8> {
    let breaks = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    issue.get().bytes().map(breaks).chain([b'\n']).collect()
}

fn parse_param(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
