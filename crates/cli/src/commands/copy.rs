//! `caseload copy`: copies a whole store to another location or another backend. After an
//! interruption the same command continues the copy. It reports success only after reading both
//! stores again, finding the same data in them, and checking the copy. Each table's row count and
//! digest go to standard output.

use std::time::Instant;

use caseload_location::{CopyStore, StoreLocation};
use caseload_store::StoreError;
use caseload_store::copy::{CopyBatch, CopyReport, CopyStage, CopyStep};
use clap::Args;
use parking_lot::Mutex;

use crate::failure::{Done, Failure};
use crate::interruption::interruptible;
use crate::printer::{Printer, counted, grouped, note};
use crate::progress::{Progress, Unit};
use crate::server::on_threads;
use crate::store::parse_store;

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// Store to copy; no server may use it during the copy
    #[arg(long, env = "CASELOAD_FROM", hide_env_values = true, value_name = "STORE",
          value_parser = parse_store)]
    from: StoreLocation,
    /// Target: a new store, an empty one, or one with an unfinished copy of the same source
    #[arg(long, env = "CASELOAD_TO", hide_env_values = true, value_name = "STORE",
          value_parser = parse_store)]
    to: StoreLocation,
    /// Discard an unfinished copy in the target and start again
    #[arg(long)]
    restart: bool,
}

pub(crate) fn run(args: &CopyArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let begun = Instant::now();
    let reporter = Mutex::new(Reporter::default());
    let report = |step| reporter.lock().report(step);
    let CopyArgs { from, to, restart } = args;
    let command = CopyStore {
        from: from.clone(),
        to: to.clone(),
        restart: *restart,
        batch: CopyBatch::default(),
    };
    let copied = on_threads(interruptible(
        async {
            caseload_location::copy(&command, &report).await.map_err(|error| match error {
                StoreError::NoStore { .. } => {
                    Failure::from(error).with_hint("--from (CASELOAD_FROM) names the store to copy")
                }
                error => error.into(),
            })
        },
        || Failure::interrupted().with_hint("the same command continues the copy"),
    ));
    reporter.lock().finish();
    let CopyReport { tables, attempts, check } = copied?;
    let row = |(table, found): &(&str, caseload_store::copy::TableDigest)| {
        vec![grouped(found.rows), format!("{:032x}", found.digest), (*table).to_owned()]
    };
    let rows: Vec<_> = tables.iter().map(row).collect();
    printer.table(&["ROWS", "DIGEST", "TABLE"], &rows)?;
    let all = tables.iter().map(|(_, found)| found.rows).sum();
    let records = check.verified.iter().map(|(_, number)| number).sum();
    note(format_args!(
        "copied {} to {} in {:.1} s ({}); both stores hold the same data; {} of the copy checked",
        counted(all, "row", "rows"),
        command.to,
        begun.elapsed().as_secs_f64(),
        counted(attempts, "run", "runs"),
        counted(records, "record", "records"),
    ));
    Ok(Done::Good)
}

/// Prints the stages and the progress of a copy.
#[derive(Debug, Default)]
struct Reporter {
    stage: Option<CopyStage>,
    progress: Option<Progress>,
}

impl Reporter {
    fn report(&mut self, step: CopyStep) {
        if step.stage == CopyStage::Resuming {
            return note(format_args!(
                "an earlier run copied {}; continuing after them",
                counted(step.rows, "row", "rows")
            ));
        }
        if self.stage != Some(step.stage) {
            self.finish();
            self.stage = Some(step.stage);
            let what = match step.stage {
                CopyStage::CheckingSource => "checking the source",
                CopyStage::Resuming | CopyStage::Copying => "copying rows",
                CopyStage::Comparing => "comparing rows",
                CopyStage::CheckingTarget => "checking the copy",
            };
            note(what);
            self.progress = Some(Progress::new(what, None, Unit::Count));
        }
        if let Some(progress) = &mut self.progress {
            progress.reached(step.rows);
        }
    }

    fn finish(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish();
        }
    }
}
