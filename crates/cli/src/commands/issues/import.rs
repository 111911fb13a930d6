//! `caseload issues import`: imports a file of issues. The server reads the file; this module only
//! says which options the flags are.

use std::path::PathBuf;

use caseload_model::task::Action;
use clap::Args;

use crate::args::{AgainArg, ServerArgs};
use crate::commands::import::{FileUpload, OutputArgs, TableArgs, import};
use crate::commands::session::block_on_or;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Lines of JSON, a JSON array, a table (CSV) whose first row names the fields, or a workbook
    /// (.xlsx); may be packed with gzip or zstd. - is standard input
    file: PathBuf,
    /// Wait for the import to complete; this command always does
    #[arg(long = "wait")]
    _wait: bool,
    /// Replace an issue that has the id of the entry and other content
    #[arg(long)]
    upsert: bool,
    /// Change nothing, but report what the import would do; `caseload bulk run` then does it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(args: &ImportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let mut upload = FileUpload::new(Action::ImportIssues, &args.file)?;
    upload.set("upsert", args.upsert);
    upload.set("dry_run", args.dry_run);
    upload.set("again", args.again.again);
    args.table.push(upload.options());
    let client = args.server.client()?;
    let of = (&client, Action::ImportIssues);
    block_on_or(import(of, &upload, &args.outputs, printer), || upload.interrupted())
}
