//! Logs an outage of the store when it begins, once a minute, and when it ends, however many
//! requests fail in between. The store itself logs the outage of a node. A task that waits for the
//! quota of its domain is logged when the wait begins. Other errors are logged each time. Remembers
//! the end of the last outage: leases that ran out until then say nothing about the servers that
//! had them.

use std::collections::BTreeSet;

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::{ClaimedTask, OutageLine, OutageLog, StoreError};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Whether the store is unreachable, for all loops and workers of a runner.
#[derive(Debug, Default)]
pub(crate) struct Outage(Mutex<Times>);

#[derive(Debug)]
struct Times {
    log: OutageLog,
    /// When the last one ended; the least number if there was none.
    ended: UnixMillis,
    /// Domains whose tasks wait for their quota.
    out_of_quota: BTreeSet<DomainId>,
}

impl Default for Times {
    fn default() -> Self {
        let (log, out_of_quota) = (OutageLog::default(), BTreeSet::new());
        Self { log, ended: UnixMillis(i64::MIN), out_of_quota }
    }
}

impl Outage {
    /// Records that the store answered.
    pub(crate) fn is_over(&self, now: UnixMillis) {
        let mut times = self.0.lock();
        if let Some(lasted) = times.log.ends(Instant::now().into_std()) {
            times.ended = now;
            // At the level of the error, so that a reader of the one sees the other.
            let seconds = lasted.as_secs();
            tracing::warn!(seconds, "the store answers again: bulk action tasks go on");
        }
    }

    /// Logs that a task waits for the quota of its domain, if no task of it does yet.
    pub(crate) fn quota_reached(&self, claim: &ClaimedTask, fault: &StoreError) {
        if self.0.lock().out_of_quota.insert(claim.domain) {
            let (task_id, domain) = (&claim.task.id, claim.domain_name.as_str());
            tracing::warn!(task_id, domain, %fault, "a bulk action task waits for its quota");
        }
    }

    /// Records that a task of the domain had room.
    pub(crate) fn quota_has_room(&self, domain: DomainId) {
        self.0.lock().out_of_quota.remove(&domain);
    }

    /// Since when the store has answered: `now` during an outage.
    pub(crate) fn reachable_since(&self, now: UnixMillis) -> UnixMillis {
        let times = self.0.lock();
        if times.log.is_on() { now } else { times.ended }
    }

    /// Logs a failed request; `what` is a sentence about its purpose.
    pub(crate) fn report(&self, error: &StoreError, what: &'static str) {
        match error {
            StoreError::NodeAway { .. } => {}
            StoreError::Unreachable(_) => {
                let line = self.0.lock().log.fails(Instant::now().into_std());
                match line {
                    Some(OutageLine::Begins) => tracing::error!(
                        %error,
                        "the store cannot be reached: bulk action tasks wait for it"
                    ),
                    Some(OutageLine::Lasts(time)) => {
                        let seconds = time.as_secs();
                        tracing::error!(%error, seconds, "the store still cannot be reached");
                    }
                    None => {}
                }
            }
            _ => tracing::error!(%error, "{what}"),
        }
    }
}
