//! Plans a slice of a get action: the whole record of each requested profile, or the fault that it
//! does not exist. Nothing is written; a profile may be requested twice.

use super::field::{APP, CORE, Table};
use super::prepare::not_found;
use crate::entry::id_of;
use crate::ids::CoreProfileId;
use crate::json;
use crate::payload::Entry;
use crate::record::{ChunkRecords, PreparedEntry};
use crate::task::Action;

/// Adds the records of a slice of `get_core_profiles`. `show` appends a profile to the text, as
/// [`render_core`](super::render_core) does, or returns false if it does not exist.
pub fn show_core_gets<E>(
    payload: &[u8],
    entries: &[PreparedEntry<CoreProfileId>],
    out: &mut ChunkRecords,
    show: impl FnMut(&CoreProfileId, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    gets(Action::GetCoreProfiles, payload, entries, out, show)
}

/// Adds the records of a slice of `get_app_profiles`. `show` appends a profile to the text, as
/// [`render_app`](super::render_app) does, or returns false if it does not exist.
pub fn show_app_gets<E>(
    payload: &[u8],
    entries: &[PreparedEntry<String>],
    out: &mut ChunkRecords,
    show: impl FnMut(&String, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    gets(Action::GetAppProfiles, payload, entries, out, show)
}

fn gets<T, E>(
    action: Action,
    payload: &[u8],
    entries: &[PreparedEntry<T>],
    out: &mut ChunkRecords,
    mut show: impl FnMut(&T, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    let table = if action == Action::GetCoreProfiles { &CORE } else { &APP };
    for prepared in entries {
        match &prepared.item {
            Ok(id) => {
                if !out.record(|text| show(id, text))? {
                    missing(table, action, payload, &prepared.entry, out);
                }
            }
            Err(rejected) => out.rejected(action, payload, &prepared.entry, rejected),
        }
    }
    Ok(())
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
