//! `caseload check`: reads the whole store and verifies that its data is consistent. The numbers of
//! verified records and the faults go to standard output; if there are faults, the exit status is
//! 1.

use clap::Args;

use super::session::with_store;
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
    for text in &report.notes {
        note(text);
    }
    if report.faults.is_empty() {
        note("the store is sound");
        return Ok(Done::Good);
    }
    note(counted(report.faults.len() as u64, "fault", "faults"));
    Ok(Done::SomeFailed)
}
