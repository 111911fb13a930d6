//! JSON Merge Patch (RFC 7396) on lossless trees, and updates of stored records with it. Given
//! values overwrite, maps merge by key, arrays are replaced, and `null` removes. Existing keys keep
//! their order and new ones follow. As the RFC demands, a map that loses its last key remains as an
//! empty map.

use std::collections::HashMap;

use super::checker::Checker;
use super::field::{PROFILE_BYTES_MAX, Rule, Slots, Table};
use super::record::write_fields;
use crate::error_code::EntryErrorCode;
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
/// fields of the patch are compared.
pub(super) fn update(
    table: &Table,
    record: &Json<'_>,
    patch: &Json<'_>,
) -> Result<Update, Vec<EntryFault>> {
    let (before, given) = (table.slots(record), table.slots(patch));
    let maps: Vec<(usize, Json<'_>)> = given
        .iter()
        .enumerate()
        .filter_map(|(at, value)| value.map(|value| (at, value)))
        .filter(|(_, value)| matches!(value, Json::Object(_)))
        .map(|(at, value)| (at, merge_patch(before[at], value)))
        .collect();
    let mut after = before;
    for (slot, value) in after.iter_mut().zip(given) {
        match value {
            None => {}
            Some(Json::Null) => *slot = None,
            Some(value) => *slot = Some(value),
        }
    }
    for (at, map) in &maps {
        after[*at] = Some(map);
    }
    let same = before.iter().zip(&after).all(|(before, after)| match (before, after) {
        (Some(before), Some(after)) => std::ptr::eq(*before, *after) || before.same(after),
        (before, after) => before.is_none() && after.is_none(),
    });
    if same { Ok(Update::Unchanged) } else { changed(table, &after) }
}

/// The fields text of a changed record, or its faults if it is over a limit.
fn changed(table: &Table, slots: &Slots<'_, '_>) -> Result<Update, Vec<EntryFault>> {
    let mut checker = Checker::default();
    for (field, value) in table.fields.iter().zip(slots) {
        if let (Rule::CustomFields, Some(value @ Json::Object(members))) = (field.rule, value) {
            checker.count(&ValuePath::field(field.name), value, members.len());
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
