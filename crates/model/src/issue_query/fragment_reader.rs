//! Reading stored fragments just as far as filters need: which texts an issue has, and which custom
//! fields. Fragments are what this program rendered itself, so they are compact, and a member is
//! found by stepping over the ones before it. A fragment that is broken has nothing in it here;
//! finding those is the business of `caseload check`.

use crate::issue::FieldType;
use crate::json::{self, DEPTH_MAX, Json};

/// The fragments that have texts in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource {
    /// The bodies of all messages.
    Messages,
    /// The bodies of all private notes.
    Notes,
    /// The comment beside the rating.
    FeedbackComment,
}

impl TextSource {
    /// Shows every text in the fragment to `visit`, as it stands between its quotes, until that
    /// returns false.
    pub(crate) fn visit<'f>(self, fragment: &'f [u8], visit: &mut impl FnMut(&'f [u8]) -> bool) {
        match self {
            Self::Messages | Self::Notes => {
                elements(fragment, |element| text_member(element, b"body", visit));
            }
            Self::FeedbackComment => {
                text_member(fragment, b"feedback_comment", visit);
            }
        }
    }
}

/// Shows the text under `key` to `visit`; false where that returned false.
fn text_member<'f>(map: &'f [u8], key: &[u8], visit: &mut impl FnMut(&'f [u8]) -> bool) -> bool {
    let mut go_on = true;
    members(map, |name, value| {
        if name != key {
            return true;
        }
        if let [b'"', text @ .., b'"'] = value {
            go_on = visit(text);
        }
        false
    });
    go_on
}

/// A custom field of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredField<'f> {
    pub(crate) field_type: FieldType,
    /// Null where the field has none.
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

/// Shows the members of a map, with braces or without, to `visit`, until that returns false: the
/// key as it stands between its quotes, and the value.
pub(crate) fn members<'f>(map: &'f [u8], mut visit: impl FnMut(&'f [u8], &'f [u8]) -> bool) {
    let mut rest = map.strip_prefix(b"{").unwrap_or(map);
    while let Some((key, after)) = split(rest)
        && let [b'"', key @ .., b'"'] = key
        && let Some(after) = after.strip_prefix(b":")
        && let Some((value, after)) = split(after)
        && visit(key, value)
        && let Some(after) = after.strip_prefix(b",")
    {
        rest = after;
    }
}

/// Shows the elements of an array to `visit`, until that returns false.
fn elements<'f>(array: &'f [u8], mut visit: impl FnMut(&'f [u8]) -> bool) {
    let mut rest = array.strip_prefix(b"[").unwrap_or_default();
    while let Some((element, after)) = split(rest)
        && visit(element)
        && let Some(after) = after.strip_prefix(b",")
    {
        rest = after;
    }
}

/// The value at the start, and what stands behind it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = json::skip_value(bytes, DEPTH_MAX).ok()?;
    Some(bytes.split_at(end))
}
