//! `caseload copy`: a whole store in another place or another backend. It can be run again after
//! whatever cut it off, and says that it is done only when both ends hold the same, read anew, and
//! the new store is sound. What was copied goes to standard output, table by table.

use std::sync::Mutex;
use std::time::Instant;

use caseload_location::{CopyStore, StoreLocation};
use caseload_store::copy::{CopyBatch, CopyReport, CopyStage, CopyStep};
use clap::Args;
use clap::builder::FalseyValueParser;

use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};
use crate::progress::{Progress, Unit};
use crate::server::{StopSignals, on_threads};
use crate::store::parse_store;

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The store to copy; no server may use it meanwhile
    #[arg(long, env = "CASELOAD_FROM", hide_env_values = true, value_name = "STORE",
          value_parser = parse_store)]
    from: StoreLocation,
    /// Where to copy it: an empty store, one that is made, or one with the beginning of this copy
    #[arg(long, env = "CASELOAD_TO", hide_env_values = true, value_name = "STORE",
          value_parser = parse_store)]
    to: StoreLocation,
    /// Throw away an unfinished copy in the target and begin anew
    #[arg(long, env = "CASELOAD_RESTART", value_parser = FalseyValueParser::new())]
    restart: bool,
}

pub(crate) fn run(args: &CopyArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let begun = Instant::now();
    let teller = Mutex::new(Teller::default());
    let tell = |step| {
        if let Ok(mut teller) = teller.lock() {
            teller.hear(step);
        }
    };
    let CopyArgs { from, to, restart } = args;
    let command = CopyStore {
        from: from.clone(),
        to: to.clone(),
        restart: *restart,
        batch: CopyBatch::default(),
    };
    let copied = on_threads(async {
        let mut signals = StopSignals::listen()?;
        tokio::select! {
            copied = caseload_location::copy(&command, &tell) => copied.map_err(Failure::from),
            () = signals.wait() => Err(Failure::interrupted()
                .with_hint("the same command goes on where this one stopped")),
        }
    });
    if let Ok(mut teller) = teller.lock() {
        teller.quiet();
    }
    let CopyReport { tables, attempts, check } = copied?;
    let row = |(table, found): &(&str, caseload_store::copy::TableDigest)| {
        vec![grouped(found.rows), format!("{:032x}", found.digest), (*table).to_owned()]
    };
    let rows: Vec<_> = tables.iter().map(row).collect();
    printer.table(&["ROWS", "DIGEST", "TABLE"], &rows)?;
    let all = tables.iter().map(|(_, found)| found.rows).sum();
    let records = check.verified.iter().map(|(_, number)| number).sum();
    note(format_args!(
        "copied {} to {} in {:.1} s ({}); both ends hold the same; {} of the copy checked",
        counted(all, "row", "rows"),
        command.to,
        begun.elapsed().as_secs_f64(),
        counted(attempts, "run", "runs"),
        counted(records, "record", "records"),
    ));
    Ok(Done::Good)
}

/// Tells people how far the copy is.
#[derive(Debug, Default)]
struct Teller {
    stage: Option<CopyStage>,
    progress: Option<Progress>,
}

impl Teller {
    fn hear(&mut self, step: CopyStep) {
        if step.stage == CopyStage::Resuming {
            return note(format_args!(
                "an earlier run copied {}; going on behind them",
                counted(step.rows, "row", "rows")
            ));
        }
        if self.stage != Some(step.stage) {
            self.quiet();
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

    fn quiet(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish();
        }
    }
}
