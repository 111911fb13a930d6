//! Follows tasks and imports to their end: shows the progress, reports waits, and prints its
//! outcome.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use caseload_client::{BulkActions, Doubles, Task};
use caseload_model::sketch;
use caseload_model::time::UnixMillis;

use crate::clock::readable;
use crate::commands::fault_groups::FaultGroups;
use crate::failure::{Done, Failure};
use crate::printer::{counted, grouped, note};
use crate::progress::{Progress, Unit};

/// Time between two lines about a task's place in the queue.
const QUEUE_LINE_EVERY: Duration = Duration::from_secs(5);

/// Waits for a task to complete and prints a summary.
pub(super) async fn follow(bulk: BulkActions<'_>, task: &Task) -> Result<Done, Failure> {
    let task = wait_with_progress(bulk, task, "entries").await?;
    note(summary(&task));
    note_doubles(&task);
    if task.warnings > 0 {
        let mut groups = FaultGroups::default();
        groups.add(&bulk.warning_summary(&task.task_id).await?);
        note(groups.message().trim_end());
    }
    Ok(end_of(&task))
}

/// Warns of entries that an earlier import had.
pub(super) fn note_doubles(task: &Task) {
    let Some(doubles) = &task.doubles else { return };
    let Doubles { import_id, created_at, entries, without_id } = doubles;
    let about = if *without_id > sketch::HASHES_MAX as u64 { "about " } else { "" };
    note(format_args!(
        "warning: {about}{} of the {} without an id were imported on {} already, as import \
         {import_id}: they {} created a second time",
        grouped(*entries),
        counted(*without_id, "entry", "entries"),
        readable(UnixMillis(*created_at)),
        if task.dry_run { "would be" } else { "are" },
    ));
}

/// The end of the command for a completed task; a task that is not clean gets a hint.
fn end_of(task: &Task) -> Done {
    let id = &task.task_id;
    if task.is_clean() {
        return Done::Good;
    }
    if task.has_errors() {
        note(format_args!("hint: `caseload bulk errors {id}` lists the faults"));
    }
    if task.counts.unprocessed > 0 {
        note(format_args!("hint: `caseload bulk retry {id}` runs the entries that are left"));
    }
    Done::SomeFailed
}

/// Waits for a task and shows its progress.
pub(crate) async fn wait_with_progress(
    bulk: BulkActions<'_>,
    task: &Task,
    what: &str,
) -> Result<Task, Failure> {
    let mut progress = Progress::new(what, Some(task.counts.total), Unit::Count);
    let mut queue = QueueNotes::default();
    let waited = bulk
        .wait(&task.task_id, |task| {
            queue.look_at(task);
            progress.failed(task.counts.failed);
            progress.reached(task.counts.total - task.counts.unprocessed);
        })
        .await;
    progress.finish();
    Ok(waited?)
}

/// Says which place in the queue a task has, when it changes.
#[derive(Debug, Default)]
struct QueueNotes {
    said: Option<(u64, Instant)>,
}

impl QueueNotes {
    fn look_at(&mut self, task: &Task) {
        let Some(before) = task.position.filter(|before| *before > 0) else { return };
        let is_news =
            self.said.is_none_or(|(said, at)| said != before && at.elapsed() >= QUEUE_LINE_EVERY);
        if is_news {
            self.said = Some((before, Instant::now()));
            let id = &task.task_id;
            note(format_args!(
                "task {id} waits in the queue; tasks before it: {}",
                grouped(before)
            ));
        }
    }
}

/// The outcome and the counts of a task, in one line.
pub(crate) fn summary(task: &Task) -> String {
    let counts = &task.counts;
    let outcome = task.outcome.as_deref().unwrap_or(&task.status).replace('_', " ");
    let dry_run = if task.dry_run { "dry run, nothing was written: " } else { "" };
    let mut text = format!(
        "{dry_run}{outcome}: {}, {} succeeded, {} failed",
        counted(counts.total, "entry", "entries"),
        grouped(counts.succeeded),
        grouped(counts.failed)
    );
    if counts.unprocessed > 0 {
        let _ = write!(text, ", {} not processed", grouped(counts.unprocessed));
    }
    if task.warnings > 0 {
        let _ = write!(text, ", {}", counted(task.warnings, "warning", "warnings"));
    }
    text
}
