//! Sessions that lock a task beyond its lease. A server that was cut off or frozen in the middle of
//! a chunk still has the task's row locked, and while a copy is open the database waits for that
//! server without a limit. A server that claims the task ends such a session. Invariant: a session
//! is ended only if it has waited for its server for a while, so that a running chunk goes on.

use std::time::Duration;

use caseload_model::time::UnixMillis;

use caseload_store::StoreError;
use caseload_store::tasks::{QueuePlace, latest_wait};

use crate::engine::{Client, Engine};

/// How long the session must have waited for its server.
const STILL: Duration = Duration::from_secs(1);

/// Ends the idle sessions that lock these tasks after the end of their leases; whether there was
/// one, whose task is now free.
pub(crate) async fn end_holders(engine: &Engine, locked: Vec<QueuePlace>, now: UnixMillis) -> bool {
    let mut any = false;
    for place in locked {
        let end =
            engine.write(place, move |client, place| Box::pin(end_holder(client, place, now)));
        match end.await {
            Ok(ended) => any |= ended,
            // Usually the session's own time limit ends it later.
            Err(error) => {
                tracing::debug!(%error, "the session that locks a task could not be ended");
            }
        }
    }
    any
}

async fn end_holder(
    client: &Client,
    place: &QueuePlace,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    // In two statements: on a cluster the table of the queue has another name on its node.
    let holder = client
        .row_opt(
            "SELECT q.xmax::text FROM task_queue q WHERE q.domain_id = $1 AND q.task_id = $2
             AND q.lease_server IS NOT NULL AND (q.lease_until <= $3 OR q.lease_until > $4)",
            &[&place.domain.0, &place.id.as_bytes(), &now.0, &latest_wait(now).0],
        )
        .await?;
    let Some(holder) = holder else { return Ok(false) };
    let holder: &str = holder.get(0);
    let ended = client
        .execute(
            "SELECT pg_terminate_backend(a.pid) FROM pg_locks l
             JOIN pg_stat_activity a ON a.pid = l.pid
             WHERE l.locktype = 'transactionid' AND l.transactionid::text = $1
             AND l.granted AND l.mode = 'ExclusiveLock' AND a.wait_event_type = 'Client'
             AND a.state_change < clock_timestamp() - make_interval(secs => $2)",
            &[&holder, &STILL.as_secs_f64()],
        )
        .await?;
    Ok(ended > 0)
}
