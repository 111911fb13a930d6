//! Plans a slice of `create_core_profiles`: which entries become profiles, their ids, and the
//! records of all entries. Entries take effect in order: an identity belongs to the first entry
//! that succeeds with it, and a failed entry takes neither an id nor an identity.

use std::collections::HashMap;
use std::hash::BuildHasher;

use super::checker::quoted;
use super::identity::nth;
use super::new_ids::{NewIds, entry_of_dry_run};
use super::prepare::NewCoreProfile;
use super::rejected::{prepared_json, refuse, rejected_identities};
use crate::change::{ChangeAction, Effect, Resource};
use crate::error_code::EntryErrorCode;
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json::{Json, ValuePath, write_decimal};
use crate::payload::Entry;
use crate::record::{ChunkRecords, EntryFault, PreparedEntry};
use crate::task::Action;

/// Approximate size of a creation's record in bytes.
const RECORD_BYTES: usize = 80;

/// The changes of a slice of creations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePlan {
    /// The profiles to insert: the id, and the index of the entry.
    pub inserts: Vec<(CoreProfileId, usize)>,
    /// The ids that are left.
    pub ids: NewIds,
    pub records: ChunkRecords,
}

/// Plans `entries` as if every identity of a valid one were free, without looking at any. If the
/// insertion finds one taken, the caller plans the entries again with [`plan_creates`]. `owners`
/// has the owner of every identity that rejected entries name, if it has one.
pub fn plan_optimistic_creates<S: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<NewCoreProfile>],
    owners: &HashMap<IdentityKey, CoreProfileId, S>,
    ids: NewIds,
) -> CreatePlan {
    let mut plan = CreatePlan::with_room(ids, entries.len());
    plan.records.results.reserve(entries.len() * RECORD_BYTES);
    // Usually empty: then valid entries are not looked at.
    let mut watched: HashMap<&IdentityKey, Option<CoreProfileId>> =
        rejected_identities(entries).map(|key| (key, owners.get(key).copied())).collect();
    for (at, prepared) in entries.iter().enumerate() {
        let Ok(profile) = &prepared.item else {
            let holder = |key: &_| watched.get(key).copied().flatten();
            reject(payload, prepared, holder, &mut plan.records);
            continue;
        };
        let id = plan.insert(prepared, at);
        if watched.is_empty() {
            continue;
        }
        for key in &profile.identities {
            watched.entry(key).and_modify(|owner| *owner = owner.or(Some(id)));
        }
    }
    plan
}

/// Adds the error record of an entry that failed validation; identities of it that belong to a
/// profile or an earlier entry are faults, too.
fn reject(
    payload: &[u8],
    prepared: &PreparedEntry<NewCoreProfile>,
    holder: impl Fn(&IdentityKey) -> Option<CoreProfileId>,
    out: &mut ChunkRecords,
) {
    let named = prepared.item.as_ref().err().and_then(|rejected| rejected.named.as_deref());
    let identities = named.map_or(&[][..], |named| &named.identities);
    let conflicts: Vec<_> =
        identities.iter().filter_map(|(n, key)| Some((*n, holder(key)?))).collect();
    let faults = conflict_faults(payload, &prepared.entry, &conflicts);
    refuse(Action::CreateCoreProfiles, payload, prepared, faults, out);
}

/// A core profile to insert: its id as stores keep it, and its fields text.
pub type ProfileRow<'e> = (i64, &'e [u8]);
/// An identity to register, and the id of its profile.
pub type IdentityRow<'e> = (&'e [u8], i64);

impl CreatePlan {
    /// The profiles to insert, and their identities in key order: neighbours share a page, and all
    /// transactions lock them in the same order.
    ///
    /// # Panics
    ///
    /// If `entries` are not the ones that were planned.
    pub fn rows<'e>(
        &self,
        entries: &'e [PreparedEntry<NewCoreProfile>],
    ) -> (Vec<ProfileRow<'e>>, Vec<IdentityRow<'e>>) {
        let mut profiles = Vec::with_capacity(self.inserts.len());
        let mut identities = Vec::new();
        for (id, at) in &self.inserts {
            let Ok(profile) = &entries[*at].item else {
                unreachable!("a refused entry makes no profile")
            };
            let id = id.0 as i64;
            identities.extend(profile.identities.iter().map(|key| (key.as_bytes(), id)));
            profiles.push((id, &profile.fields[..]));
        }
        identities.sort_unstable();
        (profiles, identities)
    }

    fn with_room(ids: NewIds, entries: usize) -> Self {
        Self { inserts: Vec::with_capacity(entries), ids, records: ChunkRecords::default() }
    }

    /// The identities that the new profiles take.
    ///
    /// # Panics
    ///
    /// As [`CreatePlan::rows`].
    pub fn taken<'e>(
        &self,
        entries: &'e [PreparedEntry<NewCoreProfile>],
    ) -> impl Iterator<Item = (&'e IdentityKey, CoreProfileId)> {
        self.inserts.iter().flat_map(move |(id, at)| {
            let profile = entries[*at].item.as_ref().expect("a refused entry makes no profile");
            profile.identities.iter().map(move |key| (key, *id))
        })
    }

    /// Lets the entry at index `at` become a profile and returns its id.
    fn insert<T>(&mut self, prepared: &PreparedEntry<T>, at: usize) -> CoreProfileId {
        let id = self.ids.take(&prepared.entry);
        self.inserts.push((id, at));
        let PreparedEntry { entry, warnings, .. } = prepared;
        let effect = Effect::new(Resource::CoreProfile, id.0, ChangeAction::Created);
        self.records.outcome(entry, Some(effect), warnings, |out| write_id(id, out));
        id
    }
}

