//! `caseload backup`: copies the store to one file, even while a server runs on it. The file gets
//! its name only after a check of the copy. It is a complete store: to restore it, serve it.

use std::path::PathBuf;

use caseload_store::{BackupReport, CreateBackup};
use clap::Args;

use super::session::with_store;
use crate::args::StoreArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// File to write; its folder must exist
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &BackupArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let report = with_store(&args.store.store, async |store| {
        let command = CreateBackup { file: args.file.clone(), overwrite: args.overwrite };
        store.backup(command).await.map_err(|error| with_hint_for(error.into()))
    })?;
    let BackupReport { bytes, check } = report;
    let records = check.verified.iter().map(|(_, number)| number).sum();
    note(format_args!(
        "backed up {} bytes to {}; {} checked",
        grouped(bytes),
        args.file.display(),
        counted(records, "record", "records")
    ));
    printer.flush()?;
    Ok(Done::Good)
}

fn with_hint_for(failure: Failure) -> Failure {
    if failure.message.ends_with("already exists") {
        return failure.with_hint("choose another file, or replace this one with --overwrite");
    }
    failure
}
