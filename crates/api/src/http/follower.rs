//! A caller that follows a record. It stops when the record is removed, when the server stops, or
//! when its key no longer works.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

use super::auth::{Caller, require_working_key};
use super::followed::{Follow, Followed};
use super::problem::Problem;
use crate::state::AppState;

/// The time between two checks of the caller's key, which the key cache mostly answers. Together
/// with the age of a cached key it is below the 5 s within which a revocation takes effect.
const KEY_CHECK_MS: u64 = 500;
/// After this time without an event, a comment shows that a stream of events is alive.
pub(crate) const KEEP_ALIVE_SECONDS: u64 = 15;

/// A caller that follows a record.
pub(crate) struct Follower<T: Follow> {
    records: watch::Receiver<T>,
    stopping: watch::Receiver<bool>,
    state: AppState,
    caller: Caller,
    key_checks: Interval,
}

impl<T: Follow> Follower<T> {
    pub(crate) fn new(
        followed: &Arc<Followed<T>>,
        state: &AppState,
        caller: &Caller,
        record: &T,
    ) -> Self {
        let records = followed.subscribe(&state.store, caller.domain_id, record);
        let (state, stopping) = (state.clone(), state.stopping.subscribe());
        let mut key_checks = tokio::time::interval(Duration::from_millis(KEY_CHECK_MS));
        key_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { records, stopping, state, caller: caller.clone(), key_checks }
    }

    /// Waits for a later record than `last`. `None` if there will be none, because it was removed
    /// or the server stops. Fails if the caller's key is revoked or expires.
    pub(crate) async fn later_than(&mut self, last: &T) -> Result<Option<T>, Problem> {
        loop {
            let stopped = async { self.stopping.wait_for(|stopping| *stopping).await.is_ok() };
            tokio::select! {
                biased;
                _ = stopped => return Ok(None),
                _ = self.key_checks.tick() => {
                    require_working_key(&self.state, &self.caller).await?;
                    continue;
                }
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