/// The member of a result record that names its core profile; a profile that only a dry run would
/// create has none.
pub(super) fn write_id(id: CoreProfileId, out: &mut Vec<u8>) {
    if entry_of_dry_run(id).is_some() {
        return;
    }
    out.extend_from_slice(b",\"core-profile-id\":\"");
    write_decimal(id.0, out);
    out.push(b'"');
}

/// Plans `entries`, whose bytes are in `payload`. `owners` has the owner of every identity that
/// they name, rejected entries included, if it has one. In a dry run, records have no id, and a
/// conflict with an earlier entry names its index.
pub fn plan_creates<S: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<NewCoreProfile>],
    owners: &HashMap<IdentityKey, CoreProfileId, S>,
    ids: NewIds,
) -> CreatePlan {
    let mut plan = CreatePlan::with_room(ids, entries.len());
    let mut taken: HashMap<&IdentityKey, CoreProfileId> = HashMap::new();
    taken.reserve(entries.len() * 2);
    for (at, prepared) in entries.iter().enumerate() {
        let holder = |key: &IdentityKey| owners.get(key).or_else(|| taken.get(key)).copied();
        let Ok(profile) = &prepared.item else {
            reject(payload, prepared, holder, &mut plan.records);
            continue;
        };
        let conflicts: Vec<(usize, CoreProfileId)> = profile
            .identities
            .iter()
            .enumerate()
            .filter_map(|(n, key)| Some((n, holder(key)?)))
            .collect();
        if !conflicts.is_empty() {
            let faults = conflict_faults(payload, &prepared.entry, &conflicts);
            refuse(Action::CreateCoreProfiles, payload, prepared, faults, &mut plan.records);
            continue;
        }
        let id = plan.insert(prepared, at);
        taken.extend(profile.identities.iter().map(|key| (key, id)));
    }
    plan
}

fn conflict_faults(
    payload: &[u8],
    entry: &Entry,
    conflicts: &[(usize, CoreProfileId)],
) -> Vec<EntryFault> {
    if conflicts.is_empty() {
        return Vec::new();
    }
    let json = prepared_json(payload, entry);
    conflicts.iter().map(|(n, holder)| conflict(&json, *n, *holder)).collect()
}

/// The fault of an entry whose identity `n` already belongs to the profile `id`.
pub(super) fn conflict(entry: &Json<'_>, n: usize, id: CoreProfileId) -> EntryFault {
    let holder = name_of(id);
    let identities = ValuePath::field("identities");
    let pointer = ValuePath::Item(&identities, n).pointer();
    let identity = match entry.get("identities") {
        Some(Json::Array(items)) => items.get(n),
        _ => None,
    };
    let name = type_and_value(entry, n);
    let detail = format!(
        "the identity {name} belongs to {holder}; an identity belongs to at most one core profile"
    );
    let new = EntryFault::new(EntryErrorCode::IdentityConflict, pointer, detail);
    let fault = EntryFault { owners: shown(&[id]), ..new };
    match identity {
        Some(identity) => fault.with_value(identity),
        None => fault,
    }
}

/// A profile in a sentence.
pub(super) fn name_of(id: CoreProfileId) -> String {
    match entry_of_dry_run(id) {
        None => format!("core profile {id}"),
        Some(index) => format!("entry {index} of this dry run"),
    }
}

/// Those of the profiles that callers may name.
pub(super) fn shown(ids: &[CoreProfileId]) -> Vec<CoreProfileId> {
    ids.iter().copied().filter(|id| entry_of_dry_run(*id).is_none()).collect()
}

/// Identity `n` of an entry in a sentence.
pub(super) fn type_and_value(entry: &Json<'_>, n: usize) -> String {
    let named = nth(entry, n);
    named.map(|(kind, _, text)| format!("{} {}", kind.as_str(), quoted(text))).unwrap_or_default()
}
