//! How long the client of a connection may take: to send a head, to begin another request, to
//! receive an answer. The server's own time never counts. The reader of bodies applies the same
//! rules of a minimum rate to the body of a request.

use std::time::Duration;

use tokio::time::Instant;

use crate::config::ApiConfig;
use crate::http::minimum_rate::{MinimumRate, MinimumRateLimits};

/// The longest time between two looks: the client may have come to a shorter time.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The times of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    head: Duration,
    idle: Duration,
    minimum_rate: MinimumRateLimits,
}

impl TimeLimits {
    pub(crate) fn of(config: &ApiConfig) -> Self {
        Self {
            head: config.head_timeout,
            idle: config.idle_timeout,
            minimum_rate: config.minimum_rate,
        }
    }
}

/// A time that a client has exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientTimeout {
    Idle,
    Head,
    /// The answer was received too slowly.
    Answer,
}

/// The part of an exchange that a connection is in, since when.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Between two requests, or before the first one.
    Idle(Instant),
    Head(Instant),
    /// A request is read or answered.
    Request,
    /// An answer is sent that must arrive within a time.
    Answer(Instant),
}

#[derive(Debug)]
pub(super) struct Timing {
    limits: TimeLimits,
    phase: Phase,
    minimum_rate: MinimumRate,
    /// Since when the network has taken no bytes.
    stuck: Option<Instant>,
    is_too_slow: bool,
}

impl Timing {
    pub(super) fn new(limits: TimeLimits, now: Instant) -> Self {
        let (phase, minimum_rate) = (Phase::Idle(now), MinimumRate::new(limits.minimum_rate));
        Self { limits, phase, minimum_rate, stuck: None, is_too_slow: false }
    }

    pub(super) fn received(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Idle(_)) {
            self.phase = Phase::Head(now);
        }
    }

    pub(super) fn begin(&mut self) {
        self.phase = Phase::Request;
        self.minimum_rate = MinimumRate::new(self.limits.minimum_rate);
        self.stuck = None;
    }

    pub(super) fn answer_begins(&mut self, now: Instant, is_long: bool) {
        if !is_long {
            self.phase = Phase::Answer(now);
        }
    }

    pub(super) fn end(&mut self, now: Instant) {
        self.phase = Phase::Idle(now);
        self.stuck = None;
    }

    pub(super) fn sent(&mut self, now: Instant, bytes: Option<usize>) {
        match (bytes, self.stuck) {
            (None, None) => self.stuck = Some(now),
            (None, Some(_)) => {}
            (Some(bytes), since) => {
                let waited = since.map_or(Duration::ZERO, |since| now - since);
                self.stuck = None;
                self.is_too_slow |= !self.minimum_rate.add(waited, bytes);
            }
        }
    }

    /// When to look again, or the time that the client has exceeded.
    pub(super) fn check(&mut self, now: Instant) -> Result<Instant, ClientTimeout> {
        if let Some(since) = self.stuck
            && now >= since + self.minimum_rate.left()
        {
            self.is_too_slow |= !self.minimum_rate.add(now - since, 0);
            self.stuck = Some(now);
        }
        let (timeout, due) = match self.phase {
            Phase::Idle(since) => (ClientTimeout::Idle, since + self.limits.idle),
            Phase::Head(since) => (ClientTimeout::Head, since + self.limits.head),
            Phase::Request => (ClientTimeout::Answer, now + LOOK_EVERY),
            Phase::Answer(since) => (ClientTimeout::Answer, since + self.limits.minimum_rate.whole),
        };
        if self.is_too_slow || now >= due {
            return Err(if self.is_too_slow { ClientTimeout::Answer } else { timeout });
        }
        let due = self.stuck.map_or(due, |since| due.min(since + self.minimum_rate.left()));
        Ok(due.min(now + LOOK_EVERY.min(self.limits.head)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client whose time the test sets.
    struct Client {
        timing: Timing,
        now: Instant,
    }

    impl Client {
        fn new() -> Self {
            let (limits, now) = (TimeLimits::of(&ApiConfig::default()), Instant::now());
            Self { timing: Timing::new(limits, now), now }
        }

        fn receives(is_long: bool) -> Self {
            let mut client = Self::new();
            client.timing.begin();
            client.timing.answer_begins(client.now, is_long);
            client
        }

        /// The seconds until it has exceeded a time, and which; none within two hours.
        fn ends(
            &mut self,
            each_second: impl Fn(&mut Timing, Instant),
        ) -> Option<(u64, ClientTimeout)> {
            for second in 0..7200 {
                if let Err(timeout) = self.timing.check(self.now) {
                    return Some((second, timeout));
                }
                self.now += Duration::from_secs(1);
                each_second(&mut self.timing, self.now);
            }
            None
        }
    }

    #[test]
    fn a_head_has_ten_seconds_and_silence_a_minute() {
        assert_eq!(Client::new().ends(|_, _| {}), Some((60, ClientTimeout::Idle)));
        let mut slow = Client::new();
        slow.timing.received(slow.now);
        assert_eq!(slow.ends(Timing::received), Some((10, ClientTimeout::Head)));
        let mut client = Client::new();
        client.timing.begin();
        assert_eq!(client.ends(|_, _| {}), None, "the server may take its time");
        client.timing.end(client.now);
        assert_eq!(client.ends(|_, _| {}), Some((60, ClientTimeout::Idle)));
    }

    #[test]
    fn an_answer_that_is_not_read_ends_after_the_grace_and_one_window() {
        let mut unread = Client::receives(true);
        unread.timing.sent(unread.now, None);
        assert_eq!(unread.ends(|_, _| {}), Some((40, ClientTimeout::Answer)));
        for (bytes, end) in [(1023, Some((40, ClientTimeout::Answer))), (1024, None)] {
            let mut client = Client::receives(true);
            client.timing.sent(client.now, None);
            let found = client.ends(|timing, now| {
                timing.sent(now, Some(bytes));
                timing.sent(now, None);
            });
            assert_eq!(found, end, "{bytes} bytes a second");
        }
    }

    #[test]
    fn an_answer_has_thirty_minutes_unless_it_is_a_stream_or_a_file() {
        for (is_long, end) in [(false, Some((1800, ClientTimeout::Answer))), (true, None)] {
            let found = Client::receives(is_long).ends(|timing, now| {
                timing.sent(now, None);
                timing.sent(now, Some(1 << 20));
            });
            assert_eq!(found, end);
        }
    }
}
