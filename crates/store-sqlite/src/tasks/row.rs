//! The columns of a task. A row that the model cannot read is damage, never a task with defaults.

use caseload_model::task::{Action, Counts, Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::tasks::word;
use rusqlite::Row;

use crate::Fault;

/// The columns that [`task`] reads, in its order.
pub(crate) const COLUMNS: &str = "id, action, status, outcome, dry_run, total, \
     succeeded, failed, unprocessed, created_at, queued_at, started_at, completed_at, expires_at, \
     parent_id, retried_by, warnings";
/// How many there are: further columns of a query begin here.
pub(crate) const COLUMNS_COUNT: usize = 17;

/// A task, from a row that begins with [`COLUMNS`].
pub(crate) fn task(row: &Row<'_>) -> Result<Task, Fault> {
    let time = |column| row.get::<_, Option<i64>>(column).map(|at| at.map(UnixMillis));
    let outcome: Option<i64> = row.get(3)?;
    Ok(Task {
        id: row.get(0)?,
        action: word(row.get(1)?, Action::from_code)?,
        status: word(row.get(2)?, TaskStatus::from_code)?,
        outcome: outcome.map(|code| word(code, Outcome::from_code)).transpose()?,
        dry_run: row.get(4)?,
        counts: Counts {
            total: row.get(5)?,
            succeeded: row.get(6)?,
            failed: row.get(7)?,
            unprocessed: row.get(8)?,
        },
        created_at: UnixMillis(row.get(9)?),
        queued_at: time(10)?,
        started_at: time(11)?,
        completed_at: time(12)?,
        expires_at: time(13)?,
        parent_id: row.get(14)?,
        retried_by: row.get(15)?,
        warnings: row.get(16)?,
        position: None,
    })
}
