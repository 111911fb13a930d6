//! The plan of a slice of a get action: the whole record of every profile asked for, or that
//! there is none. Nothing is written; the same profile may be asked for twice.

use std::collections::HashMap;
use std::hash::BuildHasher;

use super::field::{APP, CORE, Table};
use super::prepare::not_found;
use super::record::{StoredAppProfile, StoredCoreProfile, render_app, render_core};
use crate::entry::id_of;
use crate::ids::CoreProfileId;
use crate::json;
use crate::payload::Entry;
use crate::record::{ChunkRecords, Prepared};
use crate::task::Action;

/// The records of a slice of `get_core_profiles`; `records` holds the profiles there are.
pub fn plan_core_gets<S: BuildHasher>(
    payload: &[u8],
    entries: &[Prepared<CoreProfileId>],
    records: &HashMap<CoreProfileId, StoredCoreProfile, S>,
) -> ChunkRecords {
    gets(Action::GetCoreProfiles, payload, entries, |id, out| {
        let profile = records.get(id)?;
        out.record(|out| {
            render_core(*id, profile.created_at, &profile.fields, profile.updated_at, out);
        });
        Some(())
    })
}

/// The records of a slice of `get_app_profiles`; `records` holds the profiles there are.
pub fn plan_app_gets<S: BuildHasher>(
    payload: &[u8],
    entries: &[Prepared<String>],
    records: &HashMap<String, StoredAppProfile, S>,
) -> ChunkRecords {
    gets(Action::GetAppProfiles, payload, entries, |pid, out| {
        let profile = records.get(pid)?;
        out.record(|out| render_app(pid, profile, out));
        Some(())
    })
}

fn gets<T>(
    action: Action,
    payload: &[u8],
    entries: &[Prepared<T>],
    show: impl Fn(&T, &mut ChunkRecords) -> Option<()>,
) -> ChunkRecords {
    let table = if action == Action::GetCoreProfiles { &CORE } else { &APP };
    let mut records = ChunkRecords::default();
    for prepared in entries {
        match &prepared.item {
            Ok(id) => {
                if show(id, &mut records).is_none() {
                    missing(table, action, payload, &prepared.entry, &mut records);
                }
            }
            Err(rejected) => records.rejected(action, payload, &prepared.entry, rejected),
        }
    }
    records
}

/// Adds the error record of an entry whose id no profile has.
pub(super) fn missing(
    table: &Table,
    action: Action,
    payload: &[u8],
    entry: &Entry,
    records: &mut ChunkRecords,
) {
    let json = json::parse(&payload[entry.range.clone()]).expect("a prepared entry is valid JSON");
    let id = json.get(action.id_field()).expect("a prepared entry has its id");
    let faults = [not_found(table, id)];
    records.error(action, payload, entry, id_of(&json, action).as_deref(), &faults, true);
}
