//! Ids and change times of profiles. Both only increase, even if the system's clock goes back. Each
//! is read once per chunk and written back once.

use std::collections::BTreeSet;

use caseload_model::profile::{NewIds, ProfileRow};
use caseload_model::time::UnixMillis;

use super::statements::ProfileStore;
use super::terms::ProfileTerms;
use super::times::{ChangeTimes, ProfileClock};
use crate::StoreError;
use crate::dry_run::DryRunState;

/// Microseconds in a millisecond: core profile ids are times in microseconds.
const MICROS: i64 = 1000;
/// 2020-01-01, from which they are counted: until 2051 they have at most 15 digits, which programs
/// that calculate in floating point retain.
const ID_EPOCH_MS: i64 = 1_577_836_800_000;

/// The changes of one chunk, which all its slices share: one change time and a block of ids.
#[derive(Debug)]
pub struct ProfileChanges {
    now: UnixMillis,
    pub(super) changed_at: UnixMillis,
    pub(super) next_id: u64,
    /// Of an import: the domain's last change before the first entry of the file.
    file_since: Option<UnixMillis>,
    /// The row of the next new core profile. Rows have the order of ids.
    next_row: u32,
    /// The changes of terms, which are written at the end of the chunk.
    pub(super) terms: ProfileTerms,
    /// Whether the chunk wrote a profile.
    pub(super) written: bool,
    /// An identity of the chunk was taken: the owners of all further ones are read first.
    pub(super) reads_owners: bool,
    /// The state that earlier entries would have left, in a dry run.
    pub(crate) dry_run: Option<DryRunState>,
}

impl ProfileChanges {
    /// `file_since` is, of an import, the domain's last change before the first entry of the file.
    pub fn new(clock: ProfileClock, file_since: Option<UnixMillis>, now: UnixMillis) -> Self {
        let ms = now.0.max(0);
        Self {
            now,
            changed_at: UnixMillis(ms.max(clock.last_change.0 + 1)),
            // Not all ids of people who were created one by one end in 0, as those do that a
            // spreadsheet has rounded: a table of them would be refused.
            next_id: ((ms - ID_EPOCH_MS) * MICROS + 1).max(clock.last_id + 1).unsigned_abs(),
            file_since,
            next_row: clock.last_row.saturating_add(1),
            terms: ProfileTerms::default(),
            written: false,
            reads_owners: false,
            dry_run: None,
        }
    }

    pub(crate) fn of_dry_run(
        now: UnixMillis,
        file_since: Option<UnixMillis>,
        state: DryRunState,
    ) -> Self {
        Self { dry_run: Some(state), ..Self::new(ProfileClock::default(), file_since, now) }
    }

    /// Of an import: those of the profiles that earlier entries of the file have changed. Each
    /// profile comes with the time of its last change, if it may be one of the import.
    pub(super) fn changed_before<K: Ord>(
        &self,
        profiles: impl Iterator<Item = (K, Option<UnixMillis>)>,
        in_dry_run: impl Fn(&DryRunState, &K) -> bool,
    ) -> Option<BTreeSet<K>> {
        let since = self.file_since?;
        let is_changed = |(profile, changed_at): &(K, Option<UnixMillis>)| match &self.dry_run {
            Some(state) => in_dry_run(state, profile),
            None => changed_at.is_some_and(|at| at > since),
        };
        Some(profiles.filter(is_changed).map(|(profile, _)| profile).collect())
    }

    /// Notes the ids that a plan left; those of a dry run are never stored.
    pub(super) const fn go_on(&mut self, ids: NewIds) {
        if let NewIds::From(next_id) = ids {
            self.next_id = next_id;
        }
    }

    /// The times of a profile that the chunk creates.
    pub(super) fn times(&self) -> ChangeTimes {
        ChangeTimes::of(self.now, self.changed_at)
    }

    /// Inserts core profiles, which come in the order of their ids.
    pub(super) fn insert(
        &mut self,
        store: &impl ProfileStore,
        profiles: &[ProfileRow<'_>],
    ) -> Result<(), StoreError> {
        let (first, times) = (self.next_row, self.times());
        let count = u32::try_from(profiles.len()).ok();
        self.next_row = count.and_then(|count| first.checked_add(count)).ok_or_else(|| {
            StoreError::Unavailable("the store has no row number left".to_owned())
        })?;
        store.insert_core_profiles(profiles, first, times)?;
        for ((_, fields), row) in profiles.iter().zip(first..) {
            self.terms.created(row, times, fields);
        }
        Ok(())
    }

    /// Writes the changes of terms.
    pub(crate) fn write_sets(&mut self, store: &impl ProfileStore) -> Result<(), StoreError> {
        if self.written { store.write_sets(&self.terms.finish()) } else { Ok(()) }
    }

    /// The clock after the chunk; `None` if it wrote no profile.
    pub fn clock(&self) -> Option<ProfileClock> {
        let (last_id, last_row) = (self.next_id as i64 - 1, self.next_row - 1);
        let clock = ProfileClock { last_id, last_change: self.changed_at, last_row };
        self.written.then_some(clock)
    }
}
