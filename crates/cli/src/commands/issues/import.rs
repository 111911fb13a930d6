//! `caseload issues import`: imports a file of issues, in as many tasks as it needs.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use caseload_client::Client;
use caseload_model::task::Action;
use clap::Args;
use clap::builder::FalseyValueParser;

use crate::args::{AgainArg, ServerArgs};
use crate::commands::file_import::{FileImport, OutputArgs};
use crate::commands::session::block_on_or;
use crate::commands::submission::Submission;
use crate::failure::{Done, Failure};
use crate::payload_file::{Forms, Input, PartLimits, PartReader};
use crate::printer::Printer;
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File of issues, one JSON map per line, or one JSON array; may be compressed with gzip or
    /// zstd; - means standard input
    file: PathBuf,
    /// Wait for each task to complete; an import always does
    #[arg(long = "wait", env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    _wait: bool,
    /// Replace the issues that have the ids of entries and other content
    #[arg(long, env = "CASELOAD_UPSERT", value_parser = FalseyValueParser::new())]
    upsert: bool,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(args: &ImportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let mut submission = Submission::new(Action::ImportIssues, &args.file, args.again.name())?;
    submission.upsert = args.upsert;
    submission.renew = args.upsert;
    let client = args.server.client()?;
    block_on_or(import(args, &client, &submission, printer), || submission.interrupted())
}

async fn import(
    args: &ImportArgs,
    client: &Client,
    submission: &Submission,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let input = Input::open(&args.file)?;
    let progress = Progress::new("importing issues", input.length, Unit::Bytes);
    let read = input.read.clone();
    let mut parts = PartReader::start(input, PartLimits::IMPORT, Forms::LinesOrArray);
    let mut import = FileImport::start(client, submission, &args.outputs, progress)?;
    while let Some(part) = parts.next().await.map_err(|error| submission.unreadable(&error))? {
        let reached = read.load(Ordering::Relaxed);
        import.part(part).await?;
        import.reached(reached);
    }
    import.finish(printer)
}
