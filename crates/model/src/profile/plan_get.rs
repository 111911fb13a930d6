//! Plans a slice of a get action: the whole record of each requested profile, or the fault that it
//! does not exist. Nothing is written; a profile may be requested twice.

use super::field::Table;
use super::prepare::not_found;
use super::rejected::{prepared_json, refuse};
use crate::ids::CoreProfileId;
use crate::payload::Entry;
use crate::record::{ChunkRecords, EntryFault, NamedRecords, PreparedEntry};
use crate::task::Action;

/// The core profiles that entries name, in order; rejected entries are among them, so that the
/// record of each has all of its faults.
pub fn named_core_profiles(
    entries: &[PreparedEntry<CoreProfileId>],
) -> impl Iterator<Item = CoreProfileId> + Clone {
    entries.iter().filter_map(|entry| wanted(entry, core_profile)).copied()
}

/// The app profiles that entries name, as [`named_core_profiles`] returns core profiles.
pub fn named_app_profiles(
    entries: &[PreparedEntry<String>],
) -> impl Iterator<Item = &String> + Clone {
    entries.iter().filter_map(|entry| wanted(entry, app_profile))
}

const fn core_profile(named: &NamedRecords) -> Option<&CoreProfileId> {
    named.core_profile.as_ref()
}

const fn app_profile(named: &NamedRecords) -> Option<&String> {
    named.app_profile.as_ref()
}

fn wanted<T>(
    prepared: &PreparedEntry<T>,
    of: impl FnOnce(&NamedRecords) -> Option<&T>,
) -> Option<&T> {
    match &prepared.item {
        Ok(id) => Some(id),
        Err(rejected) => of(rejected.named.as_deref()?),
    }
}

/// Adds the records of a slice of `get_core_profiles`. `show` appends a profile to the text, as
/// [`render_core`](super::render_core) does, or returns false if it does not exist. It is called
/// for [`named_core_profiles`], in order.
pub fn show_core_gets<E>(
    payload: &[u8],
    entries: &[PreparedEntry<CoreProfileId>],
    out: &mut ChunkRecords,
    show: impl FnMut(&CoreProfileId, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    gets(Action::GetCoreProfiles, payload, entries, out, core_profile, show)
}

/// Adds the records of a slice of `get_app_profiles`. `show` appends a profile to the text, as
/// [`render_app`](super::render_app) does, or returns false if it does not exist. It is called for
/// [`named_app_profiles`], in order.
pub fn show_app_gets<E>(
    payload: &[u8],
    entries: &[PreparedEntry<String>],
    out: &mut ChunkRecords,
    show: impl FnMut(&String, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    gets(Action::GetAppProfiles, payload, entries, out, app_profile, show)
}

fn gets<T, E>(
    action: Action,
    payload: &[u8],
    entries: &[PreparedEntry<T>],
    out: &mut ChunkRecords,
    of_rejected: impl Fn(&NamedRecords) -> Option<&T>,
    mut show: impl FnMut(&T, &mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    let table = Table::of(action);
    for prepared in entries {
        let id = wanted(prepared, &of_rejected);
        let is_found = match (&prepared.item, id) {
            (Ok(id), _) if out.record(|text| show(id, text))? => continue,
            (Ok(_), _) => false,
            (Err(_), Some(id)) => show(id, &mut Vec::new())?,
            (Err(_), None) => true,
        };
        let entry = &prepared.entry;
        let stored = if is_found { Vec::new() } else { vec![missing(table, payload, entry)] };
        refuse(action, payload, prepared, stored, out);
    }
    Ok(())
}

/// The fault of an entry whose id no profile has.
pub(super) fn missing(table: &Table, payload: &[u8], entry: &Entry) -> EntryFault {
    let json = prepared_json(payload, entry);
    not_found(table, json.get(table.id_field).expect("an entry that names a profile has its id"))
}
