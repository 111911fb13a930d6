//! Reads stored fragments as far as filters need: the texts of an issue and its custom fields. This
//! program rendered the fragments, so they are compact, and a member is found by skipping those
//! before it. A broken fragment counts as empty here; `caseload check` reports it.

use crate::issue::FieldType;
use crate::json::{self, DEPTH_MAX, Json};

/// The searchable texts of an issue, by the fragment that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource {
    /// The title, unless it is empty. It is in the head.
    Title,
    /// The bodies of all messages.
    Messages,
    /// The bodies of all private notes.
    Notes,
    /// The comment that goes with the rating.
    FeedbackComment,
}

impl TextSource {
    /// Passes each text of the fragment to `visit`, as it is between its quotes, until `visit`
    /// returns false.
    pub(crate) fn visit<'f>(self, fragment: &'f [u8], visit: &mut impl FnMut(&'f [u8]) -> bool) {
        match self {
            Self::Title => {
                text_member(fragment, b"title", &mut |text| text.is_empty() || visit(text));
            }
            Self::Messages | Self::Notes => {
                texts_of_each(fragment, b"body", visit);
            }
            Self::FeedbackComment => {
                text_member(fragment, b"feedback_comment", visit);
            }
        }
    }
}

/// Passes the text under `key` to `visit`.
fn text_member<'f>(map: &'f [u8], key: &[u8], visit: &mut impl FnMut(&'f [u8]) -> bool) {
    members(map, |name, value| {
        if name != key {
            return true;
        }
        if let [b'"', text @ .., b'"'] = value {
            visit(text);
        }
        false
    });
}

/// A custom field of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredField<'f> {
    pub(crate) field_type: FieldType,
    /// Null if the field has no value.
    pub(crate) value: Json<'f>,
}

/// Reads one field, `{"type":…,"value":…}`.
pub(crate) fn stored_field(field: &[u8]) -> Option<StoredField<'_>> {
    let Ok(Json::Object(members)) = json::parse(field) else { return None };
    let mut field_type = None;
    let mut value = Json::Null;
    for (name, given) in members {
        match &*name {
            "type" => field_type = given.as_str().and_then(FieldType::parse),
            "value" => value = given,
            _ => {}
        }
    }
    Some(StoredField { field_type: field_type?, value })
}

/// Passes the members of a map, with or without braces, to `visit` until it returns false: the key
/// as it is between its quotes, and the value. The bytes after the last member, if all were passed.
pub(crate) fn members<'f>(
    map: &'f [u8],
    mut visit: impl FnMut(&'f [u8], &'f [u8]) -> bool,
) -> &'f [u8] {
    let mut rest = map.strip_prefix(b"{").unwrap_or(map);
    while let Some((key, after)) = split(rest)
        && let [b'"', key @ .., b'"'] = key
        && let Some(after) = after.strip_prefix(b":")
        && let Some((value, after)) = split(after)
    {
        rest = after;
        if !visit(key, value) {
            break;
        }
        let Some(after) = after.strip_prefix(b",") else { break };
        rest = after;
    }
    rest
}

/// Passes the text under `key` of each map of an array to `visit`, until it returns false. The
/// array is read once.
fn texts_of_each<'f>(array: &'f [u8], key: &[u8], visit: &mut impl FnMut(&'f [u8]) -> bool) {
    let mut rest = array.strip_prefix(b"[").unwrap_or_default();
    while rest.starts_with(b"{") {
        let (mut go_on, mut is_found) = (true, false);
        let end = members(rest, |name, value| {
            if name == key && !is_found {
                is_found = true;
                if let [b'"', text @ .., b'"'] = value {
                    go_on = visit(text);
                }
            }
            go_on
        });
        let next = end.strip_prefix(b"}").and_then(|end| end.strip_prefix(b","));
        let Some(next) = next.filter(|_| go_on) else { return };
        rest = next;
    }
}

/// The value at the start, and the bytes after it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = json::skip_value(bytes, DEPTH_MAX).ok()?;
    Some(bytes.split_at(end))
}
