//! Compares the content of issues: first the bytes of fragments, which are nearly always equal or
//! decide the matter, then JSON trees, in which the order of keys does not count and numbers are
//! equal if their digits are. Values that the domain fills in do not count: the default mode, and
//! the addresses of desk messages that an entry gives none. An entry that was made of rows of a
//! file is compared more loosely: numbers by their value, an empty value is none, and a name around
//! an address does not count.

use crate::issue::ISSUE_MODE_DEFAULT;
use crate::issue::fragments::IssueFragments;
use crate::json::{self, Json, Member, Numbers};
use crate::row::have_same_addresses;

/// The names of the fields in which a stored issue differs from a new one; empty if their content
/// is equal. `unaddressed` are the indices of the new messages whose addresses were filled in,
/// ascending.
pub(super) fn differences(
    a: &IssueFragments<'_>,
    b: &IssueFragments<'_>,
    unaddressed: &[usize],
    of_row: bool,
) -> Vec<String> {
    let mut names = Vec::new();
    members(Some(a.head), Some(b.head), of_row, &mut names);
    if !are_same_messages(a.messages, b.messages, unaddressed) {
        names.push("messages".to_owned());
    }
    for (name, a, b) in [
        ("meta", Some(a.meta), Some(b.meta)),
        ("custom_fields", Some(a.custom_fields), Some(b.custom_fields)),
        ("queue", a.queue, b.queue),
        ("private_notes", a.private_notes, b.private_notes),
        ("sentiment_analysis", a.sentiment_analysis, b.sentiment_analysis),
        ("smart_intents", a.smart_intents, b.smart_intents),
    ] {
        if !is_same(a, b, of_row) {
            names.push(name.to_owned());
        }
    }
    members(a.feedback, b.feedback, of_row, &mut names);
    members(a.predict_labels, b.predict_labels, of_row, &mut names);
    names
}

fn is_same(a: Option<&[u8]>, b: Option<&[u8]>, of_row: bool) -> bool {
    if a == b {
        return true;
    }
    match (parsed(a, of_row), parsed(b, of_row)) {
        (Some(a), Some(b)) => are_same(&a, &b, of_row),
        _ => false,
    }
}

fn parsed(value: Option<&[u8]>, of_row: bool) -> Option<Json<'_>> {
    match value.map(json::parse) {
        None if of_row => Some(Json::Null),
        Some(Ok(value)) => Some(if of_row { without_empty(value) } else { value }),
        _ => None,
    }
}

fn are_same(a: &Json<'_>, b: &Json<'_>, of_row: bool) -> bool {
    let numbers = if of_row { Numbers::ByValue } else { Numbers::ByDigits };
    a.same_by(b, numbers) || of_row && is_empty(a) && is_empty(b)
}

/// Whether both are addresses of an author that are the same without a name.
fn is_same_address((key, a): &Member<'_>, b: &Json<'_>) -> bool {
    let texts = a.as_str().zip(b.as_str());
    key == "author_email" && texts.is_some_and(|(a, b)| have_same_addresses(a, b))
}

/// Whether the cell of a value would be empty.
fn is_empty(value: &Json<'_>) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}

/// A map without the members that have no value: custom fields are maps of their type and value.
fn without_empty(value: Json<'_>) -> Json<'_> {
    let Json::Object(mut members) = value else { return value };
    members.retain(|(_, member)| !is_empty(member.get("value").unwrap_or(member)));
    Json::Object(members)
}

/// Whether two arrays of messages are equal, apart from the addresses of the authors of
/// `unaddressed` ones.
fn are_same_messages(a: &[u8], b: &[u8], unaddressed: &[usize]) -> bool {
    if is_same(Some(a), Some(b), false) {
        return true;
    }
    let (Ok(Json::Array(mut a)), Ok(Json::Array(mut b))) = (json::parse(a), json::parse(b)) else {
        return false;
    };
    if unaddressed.is_empty() || a.len() != b.len() {
        return false;
    }
    for n in unaddressed {
        for list in [&mut a, &mut b] {
            if let Some(message) = list.get_mut(*n) {
                remove_address(message);
            }
        }
    }
    a.iter().zip(&b).all(|(a, b)| a.same(b))
}

/// Removes the addresses of a message's author.
fn remove_address(message: &mut Json<'_>) {
    let Json::Object(members) = message else { return };
    for (_, author) in members.iter_mut().filter(|(key, _)| key == "author") {
        if let Json::Object(author) = author {
            author.retain(|(key, _)| key != "emails");
        }
    }
}

/// Whether a member has the value that an issue without it shows.
fn is_default((key, value): &Member<'_>) -> bool {
    let mode = value.get("issue_mode").and_then(Json::as_str);
    key == "issue_mode_data" && mode == Some(ISSUE_MODE_DEFAULT)
}

/// Compares two runs of members without braces, name by name.
fn members(a: Option<&[u8]>, b: Option<&[u8]>, of_row: bool, names: &mut Vec<String>) {
    if a == b {
        return;
    }
    let wrap = |run: Option<&[u8]>| [b"{", run.unwrap_or_default(), b"}"].concat();
    let (a, b) = (wrap(a), wrap(b));
    let (Ok(Json::Object(a)), Ok(Json::Object(b))) = (json::parse(&a), json::parse(&b)) else {
        names.push("an unreadable stored issue".to_owned());
        return;
    };
    let find = |members: &[Member<'_>], key: &str| members.iter().position(|(k, _)| k == key);
    for member in &a {
        let (key, value) = member;
        let is_equal = find(&b, key).map_or_else(
            || is_default(member) || of_row && is_empty(value),
            |n| are_same(value, &b[n].1, of_row) || of_row && is_same_address(member, &b[n].1),
        );
        if !is_equal {
            names.push(key.clone().into_owned());
        }
    }
    let is_added = |member: &&Member<'_>| {
        find(&a, &member.0).is_none() && !is_default(member) && !(of_row && is_empty(&member.1))
    };
    let added = b.iter().filter(is_added);
    names.extend(added.map(|(key, _)| key.clone().into_owned()));
}
