//! Plans a slice of `update_app_profiles`: the final fields of each app profile that changes, and
//! the records of all entries. Entries take effect in order, each on the outcome of those before
//! it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;

use super::changes::write_changes;
use super::checker::quoted;
use super::clean::{Digits, cleaned_json};
use super::field::APP;
use super::merge::{Lists, Update, update};
use super::plan_get::missing;
use super::prepare::AppPatch;
use super::rejected::{merge_faults, refuse};
use super::stored::StoredRecord;
use crate::change::{ChangeAction, Effect, Resource};
use crate::json::{self, Json};
use crate::record::{ChunkRecords, EntryWarning, PreparedEntry};
use crate::task::Action;

/// The changes of a slice of app profile updates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppUpdatePlan {
    /// The final fields text of each profile that changes, once per profile, by pid.
    pub changed: Vec<(String, Vec<u8>)>,
    pub records: ChunkRecords,
}

/// The pid that an entry names, rejected entries included.
pub fn named_app_profile(prepared: &PreparedEntry<AppPatch>) -> Option<&str> {
    match &prepared.item {
        Ok(patch) => Some(&patch.pid),
        Err(rejected) => rejected.named.as_deref()?.app_profile.as_deref(),
    }
}

/// Plans `entries`, whose bytes are in `payload`. `records` has the fields text of every profile
/// that [`named_app_profile`] finds in them, if it exists. `earlier` are the profiles that earlier
/// entries of the file have changed; without it, no entry is warned of a repeat. A dry run is
/// planned in the same way and not written; its records have the changes.
pub fn plan_app_updates<S: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<AppPatch>],
    records: &HashMap<String, Vec<u8>, S>,
    earlier: Option<&BTreeSet<&str>>,
    dry_run: bool,
) -> AppUpdatePlan {
    let action = Action::UpdateAppProfiles;
    let mut out = ChunkRecords::default();
    let mut changed: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for prepared in entries {
        let entry = &prepared.entry;
        let Some(pid) = named_app_profile(prepared) else {
            refuse(action, payload, prepared, Vec::new(), &mut out);
            continue;
        };
        let Some(fields) = changed.get(pid).or_else(|| records.get(pid)) else {
            let stored = vec![missing(&APP, payload, entry)];
            refuse(action, payload, prepared, stored, &mut out);
            continue;
        };
        let digits = Digits::new();
        let patch = cleaned_json(action, payload, entry, &digits);
        let merged = match &prepared.item {
            Ok(_) => {
                let stored = StoredRecord::of(&APP, fields);
                update(&APP, &stored, &patch, Lists::Replace, entry.numbers())
            }
            Err(rejected) => Err(merge_faults(&APP, fields, &patch, rejected, Lists::Replace)),
        };
        let is_repeat =
            |earlier: &&BTreeSet<&str>| changed.contains_key(pid) || earlier.contains(pid);
        let repeat = earlier.filter(is_repeat).map(|_| repeated(pid));
        let mut changes = Vec::new();
        let effect = match merged {
            Ok(Update::Unchanged) => None,
            Ok(Update::Changed { fields: after, names }) => {
                if dry_run {
                    write_changes(&APP, fields, &after, &mut changes);
                }
                changed.insert(pid, after);
                let effect = Effect::new(Resource::AppProfile, pid, ChangeAction::Updated);
                Some(Effect { fields: names, ..effect })
            }
            Err(stored) => {
                refuse(action, payload, prepared, stored, &mut out);
                continue;
            }
        };
        out.outcome(entry, effect, &prepared.warnings_and(repeat.as_slice()), |out| {
            out.extend_from_slice(b",\"pid\":");
            json::write_string(pid, out);
            out.append(&mut changes);
        });
    }
    let changed = changed.into_iter().map(|(pid, fields)| (pid.to_owned(), fields)).collect();
    AppUpdatePlan { changed, records: out }
}

/// The warning about an entry whose profile an earlier entry of the file has changed.
fn repeated(pid: &str) -> EntryWarning {
    let profile = format!("app profile {}", quoted(pid));
    let value = Json::String(pid.into());
    EntryWarning::repeated("pid", &value, &profile, "give each profile one entry")
}
