//! The core profiles of a domain while a slice of entries is planned: the stored ones, and over
//! them the changes of the entries so far. The outcome is the net effect of the slice, in which
//! identities are removed before any is added. Invariant: each identity has one owner, and the
//! owner's fields have it.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use super::stored::identity_keys;
use crate::ids::{CoreProfileId, IdentityKey};
use crate::record::ChunkRecords;

/// The changes of a slice of entries that create, change or delete core profiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorePlan {
    /// The fields text of each new profile, by id.
    pub created: Vec<(CoreProfileId, Vec<u8>)>,
    /// The final fields text of each profile that changes, once per profile, by id.
    pub changed: Vec<(CoreProfileId, Vec<u8>)>,
    /// The profiles that are deleted, by id.
    pub deleted: Vec<CoreProfileId>,
    /// Identities to remove first, in key order, each with its present owner.
    pub identities_removed: Vec<(IdentityKey, CoreProfileId)>,
    /// Identities to add afterwards, in key order, each with its new owner.
    pub identities_added: Vec<(IdentityKey, CoreProfileId)>,
    pub records: ChunkRecords,
}

/// The state of the core profiles that a slice is about.
pub(super) struct CoreState<'s, S, T> {
    records: &'s HashMap<CoreProfileId, Vec<u8>, S>,
    owners: &'s HashMap<IdentityKey, CoreProfileId, T>,
    /// Fields of profiles that the slice has written; `None` if it has deleted the profile.
    written: BTreeMap<CoreProfileId, Option<Vec<u8>>>,
    moved: BTreeMap<IdentityKey, OwnerChange>,
}

/// An identity whose owner entries of the slice have changed.
struct OwnerChange {
    at_first: Option<CoreProfileId>,
    now: Option<CoreProfileId>,
}

impl<'s, S: BuildHasher, T: BuildHasher> CoreState<'s, S, T> {
    pub(super) const fn new(
        records: &'s HashMap<CoreProfileId, Vec<u8>, S>,
        owners: &'s HashMap<IdentityKey, CoreProfileId, T>,
    ) -> Self {
        Self { records, owners, written: BTreeMap::new(), moved: BTreeMap::new() }
    }

    /// The fields text of a profile, if it exists.
    pub(super) fn fields(&self, id: CoreProfileId) -> Option<&[u8]> {
        match self.written.get(&id) {
            Some(written) => written.as_deref(),
            None => self.records.get(&id).map(Vec::as_slice),
        }
    }

    pub(super) fn owner(&self, key: &IdentityKey) -> Option<CoreProfileId> {
        self.moved.get(key).map_or_else(|| self.owners.get(key).copied(), |moved| moved.now)
    }

    /// The profiles that have any of these identities, each once, with the position that came with
    /// its first one.
    pub(super) fn owners<'k>(
        &self,
        keys: impl Iterator<Item = (usize, &'k IdentityKey)>,
    ) -> Vec<(usize, CoreProfileId)> {
        let mut owners: Vec<(usize, CoreProfileId)> = Vec::new();
        for (n, key) in keys {
            let Some(owner) = self.owner(key) else { continue };
            if owners.iter().all(|(_, known)| *known != owner) {
                owners.push((n, owner));
            }
        }
        owners
    }

    /// Writes a profile.
    pub(super) fn write(&mut self, id: CoreProfileId, fields: Vec<u8>) {
        self.written.insert(id, Some(fields));
    }

    /// Deletes a profile, which exists, with its identities.
    pub(super) fn delete(&mut self, id: CoreProfileId) {
        let keys = self.fields(id).map(identity_keys).unwrap_or_default();
        self.remove(id, keys.iter());
        self.written.insert(id, None);
    }

    /// Gives the profile `id` identities that are free.
    pub(super) fn add<'k>(
        &mut self,
        id: CoreProfileId,
        keys: impl Iterator<Item = &'k IdentityKey>,
    ) {
        keys.for_each(|key| self.set(key, None, Some(id)));
    }

    /// Takes identities from the profile `id`.
    pub(super) fn remove<'k>(
        &mut self,
        id: CoreProfileId,
        keys: impl Iterator<Item = &'k IdentityKey>,
    ) {
        keys.for_each(|key| self.set(key, Some(id), None));
    }

    /// Moves `key` from one owner to another.
    fn set(&mut self, key: &IdentityKey, from: Option<CoreProfileId>, to: Option<CoreProfileId>) {
        match self.moved.get_mut(key) {
            Some(moved) => {
                assert_eq!(moved.now, from, "an identity is moved from a profile without it");
                moved.now = to;
            }
            None => {
                self.moved.insert(key.clone(), OwnerChange { at_first: from, now: to });
            }
        }
    }

    /// The net effect of the slice.
    pub(super) fn into_plan(self, records: ChunkRecords) -> CorePlan {
        let mut plan = CorePlan { records, ..CorePlan::default() };
        for (id, fields) in self.written {
            match (fields, self.records.contains_key(&id)) {
                (Some(fields), false) => plan.created.push((id, fields)),
                (Some(fields), true) => plan.changed.push((id, fields)),
                (None, true) => plan.deleted.push(id),
                (None, false) => {}
            }
        }
        for (key, OwnerChange { at_first, now }) in self.moved {
            if at_first == now {
                continue;
            }
            if let Some(now) = now {
                plan.identities_added.push((key.clone(), now));
            }
            if let Some(first) = at_first {
                plan.identities_removed.push((key, first));
            }
        }
        plan
    }
}
