//! One attempt at a delivery and its consequence. The delays between attempts grow, so that a
//! receiver that is away for days still gets everything and costs little. The changes of a failed
//! attempt are sent again before any later one.

use super::DELIVERY_SECONDS_MAX;
use crate::time::UnixMillis;

/// The delays before the attempts that follow the first one. After the last, the webhook is paused.
pub const RETRY_SECONDS: [u64; 9] =
    [5, 5 * 60, 30 * 60, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
const HOUR: u64 = 3600;
/// The status by which a receiver says that it wants no more deliveries: gone.
pub const PAUSES_AT_ONCE_STATUS: u16 = 410;
/// How many bytes of an answer are stored.
pub const ANSWER_BYTES_MAX: usize = 1000;

/// An attempt, as callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// When it began.
    pub at: UnixMillis,
    pub duration_ms: u64,
    /// The header `webhook-id`.
    pub message_id: String,
    pub kind: AttemptKind,
    pub end: AttemptEnd,
}

/// The content of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    /// Changes from the log: how many, and the positions of the first and the last.
    Changes { count: usize, first: u64, last: u64 },
    /// No changes, because a caller asked for a test.
    Test,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The receiver answered; the text is the beginning of its answer.
    Answered { status: u16, answer: String },
    /// There was no answer; the text is the reason.
    NoAnswer { reason: String },
}

impl AttemptEnd {
    /// Whether the receiver took the delivery.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Answered { status: 200..=299, .. })
    }

    fn in_words(&self) -> String {
        match self {
            Self::Answered { status, .. } => format!("the receiver answered {status}"),
            Self::NoAnswer { reason } => reason.clone(),
        }
    }
}

/// The consequence of an attempt at changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The cursor moves past the changes.
    Advance,
    /// The same changes are sent again at this time.
    RetryAt(UnixMillis),
    /// The webhook is paused, for this reason. Its cursor stays before the changes.
    Pause(String),
}

/// The consequence of an attempt that ended at `now`, after a number of failed ones at the same
/// changes.
pub fn next_step(end: &AttemptEnd, failed_before: u32, now: UnixMillis) -> NextStep {
    if end.is_success() {
        return NextStep::Advance;
    }
    let is_gone = matches!(end, AttemptEnd::Answered { status: PAUSES_AT_ONCE_STATUS, .. });
    if is_gone {
        return NextStep::Pause("the receiver answered 410: it wants no more changes".to_owned());
    }
    match RETRY_SECONDS.get(failed_before as usize) {
        Some(seconds) => {
            NextStep::RetryAt(UnixMillis(now.0.saturating_add(*seconds as i64 * 1000)))
        }
        None => NextStep::Pause(format!(
            "{} attempts failed, the last one because {}; expected is a status of 200 to 299 \
             within {DELIVERY_SECONDS_MAX} s",
            RETRY_SECONDS.len() + 1,
            end.in_words()
        )),
    }
}
