//! Sessions that hold a task beyond its lease: a server that was cut off or frozen in the middle of
//! a chunk has the task's row locked, and while a copy is open the database waits for it without
//! an end, whatever limits are set. Whoever wants the task ends such a session. Invariant: only one
//! is ended that waits for its server, and has for a while: a chunk that is worked on goes on.

use std::time::Duration;

use caseload_model::time::UnixMillis;

use super::super::engine::{Client, Engine};
use super::claim::Place;
use caseload_store::StoreError;

/// How long it has to have stood still.
const STILL: Duration = Duration::from_secs(1);

/// Ends the sessions that hold these tasks where their leases are over and they stand still. Says
/// whether there was one: its task is free then.
pub(crate) async fn end_holders(engine: &Engine, locked: Vec<Place>, now: UnixMillis) -> bool {
    let mut any = false;
    for place in locked {
        let end =
            engine.write(place, move |client, place| Box::pin(end_holder(client, place, now)));
        match end.await {
            Ok(ended) => any |= ended,
            // Its own time limit ends it, mostly.
            Err(error) => tracing::debug!(%error, "who holds a task could not be ended"),
        }
    }
    any
}

async fn end_holder(client: &Client, place: &Place, now: UnixMillis) -> Result<bool, StoreError> {
    let ended = client
        .execute(
            "SELECT pg_terminate_backend(a.pid) FROM task_queue q
             JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = q.xmax
             AND l.granted AND l.mode = 'ExclusiveLock'
             JOIN pg_stat_activity a ON a.pid = l.pid
             WHERE q.domain_id = $1 AND q.task_id = $2
             AND q.lease_server IS NOT NULL AND q.lease_until <= $3
             AND a.wait_event_type = 'Client'
             AND a.state_change < clock_timestamp() - make_interval(secs => $4)",
            &[&place.domain, &place.id, &now.0, &STILL.as_secs_f64()],
        )
        .await?;
    Ok(ended > 0)
}
