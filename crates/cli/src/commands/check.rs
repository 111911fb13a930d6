//! `caseload check`: reads everything and verifies the laws of the stored data. What was verified
//! and what is broken goes to standard output; a broken law makes the exit status 1.

use clap::Args;

use super::with_store;
use crate::args::StoreArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &CheckArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let report = with_store(&args.store.store, async |store| Ok(store.check().await?))?;
    let row = |(what, number): &(String, u64)| vec![grouped(*number), what.clone()];
    let rows: Vec<_> = report.verified.iter().map(row).collect();
    printer.table(&["VERIFIED", "WHAT"], &rows)?;
    for fault in &report.faults {
        printer.line(format_args!("fault: {fault}"))?;
    }
    if report.faults.is_empty() {
        note("the store is sound");
        return Ok(Done::Good);
    }
    note(counted(report.faults.len() as u64, "fault", "faults"));
    Ok(Done::SomeFailed)
}
