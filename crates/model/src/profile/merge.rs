//! JSON Merge Patch (RFC 7396) on lossless trees, and updates of stored records with it. Given
//! values overwrite, maps merge by key, arrays are replaced, and `null` removes. Existing keys keep
//! their order and new ones follow. As the RFC demands, a map that loses its last key remains as an
//! empty map.

use std::borrow::Cow;
use std::collections::HashMap;

use super::checker::Checker;
use super::field::{COLLECTION_ELEMENTS_MAX, FIELDS_MAX, Field, PROFILE_BYTES_MAX, Rule, Table};
use super::identity::{IdentityType, key_of};
use super::record::write_field;
use super::stored::StoredRecord;
use super::tag_changes::tags_after;
use crate::change::FieldNames;
use crate::error_code::EntryErrorCode;
use crate::ids::IdentityKey;
use crate::json::{Json, Numbers, ValuePath};
use crate::record::EntryFault;
use crate::tags::ADD_TAGS;

/// Bytes by which most updates lengthen a record at the most.
const ROOM_BYTES: usize = 128;
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
    Changed {
        /// The fields text of the changed record.
        fields: Vec<u8>,
        /// The names of the fields that changed.
        names: FieldNames,
    },
}

/// The stored record after `patch`, an entry that is valid in itself. Members that are not fields
/// of `table` (the id, read-only members) are ignored. The limits apply to the outcome, too. The
/// result equals [`merge_patch`] of the two, but only the fields of the patch are read and
/// compared. With [`Lists::Add`], identities are added instead. A patch that adds or removes tags
/// counts as one with all tags of its outcome. A number
/// that is equal by value, if `numbers` says so, retains its stored digits.
pub(super) fn update(
    table: &Table,
    stored: &StoredRecord<'_>,
    patch: &Json<'_>,
    lists: Lists,
    numbers: Numbers,
) -> Result<Update, Vec<EntryFault>> {
    let mut slots: [After<'_>; FIELDS_MAX] = [const { After::Stored }; FIELDS_MAX];
    let mut names: Vec<Cow<'static, str>> = Vec::new();
    let tags = tags_after(table, patch, |at| stored.value(at));
    let mut given = table.slots(patch);
    if let Some((at, tags)) = &tags {
        given[*at] = Some(tags);
    }
    for (at, given) in given.into_iter().enumerate() {
        let Some(given) = given else { continue };
        let before = stored.value(at);
        let adds = lists == Lists::Add && table.fields[at].rule == Rule::Identities;
        let after = match given {
            Json::Null => None,
            Json::Object(_) => Some(Cow::Owned(merge_patch(before.as_ref(), given))),
            Json::Array(items) if adds => Some(Cow::Owned(with_identities(before.as_ref(), items))),
            _ => Some(Cow::Borrowed(given)),
        };
        let is_equal = match (&before, &after) {
            (Some(before), Some(after)) => before.same_by(after, numbers),
            (before, after) => before.is_none() && after.is_none(),
        };
        if !is_equal {
            names.push(table.fields[at].name.into());
        }
        if !is_equal || numbers == Numbers::ByDigits {
            slots[at] = After::Given(after);
        }
    }
    if names.is_empty() {
        return Ok(Update::Unchanged);
    }
    let fields = changed(table, stored, &slots)?;
    Ok(Update::Changed { fields, names: names.into() })
}

/// The value of a field after an update.
enum After<'j> {
    /// The stored one.
    Stored,
    Given(Option<Cow<'j, Json<'j>>>),
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
fn changed(
    table: &Table,
    stored: &StoredRecord<'_>,
    slots: &[After<'_>],
) -> Result<Vec<u8>, Vec<EntryFault>> {
    let mut checker = Checker::default();
    let mut fields = Vec::with_capacity(stored.bytes() + ROOM_BYTES);
    for (at, (field, after)) in table.fields.iter().zip(slots).enumerate() {
        match after {
            After::Given(None) => {}
            After::Given(Some(value)) => {
                check_count(&mut checker, field, value);
                write_field(field, value, &mut fields);
            }
            After::Stored => {
                if let Some(value) = stored.long_value(at) {
                    check_count(&mut checker, field, &value);
                }
                stored.copy(at, &mut fields);
            }
        }
    }
    let bytes = fields.len() + 2;
    if bytes > PROFILE_BYTES_MAX {
        let detail = format!(
            "the updated {} would have {bytes} bytes; at most {PROFILE_BYTES_MAX} are allowed",
            table.noun
        );
        checker.faults.push(EntryFault::new(EntryErrorCode::TooLarge, "", detail));
    }
    if checker.faults.is_empty() { Ok(fields) } else { Err(checker.faults) }
}

/// Checks how many elements a collection has after a merge.
fn check_count(checker: &mut Checker, field: &Field, value: &Json<'_>) {
    let path = ValuePath::field(field.name);
    match (field.rule, value) {
        (Rule::CustomFields, Json::Object(members)) => checker.count(&path, value, members.len()),
        (Rule::Identities, Json::Array(items)) => {
            checker.count(&path, value, items.len());
            for identity in items {
                metadata_count(checker, &path, identity);
            }
        }
        // Tags that an entry gives as a whole were counted before.
        (Rule::Tags, Json::Array(items)) if items.len() > COLLECTION_ELEMENTS_MAX => {
            let detail = format!(
                "the profile would have {} tags; at most {COLLECTION_ELEMENTS_MAX} are allowed",
                items.len()
            );
            checker.fault(EntryErrorCode::TooMany, &ValuePath::field(ADD_TAGS), value, detail);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::field::CORE;
    use super::super::record::write_fields;
    use super::*;
    use crate::json;

    /// A record with some fields, in the order of the table and with spaces. Maps, lists and texts
    /// have few members, so that records and patches share some.
    fn any_record(with_null: bool) -> impl Strategy<Value = String> {
        let null = if with_null { vec!["null"] } else { Vec::new() };
        let with_null = move |values: &[&'static str]| {
            let values: Vec<_> = values.iter().copied().chain(null.iter().copied()).collect();
            prop::option::of(prop::sample::select(values))
        };
        let maps = [r#"{"a":"x"}"#, r#"{"a":{"b":null},"c":1.50}"#, r#"{ "c" : "\u0041" }"#, "[]"];
        (
            with_null(&[r#"[{"uid":"a"}]"#, r#"[{"email":"b@c.de","verified":true},{"uid":"a"}]"#]),
            with_null(&[r#"["a","b\"c"]"#, "[]"]),
            with_null(&maps),
            with_null(&[r#""Berlin""#, r#""Gr\u00fc\u00dfe""#, r#""""#]),
            with_null(&["1", "1.0", "1e2"]),
        )
            .prop_map(|(identities, tags, map, city, age)| {
                let names = ["identities", "tags", "custom_fields", "last_city", "age"];
                let values = [identities, tags, map, city, age];
                let members: Vec<_> = names
                    .iter()
                    .zip(values)
                    .filter_map(|(name, value)| Some(format!("\"{name}\" : {}", value?)))
                    .collect();
                format!("{{{}}}", members.join(" , "))
            })
    }

    fn fields_of(record: &Json<'_>) -> Vec<u8> {
        let mut fields = Vec::new();
        write_fields(&CORE, &CORE.slots(record), &mut fields);
        fields
    }

    /// The fields text after a merge of whole records, and the fields that differ; `None` if none
    /// does.
    fn naive(stored: &[u8], patch: &Json<'_>) -> Option<(Vec<u8>, Vec<&'static str>)> {
        let text = format!("{{{}}}", String::from_utf8_lossy(stored));
        let before = json::parse(text.as_bytes()).expect("a stored record");
        let (slots, given) = (CORE.slots(&before), CORE.slots(patch));
        let members = CORE.fields.iter().zip(slots.iter().zip(given));
        let members = members.filter_map(|(field, (before, given))| {
            let value = match given {
                None => (*before)?.clone(),
                Some(given) => merge_patch(*before, given),
            };
            (value != Json::Null).then_some((field.name.into(), value))
        });
        let after = Json::Object(members.collect());
        let differing = CORE.fields.iter().map(|field| field.name).filter(|name| {
            match (before.get(name), after.get(name)) {
                (Some(before), Some(after)) => !before.same(after),
                (before, after) => before.is_some() != after.is_some(),
            }
        });
        let differing: Vec<_> = differing.collect();
        (!differing.is_empty()).then(|| (fields_of(&after), differing))
    }

    proptest! {
        #[test]
        fn an_update_equals_a_merge_of_whole_records(
            stored in any_record(false),
            patch in any_record(true),
        ) {
            let stored = fields_of(&json::parse(stored.as_bytes()).expect("a record"));
            let patch = json::parse(patch.as_bytes()).expect("a patch");
            let record = StoredRecord::of(&CORE, &stored);
            let updated = update(&CORE, &record, &patch, Lists::Replace, Numbers::ByDigits);
            let updated = match updated.expect("a record within the limits") {
                Update::Unchanged => None,
                Update::Changed { fields, names } => Some((fields, names)),
            };
            let wanted = naive(&stored, &patch).map(|(fields, names)| {
                (fields, names.into_iter().map(Cow::Borrowed).collect())
            });
            prop_assert_eq!(updated, wanted);
        }
    }

    #[test]
    fn collections_that_a_patch_leaves_alone_are_counted() {
        let elements = |count: usize, element: fn(usize) -> String| {
            (0..count).map(element).collect::<Vec<_>>().join(",")
        };
        let patch = json::parse(br#"{"age":3}"#).expect("a patch");
        for (count, allowed) in
            [(COLLECTION_ELEMENTS_MAX, true), (COLLECTION_ELEMENTS_MAX + 1, false)]
        {
            let identities = elements(count, |n| format!(r#"{{"uid":"{n}"}}"#));
            let custom_fields = elements(count, |n| format!(r#""{n}":0"#));
            for stored in [
                format!(r#""identities":[{identities}]"#),
                format!(r#""custom_fields":{{{custom_fields}}}"#),
            ] {
                let stored = StoredRecord::of(&CORE, stored.as_bytes());
                let outcome = update(&CORE, &stored, &patch, Lists::Replace, Numbers::ByDigits);
                assert_eq!(outcome.is_ok(), allowed);
            }
        }
    }
}
