//! The clock of the profiles of a domain, and the times that a change gets from it.

use caseload_model::time::UnixMillis;

/// The last id and the last change time that profiles of a domain got, and the last row of its core
/// profiles, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileClock {
    pub last_id: i64,
    pub last_change: UnixMillis,
    pub last_row: u32,
}

/// How far the clock of changes may be ahead of the system's clock before creations no longer
/// follow it. It is ahead by more only if the system's clock was wrong for a while.
pub const CLOCK_AHEAD_MS_MAX: i64 = 60_000;

/// The time at which a record is created and the time of the change that creates it. They differ
/// only after the system's clock was ahead and came back: changes stay in their order, creations
/// return to the true time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTimes {
    pub created_at: UnixMillis,
    pub changed_at: UnixMillis,
}

impl ChangeTimes {
    pub fn of(now: UnixMillis, changed_at: UnixMillis) -> Self {
        let is_ahead = changed_at.0 > now.0.saturating_add(CLOCK_AHEAD_MS_MAX);
        Self { created_at: if is_ahead { now } else { changed_at }, changed_at }
    }
}
