//! How a task ends: by its last entry, by a fault of the server's, or because its end was asked
//! for. A task that nobody works on is cancelled at once; one that is leased is marked, and the
//! holder of the lease ends it at the next edge of a chunk. Invariant: when a task ends, what a
//! retry would need of its payload stays, and nothing else of it.

use caseload_model::task::{Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use rusqlite::Connection;

use super::payload::keep_left;
use super::row::{self, Held};
use crate::Fault;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::{CancelTask, StoreError};

/// Ends the task. The caller writes it back.
pub(super) fn complete(
    conn: &Connection,
    held: &mut Held,
    outcome: Outcome,
    now: UnixMillis,
) -> Result<(), Fault> {
    held.task.complete(outcome, now);
    keep_left(conn, held)?;
    failpoint::reached(Failpoint::TaskEnding);
    Ok(())
}

pub(crate) fn cancel(conn: &Connection, command: &CancelTask) -> Result<Task, Fault> {
    let mut held = row::of_id(conn, command.domain, command.family, &command.task_id)?
        .ok_or_else(|| StoreError::NotFound { what: format!("task {}", command.task_id) })?;
    if held.task.status == TaskStatus::Completed {
        return Err(StoreError::TaskCompleted.into());
    }
    held.cancelled = true;
    held.task.position = None;
    if held.lease_until.is_none_or(|until| until <= command.now) {
        complete(conn, &mut held, Outcome::Cancelled, command.now)?;
        row::keep(conn, &held)?;
    } else {
        conn.prepare_cached("UPDATE tasks SET cancel_at = coalesce(cancel_at, ?2) WHERE seq = ?1")?
            .execute([held.seq, command.now.0])?;
    }
    failpoint::reached(Failpoint::CancelBeforeCommit);
    Ok(held.task)
}
