//! The time limits of writes. The database enforces those that it can. This side gives up on a
//! silent network and on a commit that waits for a standby. The limits shrink with the lease,
//! because a server that is stuck must not block a task for longer than its lease lasts.

use std::time::Duration;

use super::Nodes;

/// The time limits of a write, and of the reads of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Waiting for one lock: no longer than the transaction that holds it may idle; zero if
    /// it has no limit.
    lock: Duration,
    /// All statements together, and thus each of them; zero if they have no limit.
    pub(super) write: Duration,
    /// Idle time in the transaction, after which the database ends it.
    idle: Duration,
    /// The commit.
    pub(super) end: Duration,
    /// A read of a task, which may send very many statements before the task writes.
    pub(super) leisure: Duration,
}

/// The longest idle time and the longest commit, for any lease.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// The shortest idle limit, so that a server that is merely slow is not cut off.
const IDLE_MIN: Duration = Duration::from_secs(1);

impl Default for Bounds {
    fn default() -> Self {
        Self {
            lock: IDLE_MAX,
            write: Duration::from_secs(30),
            idle: IDLE_MAX,
            end: IDLE_MAX,
            leisure: Duration::from_mins(5),
        }
    }
}

impl Bounds {
    /// The limits of a server whose tasks have leases of this length.
    pub(super) fn of_lease(lease: Duration) -> Self {
        let idle = lease.clamp(IDLE_MIN, IDLE_MAX);
        Self { lock: idle, idle, end: idle, ..Self::default() }
    }

    /// Short limits for tests.
    #[cfg(test)]
    pub(super) fn short(bound: Duration) -> Self {
        Self { write: bound, end: bound, leisure: bound, ..Self::default() }
    }

    /// The statements that begin a write transaction.
    pub(super) fn begin_write(&self, nodes: Nodes) -> String {
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {}\
             SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}",
            nodes.settings_of_write(),
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
    fn no_limit_is_longer_than_a_lease() {
        for (lease_ms, still_ms) in [(0, 1000), (2000, 2000), (10_000, 10_000), (30_000, 10_000)] {
            let bounds = Bounds::of_lease(Duration::from_millis(lease_ms));
            let still = Duration::from_millis(still_ms);
            assert_eq!([bounds.lock, bounds.idle, bounds.end], [still; 3], "{lease_ms}");
        }
    }
}
