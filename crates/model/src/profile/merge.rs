//! JSON Merge Patch (RFC 7396) on lossless trees, and updates of stored records with it. Given
//! values overwrite, maps merge by key, arrays are replaced, and `null` removes. Existing keys keep
//! their order and new ones follow. As the RFC demands, a map that loses its last key remains as an
//! empty map.

use std::collections::HashMap;

use super::checker::Checker;
use super::field::{COLLECTION_ELEMENTS_MAX, PROFILE_BYTES_MAX, Rule, Slots, Table};
use super::identity::{IdentityType, key_of};
use super::record::write_fields;
use crate::error_code::EntryErrorCode;
use crate::ids::IdentityKey;
use crate::json::{Json, ValuePath};
use crate::record::EntryFault;

/// With more keys in a patch, searching the target for each one by one is too slow.
const SCANNED_KEYS_MAX: usize = 32;

/// `target` after `patch`. A patch that is not a map replaces the target.
pub fn merge_patch<'a>(target: Option<&Json<'a>>, patch: &Json<'a>) -> Json<'a> {
    let Json::Object(changes) = patch else { return patch.clone() };
    let mut merged = match target {
        Some(Json::Object(members)) => members.clone(),
        _ => Vec::new(),
    };
    let positions: Option<HashMap<String, usize>> = (changes.len() > SCANNED_KEYS_MAX).then(|| {
        merged.iter().enumerate().map(|(at, (key, _))| (key.clone().into_owned(), at)).collect()
    });
    let mut removed = Vec::new();
    for (key, change) in changes {
        let at = match &positions {
            Some(positions) => positions.get(key.as_ref()).copied(),
            None => merged.iter().position(|(k, _)| k == key),
        };
        match (at, change) {
            (Some(at), Json::Null) => removed.push(at),
            (None, Json::Null) => {}
            (Some(at), _) => merged[at].1 = merge_patch(Some(&merged[at].1), change),
            (None, _) => merged.push((key.clone(), merge_patch(None, change))),
        }
    }
    removed.sort_unstable();
    let mut at = 0;
    merged.retain(|_| {
        at += 1;
        removed.binary_search(&(at - 1)).is_err()
    });
    Json::Object(merged)
}

/// The effect of a patch on the identities of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// The given ones replace the stored ones, as in any array.
    Replace,
    /// The given ones are added.
    Add,
}

/// The stored identities with the given ones. The metadata of an identity that is stored merges by
/// key, and its value stays as it is spelt.
fn with_identities<'a>(stored: Option<&Json<'a>>, given: &[Json<'a>]) -> Json<'a> {
    let mut all = match stored {
        Some(Json::Array(items)) => items.clone(),
        _ => Vec::new(),
    };
    let positions: HashMap<IdentityKey, usize> =
        all.iter().enumerate().filter_map(|(at, identity)| Some((key_of(identity)?, at))).collect();
    for identity in given {
        let at = key_of(identity).and_then(|key| positions.get(&key).copied());
        match (at, identity) {
            (Some(at), Json::Object(members)) => {
                let metadata =
                    members.iter().filter(|(name, _)| IdentityType::parse(name).is_none());
                let metadata = Json::Object(metadata.cloned().collect());
                all[at] = merge_patch(Some(&all[at]), &metadata);
            }
            _ => all.push(identity.clone()),
        }
    }
    Json::Array(all)
}

/// The outcome of a patch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Update {
    Unchanged,
    /// The fields text of the changed record.
    Changed(Vec<u8>),
}

/// The stored `record` after `patch`, an entry that is valid in itself. Members that are not fields
/// of `table` (the id, read-only members) are ignored. The limits apply to the outcome, too. The
/// result equals [`merge_patch`] of the two, but only maps that merge are copied, and only the
/// fields of the patch are compared. With [`Lists::Add`], identities are added instead.
pub(super) fn update(
    table: &Table,
    record: &Json<'_>,
    patch: &Json<'_>,
    lists: Lists,
) -> Result<Update, Vec<EntryFault>> {
    let (before, given) = (table.slots(record), table.slots(patch));
    let merged: Vec<(usize, Json<'_>)> = given
        .iter()
        .enumerate()
        .filter_map(|(at, value)| {
            let value = (*value)?;
            let adds = lists == Lists::Add && table.fields[at].rule == Rule::Identities;
            match value {
                value @ Json::Object(_) => Some((at, merge_patch(before[at], value))),
                Json::Array(items) if adds => Some((at, with_identities(before[at], items))),
                _ => None,
            }
        })
        .collect();
    let mut after = before;
    for (slot, value) in after.iter_mut().zip(given) {
        match value {
            None => {}
            Some(Json::Null) => *slot = None,
            Some(value) => *slot = Some(value),
        }
    }
    for (at, value) in &merged {
        after[*at] = Some(value);
    }
    let same = before.iter().zip(&after).all(|(before, after)| match (before, after) {
        (Some(before), Some(after)) => std::ptr::eq(*before, *after) || before.same(after),
        (before, after) => before.is_none() && after.is_none(),
    });
    if same { Ok(Update::Unchanged) } else { changed(table, &after) }
}

/// Checks how many members of metadata an identity has after a merge.
fn metadata_count(checker: &mut Checker, path: &ValuePath<'_>, identity: &Json<'_>) {
    let Json::Object(members) = identity else { return };
    // One of the members is the identity itself.
    let metadata = members.len().saturating_sub(1);
    if metadata > COLLECTION_ELEMENTS_MAX {
        let detail = format!(
            "an identity would have {metadata} members of metadata; at most \
             {COLLECTION_ELEMENTS_MAX} are allowed"
        );
        checker.fault(EntryErrorCode::TooMany, path, identity, detail);
    }
}

/// The fields text of a changed record, or its faults if it is over a limit.
fn changed(table: &Table, slots: &Slots<'_, '_>) -> Result<Update, Vec<EntryFault>> {
    let mut checker = Checker::default();
    for (field, value) in table.fields.iter().zip(slots) {
        let path = ValuePath::field(field.name);
        match (field.rule, value) {
            (Rule::CustomFields, Some(value @ Json::Object(members))) => {
                checker.count(&path, value, members.len());
            }
            (Rule::Identities, Some(value @ Json::Array(items))) => {
                checker.count(&path, value, items.len());
                for identity in items {
                    metadata_count(&mut checker, &path, identity);
                }
            }
            _ => {}
        }
    }
    let mut fields = Vec::new();
    write_fields(table, slots, &mut fields);
    let bytes = fields.len() + 2;
    if bytes > PROFILE_BYTES_MAX {
        let detail = format!(
            "the updated {} would have {bytes} bytes; at most {PROFILE_BYTES_MAX} are allowed",
            table.noun
        );
        checker.faults.push(EntryFault::new(EntryErrorCode::TooLarge, "", detail));
    }
    if checker.faults.is_empty() { Ok(Update::Changed(fields)) } else { Err(checker.faults) }
}
