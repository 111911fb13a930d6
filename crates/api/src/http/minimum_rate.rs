//! The minimum rate of a client that sends a body or receives an answer. Only time spent waiting
//! for the client counts: a client is not slow while the server is busy. After a grace the client
//! must move a number of bytes in each window of that time.

use std::time::Duration;

/// How slow a client may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimumRateLimits {
    /// The time after which the rate counts.
    pub grace: Duration,
    /// The time over which the rate is averaged.
    pub window: Duration,
    /// The bytes a second that a client moves at least.
    pub bytes_per_second: u32,
    /// How long a form may take to arrive, or an answer that is not a stream or a file to be
    /// received, at any rate.
    pub whole: Duration,
}

impl Default for MinimumRateLimits {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(10),
            window: Duration::from_secs(30),
            bytes_per_second: 1 << 10,
            whole: Duration::from_mins(30),
        }
    }
}

/// The rate in one direction, compared with its minimum.
#[derive(Debug)]
pub(crate) struct MinimumRate {
    limits: MinimumRateLimits,
    in_grace: bool,
    /// The time waited for the client, and the bytes moved, in the grace or the current window.
    waited: Duration,
    bytes: u64,
}

impl MinimumRate {
    pub(crate) const fn new(limits: MinimumRateLimits) -> Self {
        Self { limits, in_grace: true, waited: Duration::ZERO, bytes: 0 }
    }

    /// How much longer to wait for the client before the rate has to be judged.
    pub(crate) const fn left(&self) -> Duration {
        let span = if self.in_grace { self.limits.grace } else { self.limits.window };
        span.saturating_sub(self.waited)
    }

    /// Notes bytes that the client moved after the server had waited for it. Returns false if the
    /// client is too slow.
    pub(crate) fn add(&mut self, waited: Duration, bytes: usize) -> bool {
        self.waited += waited;
        self.bytes += bytes as u64;
        if !self.left().is_zero() {
            return true;
        }
        let per_second = u128::from(self.limits.bytes_per_second);
        let least = self.limits.window.as_millis() * per_second / 1000;
        let is_fast = self.in_grace || u128::from(self.bytes) >= least;
        *self = Self { in_grace: false, ..Self::new(self.limits) };
        is_fast
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_client_moves_a_kibibyte_a_second_averaged_over_the_window() {
        for (bytes, is_fast) in [(1024, true), (1023, false), (0, false), (1 << 20, true)] {
            let mut rate = MinimumRate::new(MinimumRateLimits::default());
            let seconds = (1..=3600).take_while(|_| rate.add(SECOND, bytes)).count();
            assert_eq!(seconds == 3600, is_fast, "{bytes} bytes a second");
            if !is_fast {
                assert_eq!(seconds, 39, "the grace, then one window");
            }
        }
    }

    #[test]
    fn bursts_count_over_their_window_and_the_servers_own_time_does_not() {
        let mut rate = MinimumRate::new(MinimumRateLimits::default());
        for second in 0..600 {
            assert!(rate.add(SECOND, if second % 30 == 10 { 30 << 10 } else { 0 }), "{second}");
        }
        let mut rate = MinimumRate::new(MinimumRateLimits::default());
        assert!((0..1_000_000).all(|_| rate.add(Duration::ZERO, 0)), "it never waited");
    }
}
