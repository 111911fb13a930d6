//! Merges into the maps of an issue: `meta` by JSON merge patch (RFC 7396), custom fields key by
//! key, because the type and the value of a field belong together. Keys that stay keep their order
//! and their bytes; new ones go to the end.

use std::borrow::Cow;

use crate::json::{self, Json, write_map};

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

    /// The map of fields with this patch applied, and the part of the patch that changed something.
    pub(super) fn apply(&self, stored: &[u8]) -> (Vec<u8>, Self) {
        let Ok(Json::Object(mut fields)) = json::parse(stored) else {
            return (self.render_set(), self.clone());
        };
        let mut changed = Self::default();
        for (key, patch) in &self.0 {
            let at = fields.iter().position(|(known, _)| known == key);
            let field = patch.as_deref().and_then(|patch| json::parse(patch).ok());
            let same = match (&field, at) {
                (None, None) => true,
                (Some(field), Some(at)) => fields[at].1.same(field),
                _ => false,
            };
            if same {
                continue;
            }
            changed.0.push((key.clone(), patch.clone()));
            match (field, at) {
                (Some(field), Some(at)) => fields[at].1 = field,
                (Some(field), None) => fields.push((Cow::Borrowed(key), field)),
                (None, Some(at)) => drop(fields.remove(at)),
                (None, None) => {}
            }
        }
        let mut out = Vec::new();
        Json::Object(fields).write_to(&mut out);
        (out, changed)
    }
}

fn render<'f>(fields: impl Iterator<Item = (&'f str, Option<&'f [u8]>)>) -> Vec<u8> {
    let mut out = Vec::new();
    write_map(fields, &mut out, |_, field, out| out.extend_from_slice(field.unwrap_or(b"null")));
    out
}

/// `stored` with the merge patch `patch` applied; both are JSON maps.
pub(super) fn merge(stored: &[u8], patch: &[u8]) -> Vec<u8> {
    let stored = json::parse(stored).unwrap_or(Json::Null);
    let patch = json::parse(patch).unwrap_or(Json::Object(Vec::new()));
    let mut out = Vec::new();
    merged(stored, patch).write_to(&mut out);
    out
}

fn merged<'j>(stored: Json<'j>, patch: Json<'j>) -> Json<'j> {
    let Json::Object(patch) = patch else { return patch };
    let mut members = if let Json::Object(members) = stored { members } else { Vec::new() };
    for (key, value) in patch {
        let at = members.iter().position(|(known, _)| *known == key);
        match (value, at) {
            (Json::Null, Some(at)) => drop(members.remove(at)),
            (Json::Null, None) => {}
            (value, Some(at)) => {
                let before = std::mem::replace(&mut members[at].1, Json::Null);
                members[at].1 = merged(before, value);
            }
            (value, None) => members.push((key, merged(Json::Null, value))),
        }
    }
    Json::Object(members)
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
            let merged = merge(stored.as_bytes(), patch.as_bytes());
            assert_eq!(String::from_utf8_lossy(&merged), expected, "{stored} {patch}");
        }
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
        let (fields, changed) = patch.apply(stored);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            text(&fields),
            r#"{"b":{"type":"number","value":2.50},"c":{"type":"number","value":1e400}}"#
        );
        assert_eq!(text(&changed.render()), r#"{"a":null,"c":{"type":"number","value":1e400}}"#);
    }
}
