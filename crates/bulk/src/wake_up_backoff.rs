//! How soon a server follows a wake-up: at first at once. If it was woken in vain several times in
//! a row, because other servers were faster, it backs off exponentially, at most to the poll
//! interval. Finding work resets it.

use std::time::Duration;

use tokio::time::Instant;

/// Wake-ups in vain, one after another, after which a server begins to wait. A server that is alone
/// is woken in vain once for each task, by the task's end.
const VAIN_MAX: u32 = 3;
/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct WakeUpBackoff {
    wait_max: Duration,
    in_vain: u32,
    until: Instant,
}

impl WakeUpBackoff {
    pub(crate) const fn new(wait_max: Duration, now: Instant) -> Self {
        Self { wait_max, in_vain: 0, until: now }
    }

    /// The earliest time to follow the next wake-up.
    pub(crate) const fn until(&self) -> Instant {
        self.until
    }

    /// Takes note of a look that ended now: whether it found work, and whether a wake-up was the
    /// reason for it.
    pub(crate) fn looked(&mut self, found: bool, woken: bool, now: Instant) {
        if found {
            self.in_vain = 0;
        } else if woken {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        let doublings = self.in_vain.checked_sub(VAIN_MAX);
        let wait = doublings.map_or(Duration::ZERO, |doublings| {
            FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doublings)).min(self.wait_max)
        });
        self.until = now + wait;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{FIRST_WAIT, VAIN_MAX, WakeUpBackoff};

    const WAIT_MAX: Duration = Duration::from_millis(500);

    #[test]
    fn a_server_woken_in_vain_waits_longer_each_time_until_it_finds_work() {
        let now = Instant::now();
        let mut backoff = WakeUpBackoff::new(WAIT_MAX, now);
        let mut wait = |found, woken| {
            backoff.looked(found, woken, now);
            backoff.until() - now
        };
        for _ in 1..VAIN_MAX {
            assert_eq!(wait(false, true), Duration::ZERO);
        }
        assert_eq!(wait(false, true), FIRST_WAIT);
        assert_eq!(wait(false, true), 2 * FIRST_WAIT);
        assert_eq!(
            wait(false, false),
            2 * FIRST_WAIT,
            "a look without a wake-up counts for nothing"
        );
        for _ in 0..40 {
            wait(false, true);
        }
        assert_eq!(wait(false, true), WAIT_MAX);
        assert_eq!(wait(true, false), Duration::ZERO);
    }
}
