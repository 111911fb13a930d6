//! Merges into the maps of an issue: `meta` by JSON merge patch (RFC 7396), custom fields key by
//! key, because the type and the value of a field belong together. Keys that stay keep their order
//! and their bytes; new ones go to the end.

use std::borrow::Cow;
use std::collections::HashMap;

use super::record::IssueWriteError;
use crate::issue::IssuePart;
use crate::issue::limits::count_keys;
use crate::json::{self, Json, Member, write_map};

/// With more keys in a patch, searching the stored map for each one by one is too slow.
const SEARCHED_KEYS_MAX: usize = 16;

/// The members of a stored map while a patch is applied. Removed members leave a gap, so that no
/// step moves the others. Invariant: one step takes the same time however large the map is.
struct Changing<'j> {
    members: Vec<Option<Member<'j>>>,
    /// The positions of the stored members, if the patch has many keys.
    positions: Option<HashMap<Cow<'j, str>, usize>>,
}

impl<'j> Changing<'j> {
    /// Begins a patch with so many keys, each of which occurs once.
    fn new(stored: Vec<Member<'j>>, keys: usize) -> Self {
        let positions = (keys > SEARCHED_KEYS_MAX)
            .then(|| stored.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect());
        Self { members: stored.into_iter().map(Some).collect(), positions }
    }

    /// The position of a stored member.
    fn position(&self, key: &str) -> Option<usize> {
        match &self.positions {
            Some(positions) => positions.get(key).copied(),
            None => self
                .members
                .iter()
                .position(|member| member.as_ref().is_some_and(|(known, _)| known == key)),
        }
    }

    /// The value of the stored member at `at`.
    fn value(&self, at: usize) -> Option<&Json<'j>> {
        self.members[at].as_ref().map(|(_, value)| value)
    }

    /// Takes the stored value out, which leaves null in its place.
    fn take(&mut self, at: usize) -> Json<'j> {
        let value = self.members[at].as_mut().map(|(_, value)| value);
        value.map_or(Json::Null, |value| std::mem::replace(value, Json::Null))
    }

    /// Sets the value of the stored member at `at`, or adds a member.
    fn set(&mut self, at: Option<usize>, key: Cow<'j, str>, value: Json<'j>) {
        match at {
            Some(at) => self.members[at] = Some((key, value)),
            None => self.members.push(Some((key, value))),
        }
    }

    fn remove(&mut self, at: usize) {
        self.members[at] = None;
    }

    fn into_map(self) -> Json<'j> {
        Json::Object(self.members.into_iter().flatten().collect())
    }
}

/// Custom fields to set, as rendered maps of `type` and `value`, or to remove; in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomFieldPatch(pub(super) Vec<(String, Option<Vec<u8>>)>);

impl CustomFieldPatch {
    /// The patch as a JSON map; a field to remove is null.
    pub(super) fn render(&self) -> Vec<u8> {
        render(self.0.iter().map(|(key, field)| (key.as_str(), field.as_deref())))
    }

    /// The fields of a new issue.
    pub(super) fn render_set(&self) -> Vec<u8> {
        let set = self.0.iter().filter(|(_, field)| field.is_some());
        render(set.map(|(key, field)| (key.as_str(), field.as_deref())))
    }

    /// The map of fields with this patch applied, and the part of the patch that changed something;
    /// an error if the patch leaves more fields than an issue may have.
    pub(super) fn apply(&self, stored: &[u8]) -> Result<(Vec<u8>, Self), IssueWriteError> {
        let Ok(Json::Object(fields)) = json::parse(stored) else {
            return Ok((self.render_set(), self.clone()));
        };
        let before = fields.len();
        let mut fields = Changing::new(fields, self.0.len());
        let mut changed = Self::default();
        for (key, patch) in &self.0 {
            let at = fields.position(key);
            let field = patch.as_deref().and_then(|patch| json::parse(patch).ok());
            let same = match (&field, at) {
                (None, None) => true,
                (Some(field), Some(at)) => fields.value(at).is_some_and(|known| known.same(field)),
                _ => false,
            };
            if same {
                continue;
            }
            changed.0.push((key.clone(), patch.clone()));
            match (field, at) {
                (Some(field), at) => fields.set(at, Cow::Borrowed(key), field),
                (None, Some(at)) => fields.remove(at),
                (None, None) => {}
            }
        }
        let mut out = Vec::new();
        let fields = fields.into_map();
        let after = if let Json::Object(members) = &fields { members.len() } else { 0 };
        require_room(IssuePart::CustomFields, before, after)?;
        fields.write_to(&mut out);
        Ok((out, changed))
    }
}

fn render<'f>(fields: impl Iterator<Item = (&'f str, Option<&'f [u8]>)>) -> Vec<u8> {
    let mut out = Vec::new();
    write_map(fields, &mut out, |_, field, out| out.extend_from_slice(field.unwrap_or(b"null")));
    out
}

/// `stored` with the merge patch `patch` applied; both are JSON maps. An error if that leaves more
/// keys than the `meta` of an issue may have.
pub(super) fn merge(stored: &[u8], patch: &[u8]) -> Result<Vec<u8>, IssueWriteError> {
    let stored = json::parse(stored).unwrap_or(Json::Null);
    let patch = json::parse(patch).unwrap_or(Json::Object(Vec::new()));
    let before = count_keys(&stored, true);
    let merged = merged(stored, patch);
    require_room(IssuePart::MetaKeys, before, count_keys(&merged, true))?;
    let mut out = Vec::new();
    merged.write_to(&mut out);
    Ok(out)
}

