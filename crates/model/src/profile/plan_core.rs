//! Plans a slice of `update_core_profiles`: the final fields of each profile that changes, the
//! identities that change owners, and the records of all entries. Entries take effect in order,
//! each on the outcome of those before it: a profile may be updated several times, and an entry may
//! take an identity that an earlier one released. A failed entry changes nothing. The plan is the
//! net effect; identities are removed before any is added.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use super::field::CORE;
use super::identity::keys_of;
use super::merge::{Update, update};
use super::plan_create::{conflict, write_id};
use super::plan_get::missing;
use super::prepare::CorePatch;
use super::record::{braced, parse_stored};
use super::rejected::{merge_faults, prepared_json, refuse};
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json::Json;
use crate::payload::Entry;
use crate::record::{ChunkRecords, EntryFault, PreparedEntry, Rejection};
use crate::task::Action;

/// The changes of a slice of core profile updates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreUpdatePlan {
    /// The final fields text of each profile that changes, once per profile, by id.
    pub changed: Vec<(CoreProfileId, Vec<u8>)>,
    /// Identities to remove first, in key order, each with its present owner.
    pub identities_removed: Vec<(IdentityKey, CoreProfileId)>,
    /// Identities to add afterwards, in key order, each with its new owner.
    pub identities_added: Vec<(IdentityKey, CoreProfileId)>,
    pub records: ChunkRecords,
}

/// Plans `entries`, whose bytes are in `payload`. `records` has the fields text of every profile
/// that they name, if it exists; `owners` has the owner of every identity that they name, if it has
/// one. Rejected entries name profiles and identities, too. A dry run is planned in the same way:
/// its outcome is not written, but laid over the stored records for the next slice.
pub fn plan_core_updates<S: BuildHasher, T: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<CorePatch>],
    records: &HashMap<CoreProfileId, Vec<u8>, S>,
    owners: &HashMap<IdentityKey, CoreProfileId, T>,
) -> CoreUpdatePlan {
    let action = Action::UpdateCoreProfiles;
    let mut out = ChunkRecords::default();
    let mut changed: BTreeMap<CoreProfileId, Vec<u8>> = BTreeMap::new();
    let mut identities = IdentityOwners { owners, moved: BTreeMap::new() };
    for prepared in entries {
        let entry = &prepared.entry;
        let find = |id: &CoreProfileId| changed.get(id).or_else(|| records.get(id));
        let merged = match &prepared.item {
            Ok(patch) => {
                let json = prepared_json(payload, entry);
                if let Some(fields) = find(&patch.id) {
                    let merged = one(patch, &parse_stored(&braced(fields)), &json, &mut identities);
                    merged.map(|fields| (patch.id, fields))
                } else {
                    let named = patch.identities.iter().flatten().enumerate();
                    let mut stored = vec![missing(&CORE, payload, entry)];
                    stored.extend(conflicts(&json, named, patch.id, &identities));
                    Err(stored)
                }
            }
            Err(rejected) => Err(rejected_faults(payload, entry, rejected, find, &identities)),
        };
        match merged {
            Ok((id, fields)) => {
                let outcome = if fields.is_some() { "updated" } else { "unchanged" };
                changed.extend(fields.map(|fields| (id, fields)));
                out.outcome(entry, outcome, |out| write_id(id, out));
            }
            Err(stored) => refuse(action, payload, prepared, stored, &mut out),
        }
    }
    let (identities_removed, identities_added) = identities.net();
    let changed = changed.into_iter().collect();
    CoreUpdatePlan { changed, identities_removed, identities_added, records: out }
}

/// One entry: its new fields, if any change, or all of its faults.
fn one<'a, T: BuildHasher>(
    patch: &CorePatch,
    stored: &Json<'a>,
    json: &Json<'a>,
    identities: &mut IdentityOwners<'_, T>,
) -> Result<Option<Vec<u8>>, Vec<EntryFault>> {
    let outcome = update(&CORE, stored, json);
    let wanted = patch.identities.iter().flatten().enumerate();
    let conflicts = conflicts(json, wanted, patch.id, identities);
    let outcome = match outcome {
        Err(mut faults) => {
            faults.extend(conflicts);
            return Err(faults);
        }
        Ok(_) if !conflicts.is_empty() => return Err(conflicts),
        Ok(outcome) => outcome,
    };
    let Update::Changed(fields) = outcome else { return Ok(None) };
    // Identities are an array: the given ones replace the stored ones.
    if let Some(after) = &patch.identities {
        let before = keys_of(stored);
        assert!(!after.is_empty(), "an update would leave a core profile without identity");
        for key in before.iter().filter(|key| !after.contains(key)) {
            identities.set(key, Some(patch.id), None);
        }
        for key in after.iter().filter(|key| !before.contains(key)) {
            identities.set(key, None, Some(patch.id));
        }
    }
    Ok(Some(fields))
}

/// The faults of identities that another profile than `id` has.
fn conflicts<'k, T: BuildHasher>(
    json: &Json<'_>,
    wanted: impl Iterator<Item = (usize, &'k IdentityKey)>,
    id: CoreProfileId,
    identities: &IdentityOwners<'_, T>,
) -> Vec<EntryFault> {
    let other = |key| identities.owner(key).filter(|owner| *owner != id);
    let taken = wanted.filter_map(|(n, key)| Some((n, other(key)?)));
    taken.map(|(n, owner)| conflict(json, n, owner)).collect()
}

/// The faults that stored records add to those of a rejected entry. Without the id of a profile,
/// none of its identities is known to be another one's.
fn rejected_faults<'f, T: BuildHasher>(
    payload: &[u8],
    entry: &Entry,
    rejected: &Rejection,
    find: impl FnOnce(&CoreProfileId) -> Option<&'f Vec<u8>>,
    identities: &IdentityOwners<'_, T>,
) -> Vec<EntryFault> {
    let Some(named) = rejected.named.as_deref() else { return Vec::new() };
    let Some(id) = named.core_profile else { return Vec::new() };
    let json = prepared_json(payload, entry);
    let mut faults = match find(&id) {
        Some(fields) => merge_faults(&CORE, fields, &json, rejected),
        None => vec![missing(&CORE, payload, entry)],
    };
    let wanted = named.identities.iter().map(|(n, key)| (*n, key));
    faults.extend(conflicts(&json, wanted, id, identities));
    faults
}

/// The owners of identities while the slice is planned: the stored ones, and over them the changes
/// of the slice.
struct IdentityOwners<'o, T> {
    owners: &'o HashMap<IdentityKey, CoreProfileId, T>,
    moved: BTreeMap<IdentityKey, OwnerChange>,
}

/// An identity whose owner entries of the slice have changed.
struct OwnerChange {
    at_first: Option<CoreProfileId>,
    now: Option<CoreProfileId>,
}

/// Identities with their profiles.
type Owned = Vec<(IdentityKey, CoreProfileId)>;

impl<T: BuildHasher> IdentityOwners<'_, T> {
    fn owner(&self, key: &IdentityKey) -> Option<CoreProfileId> {
        self.moved.get(key).map_or_else(|| self.owners.get(key).copied(), |moved| moved.now)
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

    /// The identities to remove and to add, as the net effect.
    fn net(self) -> (Owned, Owned) {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (key, OwnerChange { at_first, now }) in self.moved {
            if at_first == now {
                continue;
            }
            if let Some(now) = now {
                added.push((key.clone(), now));
            }
            if let Some(first) = at_first {
                removed.push((key, first));
            }
        }
        (removed, added)
    }
}
