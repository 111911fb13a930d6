//! The columns of a task. A row that the model cannot read is damage, never a task with defaults.

use caseload_model::task::{Action, Counts, Outcome, Task, TaskStatus};
use caseload_store::StoreError;
use caseload_store::tasks::word;
use tokio_postgres::Row;

use crate::rows::{count, instant, optional_instant, text};

/// The columns that [`task`] reads, in its order.
pub(crate) const COLUMNS: &str = "t.id, t.action, t.status, t.outcome, t.dry_run, \
     t.total, t.succeeded, t.failed, t.unprocessed, t.created_at, t.queued_at, t.started_at, \
     t.completed_at, t.expires_at, t.parent_id, t.retried_by, t.warnings";
/// How many there are: further columns of a query begin here.
pub(crate) const COLUMNS_COUNT: usize = 17;
/// A task, from a row that begins with [`COLUMNS`].
pub(crate) fn task(row: &Row) -> Result<Task, StoreError> {
    let number = |column: usize| row.get::<_, i16>(column).into();
    let outcome = row.get::<_, Option<i16>>(3);
    let id = |column: usize| {
        let is_given = row.get::<_, Option<&[u8]>>(column).is_some();
        is_given.then(|| text(row, column)).transpose()
    };
    Ok(Task {
        id: text(row, 0)?,
        action: word(number(1), Action::from_code)?,
        status: word(number(2), TaskStatus::from_code)?,
        outcome: outcome.map(|code| word(code.into(), Outcome::from_code)).transpose()?,
        dry_run: row.get(4),
        counts: Counts {
            total: count(row, 5),
            succeeded: count(row, 6),
            failed: count(row, 7),
            unprocessed: count(row, 8),
        },
        created_at: instant(row, 9),
        queued_at: optional_instant(row, 10),
        started_at: optional_instant(row, 11),
        completed_at: optional_instant(row, 12),
        expires_at: optional_instant(row, 13),
        parent_id: id(14)?,
        retried_by: id(15)?,
        warnings: row.get::<_, i64>(16) as u32,
        position: None,
    })
}

/// The number of a word, as columns hold it.
pub(super) fn code(code: i64) -> i16 {
    i16::try_from(code).expect("the words of tasks have small numbers")
}
