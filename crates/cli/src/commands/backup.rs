//! `caseload backup`: a copy of the store in one file, taken beside a running server, checked, and
//! only then given its name. It is a store like any other: serving it is restoring it.

use std::path::PathBuf;

use caseload_store::{BackupReport, CreateBackup};
use clap::Args;
use clap::builder::FalseyValueParser;

use super::with_store;
use crate::args::StoreArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};
use crate::server::StopSignals;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to write; its folder must exist
    file: PathBuf,
    /// Replace the file if there is one
    #[arg(long, env = "CASELOAD_OVERWRITE", value_parser = FalseyValueParser::new())]
    overwrite: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &BackupArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let location = &args.store.store;
    if !location.exists() {
        return Err(Failure::usage(format!("there is no store at {location}"))
            .with_hint("name it with --store or CASELOAD_STORE"));
    }
    let report = with_store(location, async |store| {
        let mut signals = StopSignals::listen()?;
        let command = CreateBackup { file: args.file.clone(), overwrite: args.overwrite };
        tokio::select! {
            report = store.backup(command) => report.map_err(|error| explained(error.into())),
            () = signals.wait() => Err(Failure::interrupted()),
        }
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

fn explained(failure: Failure) -> Failure {
    if failure.message.ends_with("already exists") {
        return failure.with_hint("name another file, or replace this one with --overwrite");
    }
    failure
}
