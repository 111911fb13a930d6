//! Events that an operator should see and that a caller could cause very often: at most one line of
//! the log a second for each kind and origin. The next line says how many were left out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use caseload_model::ids::DomainId;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The shortest time between two lines of one kind and origin.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// The most kinds and origins that are remembered.
const LINES_MAX: usize = 10_000;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    FailedAuthentication,
    RevokedKey,
    RefusedAccess,
    RateLimit,
    QueueLimit,
    MemoryLimit,
    ConnectionLimit,
    TooSlow,
    Deadline,
    CrossSite,
}

/// Who caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    Address(IpAddr),
    Domain(DomainId),
    /// No one address and no one domain.
    Everyone,
}

/// Limits the lines of the log: it knows the last one of each kind and origin.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter(Mutex<HashMap<(Event, Origin), Line>>);

#[derive(Debug)]
struct Line {
    at: Instant,
    left_out: u64,
}

impl LogLimiter {
    /// Whether to write a line now: then the number of events since the last line that have none.
    pub(crate) fn line(&self, event: Event, origin: Origin) -> Option<u64> {
        self.line_at(Instant::now(), event, origin)
    }

    fn line_at(&self, now: Instant, event: Event, origin: Origin) -> Option<u64> {
        let mut lines = self.0.lock();
        if lines.len() >= LINES_MAX && !lines.contains_key(&(event, origin)) {
            lines.retain(|_, line| now.duration_since(line.at) < LINE_EVERY);
            if lines.len() >= LINES_MAX {
                return None;
            }
        }
        match lines.get_mut(&(event, origin)) {
            Some(line) if now.duration_since(line.at) < LINE_EVERY => {
                line.left_out += 1;
                None
            }
            Some(line) => {
                line.at = now;
                Some(std::mem::take(&mut line.left_out))
            }
            None => {
                lines.insert((event, origin), Line { at: now, left_out: 0 });
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_and_origin_has_one_line_a_second_which_counts_the_others() {
        let (limiter, now) = (LogLimiter::default(), Instant::now());
        let one = Origin::Address(IpAddr::from([10, 0, 0, 1]));
        let other = Origin::Address(IpAddr::from([10, 0, 0, 2]));
        assert_eq!(limiter.line_at(now, Event::FailedAuthentication, one), Some(0));
        for _ in 0..7 {
            assert_eq!(limiter.line_at(now, Event::FailedAuthentication, one), None);
        }
        assert_eq!(limiter.line_at(now, Event::FailedAuthentication, other), Some(0));
        assert_eq!(limiter.line_at(now, Event::RateLimit, one), Some(0));
        let later = now + LINE_EVERY;
        assert_eq!(limiter.line_at(later, Event::FailedAuthentication, one), Some(7));
        assert_eq!(limiter.line_at(later, Event::FailedAuthentication, one), None);
    }

    #[test]
    fn no_number_of_origins_makes_the_memory_grow() {
        let (limiter, now) = (LogLimiter::default(), Instant::now());
        let origin = |n: u32| Origin::Address(IpAddr::from(n.to_be_bytes()));
        let line = |n| limiter.line_at(now, Event::TooSlow, origin(n));
        assert_eq!((0..20_000).filter(|n| line(*n).is_some()).count(), LINES_MAX);
        let later = now + LINE_EVERY;
        assert_eq!(limiter.line_at(later, Event::TooSlow, origin(30_000)), Some(0));
        assert_eq!(limiter.0.lock().len(), 1);
    }
}
