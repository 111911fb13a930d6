//! A caller that follows one task or import. It stops when that completes or is removed, when the
//! server stops, or when its key no longer works.

use std::time::Duration;

use caseload_model::ids::DomainName;
use caseload_model::task::TaskStatus;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

use super::followed_tasks::is_later;
use super::subject::Subject;
use crate::http::auth::Caller;
use crate::http::auth::require_working_key;
use crate::http::problem::Problem;
use crate::state::AppState;

/// The time between two checks of the caller's key, which the key cache mostly answers. Together
/// with the age of a cached key it is below the 5 s within which a revocation takes effect.
const KEY_CHECK_MS: u64 = 500;

/// A caller that follows a task or an import.
pub(super) struct Follower {
    pub(super) subject: Subject,
    records: watch::Receiver<Subject>,
    stopping: watch::Receiver<bool>,
    state: AppState,
    caller: Caller,
    key_checks: Interval,
}

impl Follower {
    pub(super) fn new(state: &AppState, caller: Caller, subject: Subject) -> Self {
        let records = state.followed_tasks.subscribe(&state.store, caller.domain_id, &subject);
        let (state, stopping) = (state.clone(), state.stopping.subscribe());
        let mut key_checks = tokio::time::interval(Duration::from_millis(KEY_CHECK_MS));
        key_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { subject, records, stopping, state, caller, key_checks }
    }

    pub(super) const fn domain_name(&self) -> &DomainName {
        &self.caller.domain_name
    }

    /// Waits for the next record. Returns false if there will be none, because the task has
    /// completed or was removed, or because the server stops. Fails if the caller's key is revoked
    /// or expires.
    pub(super) async fn advance(&mut self) -> Result<bool, Problem> {
        while self.subject.task.status != TaskStatus::Completed {
            let stopped = async { self.stopping.wait_for(|stopping| *stopping).await.is_ok() };
            tokio::select! {
                biased;
                _ = stopped => return Ok(false),
                _ = self.key_checks.tick() => {
                    require_working_key(&self.state, &self.caller).await?;
                    continue;
                }
                changed = self.records.changed() => if changed.is_err() {
                    return Ok(false);
                },
            }
            let record = self.records.borrow_and_update().clone();
            if is_later(&record, &self.subject) {
                self.subject = record;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
