//! Logs an outage of the store when it begins, once a minute, and when it ends, however many
//! requests fail in between. The store itself logs the outage of a node. Other errors are logged
//! each time. Remembers the end of the last outage: leases that ran out until then say nothing
//! about the servers that had them.

use caseload_model::time::UnixMillis;
use caseload_store::{OutageLine, OutageLog, StoreError};
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
}

impl Default for Times {
    fn default() -> Self {
        Self { log: OutageLog::default(), ended: UnixMillis(i64::MIN) }
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
