//! Plans a slice of `update_app_profiles`: the final fields of each app profile that changes, and
//! the records of all entries. Entries take effect in order, each on the outcome of those before
//! it.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use super::field::APP;
use super::merge::{Update, update};
use super::plan_get::missing;
use super::prepare::AppPatch;
use super::record::{braced, parse_stored};
use crate::entry::id_of;
use crate::json;
use crate::record::{ChunkRecords, PreparedEntry};
use crate::task::Action;

/// The changes of a slice of app profile updates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppUpdatePlan {
    /// The final fields text of each profile that changes, once per profile, by pid.
    pub changed: Vec<(String, Vec<u8>)>,
    pub records: ChunkRecords,
}

/// Plans `entries`, whose bytes are in `payload`. `records` has the fields text of every profile
/// that they name, if it exists. A dry run is planned in the same way, as one slice, and not
/// written.
pub fn plan_app_updates<S: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<AppPatch>],
    records: &HashMap<String, Vec<u8>, S>,
) -> AppUpdatePlan {
    let action = Action::UpdateAppProfiles;
    let mut out = ChunkRecords::default();
    let mut changed: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for prepared in entries {
        let entry = &prepared.entry;
        let pid = match &prepared.item {
            Ok(patch) => patch.pid.as_str(),
            Err(rejected) => {
                out.rejected(action, payload, entry, rejected);
                continue;
            }
        };
        let Some(fields) = changed.get(pid).or_else(|| records.get(pid)) else {
            missing(&APP, action, payload, entry, &mut out);
            continue;
        };
        let stored = braced(fields);
        let patch =
            json::parse(&payload[entry.range.clone()]).expect("a prepared entry is valid JSON");
        let outcome = match update(&APP, &parse_stored(&stored), &patch) {
            Ok(Update::Unchanged) => "unchanged",
            Ok(Update::Changed(fields)) => {
                changed.insert(pid, fields);
                "updated"
            }
            Err(faults) => {
                let id = id_of(&patch, action);
                out.error(action, payload, entry, id.as_deref(), &faults, true);
                continue;
            }
        };
        out.outcome(entry, outcome, |out| {
            out.extend_from_slice(b",\"pid\":");
            json::write_string(pid, out);
        });
    }
    let changed = changed.into_iter().map(|(pid, fields)| (pid.to_owned(), fields)).collect();
    AppUpdatePlan { changed, records: out }
}
