//! The clock of a test server: it begins at a time of one's choice, runs faster, or is frozen, and
//! is turned by calls. Times of change rise nevertheless, because the store gives a time that
//! is taken to one record alone, and the next millisecond to the next one.

use std::str::FromStr;
use std::sync::Arc;

use caseload_model::error_code::ErrorCode;
use caseload_model::time::read::{MOMENT_MS_MAX, MOMENT_MS_MIN, parse_moment};
use caseload_model::time::{Clock, UnixMillis};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::http::problem::{Fault, Problem};

/// The highest speed: more than a day in a second.
const SPEED_MAX: u32 = 100_000;

/// The time at which a clock begins, and its speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockStart {
    /// `None` is the time of the system.
    at: Option<UnixMillis>,
    /// Milliseconds for each one that passes; 0 is a frozen clock.
    speed: u32,
}

impl Default for ClockStart {
    fn default() -> Self {
        Self { at: None, speed: 1 }
    }
}

impl FromStr for ClockStart {
    type Err = String;

    /// Reads `2026-01-31T12:00:00Z`, with `,frozen` or `,x60` after it.
    fn from_str(text: &str) -> Result<Self, String> {
        let advice = "write a time such as 2026-01-31T12:00:00Z, and ,frozen or ,x60 after it if \
                      the clock is frozen or runs 60 times as fast";
        let (time, pace) = text.split_once(',').unwrap_or((text, "x1"));
        let moment = parse_moment(time).map_err(|_| advice.to_owned())?;
        let speed = match (pace, pace.strip_prefix('x').map(str::parse::<u32>)) {
            ("frozen", _) => 0,
            (_, Some(Ok(speed))) if (1..=SPEED_MAX).contains(&speed) => speed,
            (_, Some(Ok(_))) => return Err(format!("a speed is from x1 to x{SPEED_MAX}")),
            _ => return Err(advice.to_owned()),
        };
        Ok(Self { at: Some(moment.at), speed })
    }
}

/// How a clock is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Set(UnixMillis),
    /// By so many milliseconds.
    Advance(i64),
}

/// A clock that can be turned. Its copies are one clock.
#[derive(Debug, Clone)]
pub struct TestClock {
    start: ClockStart,
    system: Clock,
    hands: Arc<Mutex<Hands>>,
}

/// A time that the clock showed, and when it did.
#[derive(Debug, Clone, Copy)]
struct Hands {
    shown: UnixMillis,
    since: Instant,
}

impl TestClock {
    /// A clock that begins now.
    pub fn new(start: ClockStart, system: Clock) -> Self {
        let shown = start.at.unwrap_or_else(|| system.now());
        let hands = Arc::new(Mutex::new(Hands { shown, since: Instant::now() }));
        Self { start, system, hands }
    }

    /// The clock for all that reads the time.
    pub fn clock(&self) -> Clock {
        let own = self.clone();
        Clock::new(move || own.now())
    }

    pub fn now(&self) -> UnixMillis {
        self.shown().0
    }

    /// The time, and the speed.
    pub(super) fn shown(&self) -> (UnixMillis, u32) {
        (self.hands.lock().now(self.start.speed), self.start.speed)
    }

    /// Begins again as at the start.
    pub(super) fn restart(&self) {
        let shown = self.start.at.unwrap_or_else(|| self.system.now());
        *self.hands.lock() = Hands { shown, since: Instant::now() };
    }

    /// Turns the clock, unless it would leave the years 0 to 9999.
    pub(super) fn turn(&self, turn: Turn) -> Result<(), Problem> {
        let mut hands = self.hands.lock();
        let shown = match turn {
            Turn::Set(at) => at,
            Turn::Advance(span) => UnixMillis(hands.now(self.start.speed).0.saturating_add(span)),
        };
        if !(MOMENT_MS_MIN..=MOMENT_MS_MAX).contains(&shown.0) {
            let detail = "the clock would leave the years 0 to 9999; advance it by less";
            let fault = Fault::parameter("advance", ErrorCode::OutOfRange, detail);
            return Err(Problem::faults(vec![fault]));
        }
        *hands = Hands { shown, since: Instant::now() };
        Ok(())
    }
}

impl Hands {
    fn now(self, speed: u32) -> UnixMillis {
        let passed = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        UnixMillis(self.shown.0.saturating_add(passed.saturating_mul(i64::from(speed))))
    }
}

/// `2026-01-31T12:00:00.000Z`.
pub(super) fn iso(at: UnixMillis) -> String {
    let mut text = Vec::new();
    caseload_model::time::write_iso(at, &mut text);
    String::from_utf8(text).unwrap_or_default()
}
