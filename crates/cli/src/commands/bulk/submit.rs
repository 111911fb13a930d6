//! `caseload bulk submit`: submits a file of entries, in as many tasks as it needs, and prints the
//! ids of these tasks. With `--wait` it then follows each of them to its end.

use std::path::PathBuf;

use caseload_client::{Client, Task, TaskCounts};
use caseload_model::task::Action;
use clap::Args;
use clap::builder::{FalseyValueParser, PossibleValuesParser};

use super::follow::{end_of, follow, summary, wait_with_progress};
use crate::args::{AgainArg, KeyArg, ServerArgs};
use crate::commands::session::block_on_or;
use crate::commands::submission::Submission;
use crate::failure::{Done, Failure};
use crate::payload_file::{Forms, Input, PartLimits, PartReader};
use crate::printer::{Printer, counted, grouped, note};

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Action to apply to the entries
    #[arg(value_parser = PossibleValuesParser::new(Action::ALL.iter().map(|a| a.as_str())))]
    action: String,
    /// File of entries, one JSON map per line, or one JSON array; may be compressed with gzip or
    /// zstd; - means standard input
    file: PathBuf,
    /// Wait until the tasks are completed; the exit status is 1 if entries failed
    #[arg(long, env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    wait: bool,
    /// Write nothing, but return the results and errors of a real run
    #[arg(long, env = "CASELOAD_DRY_RUN", value_parser = FalseyValueParser::new())]
    dry_run: bool,
    /// Let an import replace the issues that have the ids of entries
    #[arg(long, env = "CASELOAD_UPSERT", value_parser = FalseyValueParser::new())]
    upsert: bool,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    key: KeyArg,
    #[command(flatten)]
    server: ServerArgs,
}

/// A submitted task, and the place of its entries in the file.
struct Submitted {
    task: Task,
    place: String,
}

pub(crate) fn run(args: &SubmitArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let action = Action::parse(&args.action)
        .ok_or_else(|| Failure::usage(format!("{:?} is not an action", args.action)))?;
    if args.again.name().is_some() && args.key.idempotency_key.is_some() {
        return Err(Failure::usage("--again chooses new keys; leave --idempotency-key out"));
    }
    let mut submission = Submission::new(action, &args.file, args.again.name())?;
    if args.upsert && action != Action::ImportIssues {
        let action = action.as_str();
        let why = format!("--upsert belongs to import_issues; {action} does not take it");
        return Err(Failure::usage(why));
    }
    submission.dry_run = args.dry_run;
    submission.upsert = args.upsert;
    submission.key.clone_from(&args.key.idempotency_key);
    let client = args.server.client()?;
    block_on_or(submit(&client, &submission, args.wait, printer), || submission.interrupted())
}

async fn submit(
    client: &Client,
    submission: &Submission,
    wait: bool,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let input = Input::open(&submission.file)?;
    let mut parts = PartReader::start(input, PartLimits::SUBMIT, Forms::LinesOrArray);
    let mut keys = submission.keys(client);
    let mut submitted: Vec<Submitted> = Vec::new();
    while let Some(part) = parts.next().await.map_err(|error| submission.unreadable(&error))? {
        let place = format!(
            "entries {} to {}, lines from {}",
            grouped(part.first()),
            grouped(part.last()),
            grouped(part.lines_before + 1)
        );
        let sent = submission.submit(client, &mut keys, part).await;
        let task = sent.map_err(|failure| submission.stopped(failure))?;
        printer.line(&task.task_id)?;
        submitted.push(Submitted { task, place });
        match submitted.as_slice() {
            [] | [_] => {}
            [first, second] => [first, second].into_iter().for_each(Submitted::note_place),
            [.., last] => last.note_place(),
        }
        if let Some(last) = submitted.last() {
            last.note_replay(submission.key.is_some());
        }
    }
    if submitted.is_empty() {
        let file = submission.file.display();
        return Err(Failure::usage(format!("{file} has no entries; send at least one")));
    }
    if !wait {
        return Ok(Done::Good);
    }
    let ended = follow_all(client, submission, &submitted).await;
    ended.map_err(|failure| submission.stopped(failure))
}

/// Follows the tasks to their ends.
async fn follow_all(
    client: &Client,
    submission: &Submission,
    submitted: &[Submitted],
) -> Result<Done, Failure> {
    let family = submission.action.family();
    if let [only] = submitted {
        submission.awaits(Some(&only.task.task_id));
        return follow(client, family, &only.task).await;
    }
    let mut done = Done::Good;
    let mut all = TaskCounts { total: 0, succeeded: 0, failed: 0, unprocessed: 0 };
    let mut warnings = 0;
    for Submitted { task, .. } in submitted {
        submission.awaits(Some(&task.task_id));
        let task = wait_with_progress(client, family, task, "entries").await?;
        note(format_args!("task {}: {}", task.task_id, summary(&task)));
        if end_of(&task) == Done::SomeFailed {
            done = Done::SomeFailed;
        }
        all.total += task.counts.total;
        all.succeeded += task.counts.succeeded;
        all.failed += task.counts.failed;
        all.unprocessed += task.counts.unprocessed;
        warnings += task.warnings;
    }
    note(format_args!(
        "{}: {}, {} succeeded, {} failed, {} not processed{}",
        counted(submitted.len() as u64, "task", "tasks"),
        counted(all.total, "entry", "entries"),
        grouped(all.succeeded),
        grouped(all.failed),
        grouped(all.unprocessed),
        match warnings {
            0 => String::new(),
            warnings => format!(", {}", counted(warnings, "warning", "warnings")),
        }
    ));
    Ok(done)
}

impl Submitted {
    fn note_place(&self) {
        note(format_args!("task {}: {}", self.task.task_id, self.place));
    }

    /// Says so if the task is an earlier one.
    fn note_replay(&self, has_own_key: bool) {
        if self.task.replayed {
            let id = &self.task.task_id;
            let hint = if has_own_key { "" } else { "; --again submits it again" };
            note(format_args!("task {id} was submitted before{hint}"));
        }
    }
}
