//! Entries that failed validation, against stored records: they change nothing and reserve nothing,
//! but a caller who mends them is to know every fault at once. So the planners look up the
//! records that such an entry names, and the faults found there follow its own in its record.

use super::checker::FAULTS_MAX;
use super::field::Table;
use super::merge::{Lists, update};
use super::stored::StoredRecord;
use crate::entry::id_of;
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json::{self, Json, Numbers, ValuePath};
use crate::payload::Entry;
use crate::record::{ChunkRecords, EntryFault, NamedRecords, PreparedEntry, Rejection};
use crate::task::Action;

/// The records that the rejected entries among these name.
fn named<T>(entries: &[PreparedEntry<T>]) -> impl Iterator<Item = &NamedRecords> + Clone {
    entries.iter().filter_map(|prepared| prepared.item.as_ref().err()?.named.as_deref())
}

/// The good identities of rejected entries.
pub fn rejected_identities<T>(
    entries: &[PreparedEntry<T>],
) -> impl Iterator<Item = &IdentityKey> + Clone {
    named(entries).flat_map(|named| named.identities.iter().map(|(_, key)| key))
}

/// The core profiles that rejected entries are about.
pub fn rejected_core_profiles<T>(
    entries: &[PreparedEntry<T>],
) -> impl Iterator<Item = CoreProfileId> + Clone {
    named(entries).filter_map(|named| named.core_profile)
}

/// Adds the error record of an entry that changes nothing: its own faults if it was rejected, and
/// those that stored records add, one at least.
pub(super) fn refuse<T>(
    action: Action,
    payload: &[u8],
    prepared: &PreparedEntry<T>,
    stored: Vec<EntryFault>,
    out: &mut ChunkRecords,
) {
    let entry = &prepared.entry;
    match &prepared.item {
        Err(rejected) if stored.is_empty() => out.rejected(action, payload, entry, rejected),
        Err(rejected) => {
            let faults = all_faults(rejected, stored);
            out.error(action, payload, entry, rejected.id.as_deref(), &faults, rejected.readable);
        }
        Ok(_) => {
            let id = id_of(&prepared_json(payload, entry), action);
            out.error(action, payload, entry, id.as_deref(), &stored, true);
        }
    }
}

/// A readable entry, as it was sent.
pub(super) fn prepared_json<'p>(payload: &'p [u8], entry: &Entry) -> Json<'p> {
    json::parse(&payload[entry.range.clone()]).expect("a prepared entry is valid JSON")
}

/// The faults of a rejected entry and those that stored records add. Beyond [`FAULTS_MAX`], the
/// last one says how many more there are.
fn all_faults(rejected: &Rejection, stored: Vec<EntryFault>) -> Vec<EntryFault> {
    let mut faults = rejected.faults.clone();
    let room = FAULTS_MAX.saturating_sub(faults.len());
    let unlisted = stored.len().saturating_sub(room);
    faults.extend(stored.into_iter().take(room));
    if let (Some(last), 1..) = (faults.last_mut(), unlisted) {
        let more = format!("; {unlisted} more faults with stored records are not listed");
        last.detail.push_str(&more);
    }
    faults
}

/// The faults of merging the fields of a rejected entry that are good into a stored record.
pub(super) fn merge_faults(
    table: &'static Table,
    fields: &[u8],
    entry: &Json<'_>,
    rejected: &Rejection,
    lists: Lists,
) -> Vec<EntryFault> {
    let Json::Object(members) = entry else { return Vec::new() };
    let is_good = |name: &str| {
        let field = ValuePath::field(name).pointer();
        !rejected.faults.iter().filter_map(|fault| fault.pointer.as_deref()).any(|pointer| {
            pointer
                .strip_prefix(&*field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let good = members.iter().filter(|(name, _)| is_good(name)).cloned().collect();
    let stored = StoredRecord::of(table, fields);
    let outcome = update(table, &stored, &Json::Object(good), lists, Numbers::ByDigits);
    outcome.err().unwrap_or_default()
}
