//! How long the client of a connection may take: to send a head or a body, to receive an answer, to
//! begin another request. The server's own time never counts.

use std::time::Duration;

use tokio::time::Instant;

use crate::config::ApiConfig;
use crate::http::minimum_rate::{MinimumRate, MinimumRateLimits};

/// The time between two looks at a connection whose body was refused.
pub(super) const REFUSED_BODY_LOOK: Duration = Duration::from_secs(1);

/// The longest time between two looks: the client may have come to a shorter time.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The times of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    pub(super) head: Duration,
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
    /// The body was sent too slowly.
    Body,
    /// The answer was received too slowly.
    Answer,
}

/// Since when a connection waits for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Whether no request is in progress.
    pub(super) is_idle: bool,
    pub(super) since: Instant,
}

/// The part of an exchange that a connection is in, since when.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Between two requests, or before the first one.
    Idle(Instant),
    Head(Instant),
    /// A request is read or worked on.
    Request,
    /// An answer is sent; one that is not a stream or a file must arrive within a time.
    Answer {
        since: Instant,
        is_long: bool,
    },
}

/// The client moves no bytes.
#[derive(Debug, Clone, Copy)]
struct Stuck {
    since: Instant,
    /// Up to here the time is part of the rate.
    counted: Instant,
}

#[derive(Debug)]
pub(super) struct Timing {
    limits: TimeLimits,
    phase: Phase,
    minimum_rate: MinimumRate,
    stuck: Option<Stuck>,
    is_too_slow: bool,
}

impl Timing {
    pub(super) fn new(limits: TimeLimits, now: Instant) -> Self {
        let minimum_rate = MinimumRate::new(limits.minimum_rate);
        Self { limits, phase: Phase::Idle(now), minimum_rate, stuck: None, is_too_slow: false }
    }

    /// The times of another request of the same client.
    pub(super) fn of_another(&self, now: Instant) -> Self {
        Self::new(self.limits, now)
    }

    fn enter(&mut self, phase: Phase) {
        *self = Self { phase, ..Self::new(self.limits, Instant::now()) };
    }

    /// Bytes came between two requests.
    pub(super) fn received(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Idle(_)) {
            self.phase = Phase::Head(now);
        }
    }

    pub(super) fn begin(&mut self) {
        self.enter(Phase::Request);
    }

    pub(super) fn answer_begins(&mut self, now: Instant, is_long: bool) {
        self.enter(Phase::Answer { since: now, is_long });
    }

    pub(super) fn end(&mut self, now: Instant) {
        self.enter(Phase::Idle(now));
    }

    /// The reader of a body waits for bytes, or got them.
    pub(super) fn body_moved(&mut self, now: Instant, bytes: Option<usize>) {
        if matches!(self.phase, Phase::Request) {
            self.moved(now, bytes);
        }
    }

    /// The network took bytes of an answer, or takes none now.
    pub(super) fn sent(&mut self, now: Instant, bytes: Option<usize>) {
        if matches!(self.phase, Phase::Answer { .. }) {
            self.moved(now, bytes);
        }
    }

    fn moved(&mut self, now: Instant, bytes: Option<usize>) {
        match (bytes, self.stuck) {
            (None, None) => self.stuck = Some(Stuck { since: now, counted: now }),
            (None, Some(_)) => {}
            (Some(bytes), stuck) => {
                let waited = stuck.map_or(Duration::ZERO, |stuck| now - stuck.counted);
                self.stuck = None;
                self.is_too_slow |= !self.minimum_rate.add(waited, bytes);
            }
        }
    }

    /// Whether the rest of the body has to be refused; only once, because the refused rest may
    /// still be received.
    pub(super) fn take_slow_body(&mut self) -> bool {
        matches!(self.phase, Phase::Request) && std::mem::take(&mut self.is_too_slow)
    }

    pub(super) fn waiting(&self) -> Option<Waiting> {
        match self.phase {
            Phase::Idle(since) | Phase::Head(since) => Some(Waiting { is_idle: true, since }),
            Phase::Request | Phase::Answer { .. } => {
                self.stuck.map(|Stuck { since, .. }| Waiting { is_idle: false, since })
            }
        }
    }

    /// When to look again, or the time that the client has exceeded.
    pub(super) fn check(&mut self, now: Instant) -> Result<Instant, ClientTimeout> {
        let left = self.minimum_rate.left();
        if let Some(stuck) = &mut self.stuck
            && now >= stuck.counted + left
        {
            self.is_too_slow |= !self.minimum_rate.add(now - stuck.counted, 0);
            stuck.counted = now;
        }
        let (timeout, due) = match self.phase {
            Phase::Idle(since) => (ClientTimeout::Idle, since + self.limits.idle),
            Phase::Head(since) => (ClientTimeout::Head, since + self.limits.head),
            Phase::Request => (ClientTimeout::Body, now + LOOK_EVERY),
            Phase::Answer { is_long: true, .. } => (ClientTimeout::Answer, now + LOOK_EVERY),
            Phase::Answer { since, .. } => {
                (ClientTimeout::Answer, since + self.limits.minimum_rate.whole)
            }
        };
        if self.is_too_slow || now >= due {
            return Err(timeout);
        }
        let due = self.stuck.map_or(due, |stuck| due.min(stuck.counted + self.minimum_rate.left()));
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
    fn a_head_has_ten_seconds_and_silence_seventy_five() {
        assert_eq!(Client::new().ends(|_, _| {}), Some((75, ClientTimeout::Idle)));
        let mut slow = Client::new();
        slow.timing.received(slow.now);
        assert_eq!(slow.ends(Timing::received), Some((10, ClientTimeout::Head)));
        let mut client = Client::new();
        client.timing.begin();
        assert_eq!(client.ends(|_, _| {}), None, "the server may take its time");
        client.timing.end(client.now);
        assert_eq!(client.ends(|_, _| {}), Some((75, ClientTimeout::Idle)));
    }

    #[test]
    fn a_body_comes_at_the_minimum_rate_or_its_reader_fails_once() {
        let mut client = Client::new();
        client.timing.begin();
        client.timing.body_moved(client.now, None);
        assert_eq!(client.ends(|_, _| {}), Some((40, ClientTimeout::Body)));
        assert!(client.timing.take_slow_body() && !client.timing.take_slow_body());
        client.timing.begin();
        let found = client.ends(|timing, now| {
            timing.body_moved(now, Some(1024));
            timing.body_moved(now, None);
        });
        assert_eq!(found, None);
    }

    #[test]
    fn a_connection_waits_for_its_client_between_requests_and_while_no_bytes_move() {
        let mut client = Client::new();
        let waits = |client: &Client| client.timing.waiting().map(|waiting| waiting.is_idle);
        assert_eq!(waits(&client), Some(true));
        client.timing.begin();
        assert_eq!(waits(&client), None, "the server works");
        client.timing.body_moved(client.now, None);
        assert_eq!(waits(&client), Some(false));
        client.timing.answer_begins(client.now, false);
        assert_eq!(waits(&client), None);
        client.timing.sent(client.now, None);
        let since = client.now;
        client.now += Duration::from_secs(35);
        assert!(client.timing.check(client.now).is_ok());
        let waiting = Waiting { is_idle: false, since };
        assert_eq!(client.timing.waiting(), Some(waiting), "a look changes nothing");
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
