//! How long writes wait, and how long the database waits for whoever writes. What the database
//! can keep the time of, it does; a wire that fell silent and a commit that waits for a standby are
//! this side's to give up. A server that cannot go on must not keep a task from the others for
//! longer than its lease, so the bounds shrink with that.

use std::time::Duration;

/// The bounds of a write, and of what a task reads at leisure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// What it waits for another one at a time: no longer than that may stand still.
    lock: Duration,
    /// What all of its statements may take, and so each of them.
    pub(super) write: Duration,
    /// What its transaction may stand still before the database ends it.
    idle: Duration,
    /// What its commit may take.
    pub(super) end: Duration,
    /// What a read may take that asks very many questions before its task writes.
    pub(super) leisure: Duration,
}

/// The longest that a transaction stands still, and that a commit takes, whatever the lease.
const STILL_MAX: Duration = Duration::from_secs(10);
/// The shortest of them: a server that is only slow is not ended.
const STILL_MIN: Duration = Duration::from_secs(1);

impl Default for Bounds {
    fn default() -> Self {
        Self {
            lock: STILL_MAX,
            write: Duration::from_secs(30),
            idle: STILL_MAX,
            end: STILL_MAX,
            leisure: Duration::from_mins(5),
        }
    }
}

impl Bounds {
    /// Those of a server whose tasks have leases of this length.
    pub(super) fn of_lease(lease: Duration) -> Self {
        let still = lease.clamp(STILL_MIN, STILL_MAX);
        Self { lock: still, idle: still, end: still, ..Self::default() }
    }

    /// For tests, which do not wait for long.
    #[cfg(test)]
    pub(super) fn short(bound: Duration) -> Self {
        Self { write: bound, end: bound, leisure: bound, ..Self::default() }
    }

    /// The statements that begin a write.
    pub(super) fn begin_write(&self) -> String {
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
             SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}",
            self.lock.as_millis(),
            self.write.as_millis(),
            self.idle.as_millis()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_still_for_longer_than_a_lease() {
        for (lease_ms, still_ms) in [(0, 1000), (2000, 2000), (10_000, 10_000), (30_000, 10_000)] {
            let bounds = Bounds::of_lease(Duration::from_millis(lease_ms));
            let still = Duration::from_millis(still_ms);
            assert_eq!([bounds.lock, bounds.idle, bounds.end], [still; 3], "{lease_ms}");
        }
    }
}
