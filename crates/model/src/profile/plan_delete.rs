//! Plans a slice of `delete_core_profiles` or `delete_app_profiles`: the profiles that go, and the
//! records of all entries. A profile that is not there is not a fault, because a deletion may be
//! sent again: the outcome is `unchanged`. Issues and the other kind of profile stay.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use super::core_state::{CorePlan, CoreState};
use super::plan_core::not_one;
use super::plan_create::write_id;
use super::prepare::{CoreTarget, has_core_id};
use super::rejected::{prepared_json, refuse};
use crate::change::{ChangeAction, Effect, Resource};
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json;
use crate::payload::Entry;
use crate::record::{ChunkRecords, EntryFault, PreparedEntry, Rejection};
use crate::task::Action;

/// Plans `entries`, whose bytes are in `payload`. `owners` has the owner of every identity that
/// they name, if it has one; `records` has the fields text of every profile that they name, if it
/// exists, and of these owners. A dry run is planned in the same way.
pub fn plan_core_deletes<S: BuildHasher, T: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<CoreTarget>],
    records: &HashMap<CoreProfileId, Vec<u8>, S>,
    owners: &HashMap<IdentityKey, CoreProfileId, T>,
) -> CorePlan {
    let action = Action::DeleteCoreProfiles;
    let mut out = ChunkRecords::default();
    let mut state = CoreState::new(records, owners);
    for prepared in entries {
        let PreparedEntry { entry, warnings, .. } = prepared;
        let found = match &prepared.item {
            Ok(target) => target_of(&state, payload, entry, target),
            Err(rejected) => Err(rejected_faults(&state, payload, entry, rejected)),
        };
        match found {
            Ok(Some(id)) if state.fields(id).is_some() => {
                state.delete(id);
                let effect = Effect::new(Resource::CoreProfile, id.0, ChangeAction::Deleted);
                out.outcome(entry, Some(effect), warnings, |out| write_id(id, out));
            }
            Ok(id) => out.outcome(entry, None, warnings, |out| {
                if let Some(id) = id {
                    write_id(id, out);
                }
            }),
            Err(stored) => refuse(action, payload, prepared, stored, &mut out),
        }
    }
    state.into_plan(out)
}

/// The profile that an entry is about; `None` if no profile has its identities.
fn target_of<S: BuildHasher, T: BuildHasher>(
    state: &CoreState<'_, S, T>,
    payload: &[u8],
    entry: &Entry,
    target: &CoreTarget,
) -> Result<Option<CoreProfileId>, Vec<EntryFault>> {
    if target.id.is_some() {
        return Ok(target.id);
    }
    let owners = state.owners(target.identities.iter().enumerate());
    match owners.as_slice() {
        [] => Ok(None),
        [(_, id)] => Ok(Some(*id)),
        several => Err(vec![not_one(&prepared_json(payload, entry), several)]),
    }
}

/// The fault that stored records add to those of a rejected entry.
fn rejected_faults<S: BuildHasher, T: BuildHasher>(
    state: &CoreState<'_, S, T>,
    payload: &[u8],
    entry: &Entry,
    rejected: &Rejection,
) -> Vec<EntryFault> {
    let Some(named) = rejected.named.as_deref() else { return Vec::new() };
    let json = prepared_json(payload, entry);
    if has_core_id(&json) {
        return Vec::new();
    }
    let owners = state.owners(named.identities.iter().map(|(n, key)| (*n, key)));
    if owners.len() > 1 { vec![not_one(&json, &owners)] } else { Vec::new() }
}

/// The changes of a slice of deletions of app profiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppDeletePlan {
    /// The pids of the profiles that are deleted, in order.
    pub deleted: Vec<String>,
    pub records: ChunkRecords,
}

/// Plans `entries`, whose bytes are in `payload`. `records` has an element for every profile that
/// they name, if it exists. A dry run is planned in the same way.
pub fn plan_app_deletes<V, S: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<String>],
    records: &HashMap<String, V, S>,
) -> AppDeletePlan {
    let mut out = ChunkRecords::default();
    let mut deleted: BTreeSet<&str> = BTreeSet::new();
    for prepared in entries {
        let Ok(pid) = &prepared.item else {
            refuse(Action::DeleteAppProfiles, payload, prepared, Vec::new(), &mut out);
            continue;
        };
        let is_there = records.contains_key(pid) && deleted.insert(pid);
        let effect = || Effect::new(Resource::AppProfile, &**pid, ChangeAction::Deleted);
        out.outcome(&prepared.entry, is_there.then(effect), &prepared.warnings, |out| {
            out.extend_from_slice(b",\"pid\":");
            json::write_string(pid, out);
        });
    }
    let deleted = deleted.into_iter().map(str::to_owned).collect();
    AppDeletePlan { deleted, records: out }
}
