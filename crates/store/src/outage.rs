//! When an outage is logged: once when it begins, once a minute while it lasts, and once when it
//! ends, however many commands fail in between.

use std::time::{Duration, Instant};

/// Time between two lines about the same outage.
const LINE_EVERY: Duration = Duration::from_mins(1);

/// A line that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutageLine {
    Begins,
    /// It has lasted for this long.
    Lasts(Duration),
}

/// The outage that is on, if one is.
#[derive(Debug, Default)]
pub struct OutageLog(Option<Times>);

#[derive(Debug)]
struct Times {
    began: Instant,
    logged: Instant,
}

impl OutageLog {
    /// Notes a failed command; returns the line to log, if one is due.
    pub fn fails(&mut self, now: Instant) -> Option<OutageLine> {
        let Some(times) = &mut self.0 else {
            self.0 = Some(Times { began: now, logged: now });
            return Some(OutageLine::Begins);
        };
        let is_due = now.duration_since(times.logged) >= LINE_EVERY;
        is_due.then(|| {
            times.logged = now;
            OutageLine::Lasts(now.duration_since(times.began))
        })
    }

    /// Notes that commands succeed; returns how long the outage lasted, if one was on.
    pub fn ends(&mut self, now: Instant) -> Option<Duration> {
        self.0.take().map(|times| now.duration_since(times.began))
    }

    /// Whether an outage is on.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_has_a_line_at_its_beginning_one_a_minute_and_one_at_its_end() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut log = OutageLog::default();
        assert_eq!(log.ends(at(0)), None);
        let lines: Vec<_> =
            (0..150).filter_map(|second| Some((second, log.fails(at(second))?))).collect();
        let lasts = |seconds| OutageLine::Lasts(Duration::from_secs(seconds));
        assert_eq!(lines, [(0, OutageLine::Begins), (60, lasts(60)), (120, lasts(120))]);
        assert!(log.is_on());
        assert_eq!(log.ends(at(151)), Some(Duration::from_secs(151)));
        assert_eq!((log.is_on(), log.ends(at(152))), (false, None));
        assert_eq!(log.fails(at(153)), Some(OutageLine::Begins));
    }
}
