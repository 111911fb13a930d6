//! Ids and change times of profiles. Both only increase, even if the system's clock goes back. Each
//! is read once per chunk and written back once.

use caseload_model::time::UnixMillis;

use super::dry_run::DryRun;
use crate::StoreError;
use crate::profile_sets::{SetChanges, SetStore, apply};

/// Microseconds in a millisecond: core profile ids are times in microseconds.
const MICROS: i64 = 1000;

/// The last id and the last change time that profiles of a domain got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileClock {
    pub last_id: i64,
    pub last_change: UnixMillis,
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

/// The changes of one chunk, which all its slices share: one change time and a block of ids.
#[derive(Debug)]
pub struct ProfileChanges {
    now: UnixMillis,
    pub(super) changed_at: UnixMillis,
    pub(super) next_id: u64,
    /// The changes of sets, which are written at the end of the chunk.
    pub(super) sets: SetChanges,
    /// Whether the chunk wrote a profile.
    pub(super) written: bool,
    /// An identity of the chunk was taken: the owners of all further ones are read first.
    pub(super) reads_owners: bool,
    /// The plans so far, in a dry run.
    pub(super) dry_run: Option<DryRun>,
}

impl ProfileChanges {
    pub fn new(clock: ProfileClock, now: UnixMillis) -> Self {
        let ms = now.0.max(0);
        Self {
            now,
            changed_at: UnixMillis(ms.max(clock.last_change.0 + 1)),
            next_id: (ms * MICROS).max(clock.last_id + 1).unsigned_abs(),
            sets: SetChanges::default(),
            written: false,
            reads_owners: false,
            dry_run: None,
        }
    }

    pub(crate) fn of_dry_run(now: UnixMillis) -> Self {
        Self { dry_run: Some(DryRun::default()), ..Self::new(ProfileClock::default(), now) }
    }

    /// The times of a profile that the chunk creates.
    pub(super) fn times(&self) -> ChangeTimes {
        ChangeTimes::of(self.now, self.changed_at)
    }

    /// Writes the changes of sets.
    pub(crate) fn write_sets(&self, store: &impl SetStore) -> Result<(), StoreError> {
        if self.written { apply(store, &self.sets) } else { Ok(()) }
    }

    /// The clock after the chunk; `None` if it wrote no profile.
    pub fn clock(&self) -> Option<ProfileClock> {
        let clock = ProfileClock { last_id: self.next_id as i64 - 1, last_change: self.changed_at };
        self.written.then_some(clock)
    }
}
