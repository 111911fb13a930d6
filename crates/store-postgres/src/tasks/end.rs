//! How a task ends: by its last entry, by a fault of the server's, or because its end was asked
//! for. A task that nobody works on is cancelled at once; one that is leased is marked, and the
//! holder of the lease ends it at the next edge of a chunk. Invariant: when a task ends, what a
//! retry would need of its payload stays, and nothing else of it.

use caseload_model::task::{Outcome, Task};
use caseload_model::time::UnixMillis;

use super::super::engine::Client;
use super::super::notify;
use super::payload::keep_left;
use super::row::{self, Held};
use caseload_store::{CancelTask, StoreError};

/// Ends the task, and says so to all servers. The caller writes it back.
pub(super) async fn complete(
    client: &Client,
    held: &mut Held,
    outcome: Outcome,
    now: UnixMillis,
) -> Result<(), StoreError> {
    held.task.complete(outcome, now);
    keep_left(client, held).await?;
    notify::work(client).await
}

pub(crate) async fn cancel(client: &Client, command: &CancelTask) -> Result<Task, StoreError> {
    let found = row::locked(client, command.domain, &command.task_id).await?;
    let (mut held, lease) =
        found
            .filter(|(held, _)| held.task.action.family() == command.family)
            .ok_or_else(|| StoreError::NotFound { what: format!("task {}", command.task_id) })?;
    let Some(lease) = lease else { return Err(StoreError::TaskCompleted) };
    held.cancelled = true;
    if lease.server.is_none() || lease.until <= command.now {
        complete(client, &mut held, Outcome::Cancelled, command.now).await?;
        row::keep(client, &held).await?;
    } else {
        client
            .execute(
                "UPDATE tasks SET cancel_at = coalesce(cancel_at, $3)
                 WHERE domain_id = $1 AND id = $2",
                &[&command.domain.0, &command.task_id.as_bytes(), &command.now.0],
            )
            .await?;
    }
    Ok(held.task)
}