/// Refuses a change that leaves too many of a part. An issue that had too many before may have
/// them after it.
pub(super) fn require_room(
    part: IssuePart,
    before: usize,
    after: usize,
) -> Result<(), IssueWriteError> {
    if after > part.limit() && after > before {
        return Err(IssueWriteError::TooMany { part, count: after });
    }
    Ok(())
}

fn merged<'j>(stored: Json<'j>, patch: Json<'j>) -> Json<'j> {
    let Json::Object(patch) = patch else { return patch };
    let members = if let Json::Object(members) = stored { members } else { Vec::new() };
    let mut members = Changing::new(members, patch.len());
    for (key, value) in patch {
        let at = members.position(&key);
        match (value, at) {
            (Json::Null, Some(at)) => members.remove(at),
            (Json::Null, None) => {}
            (value, at) => {
                let before = at.map_or(Json::Null, |at| members.take(at));
                members.set(at, key, merged(before, value));
            }
        }
    }
    members.into_map()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_sets_and_removes_key_by_key() {
        for (stored, patch, expected) in [
            ("{}", r#"{"a":"1"}"#, r#"{"a":"1"}"#),
            (r#"{"a":"1","b":"2"}"#, r#"{"a":null}"#, r#"{"b":"2"}"#),
            (r#"{"a":"1","b":"2"}"#, r#"{"b":"3","c":"4"}"#, r#"{"a":"1","b":"3","c":"4"}"#),
            (r#"{"a":{"x":"1"}}"#, r#"{"a":{"y":"2"}}"#, r#"{"a":{"x":"1","y":"2"}}"#),
            (r#"{"a":{"x":"1"}}"#, r#"{"a":"2"}"#, r#"{"a":"2"}"#),
            (r#"{"a":"1"}"#, r#"{"a":{"y":null,"z":"1"}}"#, r#"{"a":{"z":"1"}}"#),
            (r#"{"a":["1"]}"#, r#"{"a":["2","3"]}"#, r#"{"a":["2","3"]}"#),
            (r#"{"a":null}"#, r#"{"b":null}"#, r#"{"a":null}"#),
        ] {
            let merged = merge(stored.as_bytes(), patch.as_bytes()).expect("few keys");
            assert_eq!(String::from_utf8_lossy(&merged), expected, "{stored} {patch}");
        }
    }

    #[test]
    fn a_map_over_its_limit_may_become_smaller_but_not_larger() {
        let map = |keys: usize| {
            let members: Vec<String> = (0..keys).map(|n| format!("\"k{n}\":\"1\"")).collect();
            format!("{{{}}}", members.join(","))
        };
        let limit = IssuePart::MetaKeys.limit();
        let (full, over) = (map(limit), map(limit + 5));
        let after = |stored: &str, patch: &str| merge(stored.as_bytes(), patch.as_bytes());
        assert!(after(&full, r#"{"k1":"2"}"#).is_ok(), "no key more");
        assert!(after(&full, r#"{"k1":null,"x":"2"}"#).is_ok(), "one for another");
        assert!(after(&over, r#"{"k1":null}"#).is_ok(), "smaller");
        assert!(after(&over, r#"{"k1":"2"}"#).is_ok(), "as large as before");
        for (stored, patch) in [(&full, r#"{"x":"2"}"#), (&over, r#"{"k1":{"x":"2"}}"#)] {
            let refused = after(stored, patch);
            assert!(matches!(refused, Err(IssueWriteError::TooMany { .. })), "{patch}");
        }
    }

    #[test]
    fn a_patch_of_many_keys_means_the_same_as_one_of_few() {
        let map = |range: std::ops::Range<u32>, value: &str| {
            let members: Vec<String> = range.map(|n| format!("\"k{n}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let stored = map(0..60, "\"1\"");
        let set = merge(stored.as_bytes(), map(50..80, "\"2\"").as_bytes()).expect("few keys");
        let expected = [map(0..50, "\"1\""), map(50..80, "\"2\"")].join(",").replace("},{", ",");
        assert_eq!(String::from_utf8_lossy(&set), expected);
        let removed = merge(&set, map(10..80, "null").as_bytes()).expect("few keys");
        assert_eq!(String::from_utf8_lossy(&removed), map(0..10, "\"1\""));
    }

    #[test]
    fn a_custom_field_is_replaced_whole_and_only_changes_are_reported() {
        let stored = br#"{"a":{"type":"number","value":1},"b":{"type":"number","value":2.50}}"#;
        let field = |text: &str| Some(text.as_bytes().to_vec());
        let patch = CustomFieldPatch(vec![
            ("a".to_owned(), None),
            ("b".to_owned(), field(r#"{"type":"number","value":2.50}"#)),
            ("c".to_owned(), field(r#"{"type":"number","value":1e400}"#)),
            ("d".to_owned(), None),
        ]);
        let (fields, changed) = patch.apply(stored).expect("few fields");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            text(&fields),
            r#"{"b":{"type":"number","value":2.50},"c":{"type":"number","value":1e400}}"#
        );
        assert_eq!(text(&changed.render()), r#"{"a":null,"c":{"type":"number","value":1e400}}"#);
    }
}
