//! Doubts about the identities of an entry that is good: a placeholder, and an e-mail address that
//! is hardly one. Both are warnings, because the value may be meant.

use super::checker::quoted;
use super::identity::{IdentityType, typed_value, warning};
use super::placeholders::Placeholders;
use crate::error_code::EntryWarningCode;
use crate::json::Json;
use crate::record::{EntryWarning, WARNINGS_MAX};

/// The warnings about the identities of a cleaned entry.
pub(super) fn doubts(entry: &Json<'_>, placeholders: &Placeholders) -> Vec<EntryWarning> {
    let Some(Json::Array(items)) = entry.get("identities") else { return Vec::new() };
    let doubts = items.iter().enumerate().filter_map(|(at, item)| {
        let (kind, value, text) = typed_value(item)?;
        let (code, detail) = doubt(kind, text, placeholders)?;
        Some(warning(code, (at, kind), detail, value))
    });
    doubts.take(WARNINGS_MAX).collect()
}

fn doubt(
    kind: IdentityType,
    text: &str,
    placeholders: &Placeholders,
) -> Option<(EntryWarningCode, String)> {
    if placeholders.have(kind, text) {
        let detail = format!(
            "{} is a placeholder, not a person: every entry with it is about the same profile; \
             leave the identity out if the person has none",
            quoted(text)
        );
        return Some((EntryWarningCode::Placeholder, detail));
    }
    let why = if kind == IdentityType::Email { not_an_address(text)? } else { return None };
    let detail = format!(
        "{} {why}; it was taken as it is, and only the same text finds this profile",
        quoted(text)
    );
    Some((EntryWarningCode::SuspiciousIdentity, detail))
}

/// Why a text is hardly one e-mail address.
fn not_an_address(text: &str) -> Option<&'static str> {
    if text.chars().any(char::is_whitespace) {
        return Some("has blanks inside, and no e-mail address has");
    }
    if text.contains([',', ';', '<', '>']) {
        return Some("looks like several addresses, or like one with a name");
    }
    match text.bytes().filter(|byte| *byte == b'@').count() {
        1 => None,
        0 => Some("has no @, as every e-mail address does"),
        _ => Some("has more than one @"),
    }
}
