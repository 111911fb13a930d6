//! The issues that earlier entries of a file have changed, for the warning about an entry that
//! names one again. The state of the run has their ids as sets of 65,536 neighbours, written in the
//! chunk that changes the issues. A dry run needs none: its state has the issues themselves.
//! Invariant: a set is read before ids are added to it, or the domain had no id so great.

use std::collections::{BTreeMap, HashSet};

use roaring::RoaringBitmap;

use crate::StoreError;
use crate::dry_run::{Change, DryRunState, Part};
use crate::idempotency::CommandStore;
use crate::rowset;

impl DryRunState {
    /// Those of these ids whose issues earlier entries have changed.
    pub(super) fn changed_ids(
        &mut self,
        store: &impl CommandStore,
        ids: impl Iterator<Item = u64>,
    ) -> Result<HashSet<u64>, StoreError> {
        let sets = sets_of(ids);
        self.read(store, Part::ChangedIssues, sets.keys().map(|set| set.to_be_bytes()))?;
        let mut changed = HashSet::new();
        for (set, ids) in sets {
            let both = ids & self.set(set)?;
            changed.extend(both.iter().map(|offset| set << u16::BITS | u64::from(offset)));
        }
        Ok(changed)
    }

    /// Notes that entries have changed the issues with these ids.
    pub(super) fn note_changed_ids(
        &mut self,
        ids: impl Iterator<Item = u64>,
    ) -> Result<(), StoreError> {
        for (set, ids) in sets_of(ids) {
            let mut all = ids | self.set(set)?;
            self.put(Part::ChangedIssues, &set.to_be_bytes(), Some(rowset::encode(&mut all)?));
        }
        Ok(())
    }

    /// The offsets of a set that has been read or changed.
    fn set(&self, set: u64) -> Result<RoaringBitmap, StoreError> {
        let mut offsets = RoaringBitmap::new();
        if let Some(Change::To(stored)) = self.get(Part::ChangedIssues, &set.to_be_bytes()) {
            rowset::decode(0, stored, &mut offsets)?;
        }
        Ok(offsets)
    }
}

/// The sets in which ids are, each with the offsets of these ids.
fn sets_of(ids: impl Iterator<Item = u64>) -> BTreeMap<u64, RoaringBitmap> {
    let mut sets = BTreeMap::<u64, RoaringBitmap>::new();
    for id in ids {
        sets.entry(id >> u16::BITS).or_default().insert(u32::from(id as u16));
    }
    sets
}
