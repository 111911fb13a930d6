//! A caller that follows a record. It stops when the record is removed, when the server stops, or
//! when its key no longer works.

use std::sync::Arc;

use tokio::sync::watch;

use super::auth::{Caller, no_longer_works, watch_key};
use super::followed::{Follow, Followed};
use super::problem::Problem;
use crate::state::AppState;

/// After this time without an event, a comment shows that a stream of events is alive.
pub(crate) const KEEP_ALIVE_SECONDS: u64 = 15;

/// A caller that follows a record.
pub(crate) struct Follower<T: Follow> {
    records: watch::Receiver<T>,
    stopping: watch::Receiver<bool>,
    /// False once the caller's key no longer works.
    key: watch::Receiver<bool>,
}

impl<T: Follow> Follower<T> {
    pub(crate) fn new(
        followed: &Arc<Followed<T>>,
        state: &AppState,
        caller: &Caller,
        record: &T,
    ) -> Self {
        let records = followed.subscribe(&state.store, caller.domain_id, record);
        let (stopping, key) = (state.stopping.subscribe(), watch_key(state, caller));
        Self { records, stopping, key }
    }

    /// Waits for a later record than `last`. `None` if there will be none, because it was removed
    /// or the server stops. Fails if the caller's key is revoked or expires.
    pub(crate) async fn later_than(&mut self, last: &T) -> Result<Option<T>, Problem> {
        loop {
            let stopped = async { self.stopping.wait_for(|stopping| *stopping).await.is_ok() };
            tokio::select! {
                biased;
                _ = stopped => return Ok(None),
                Ok(_) = self.key.wait_for(|works| !works) => return Err(no_longer_works()),
                changed = self.records.changed() => if changed.is_err() {
                    return Ok(None);
                },
            }
            let record = self.records.borrow_and_update().clone();
            if record.is_later(last) {
                return Ok(Some(record));
            }
        }
    }
}
