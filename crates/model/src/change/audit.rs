//! The audit log of an issue, for clients of the API family: a change is shown as one entry for
//! each thing that it changed, under an action with a name of its own.

use super::{Author, Change, ChangeAction, wire::write_author};
use crate::error_code::ErrorCode;
use crate::issue_query::SortOrder;
use crate::json::{elements_at, members_at, write_array, write_string};
use crate::parameters::{Bound, ParameterFault, Parameters};
use crate::time::UnixMillis;

/// The parameters of an audit log.
pub const AUDIT_PARAMETERS: [&str; 6] =
    ["sort-order", "actions", "since", "until", "page", "page-size"];
/// The most entries on a page.
pub const AUDIT_PAGE_SIZE_MAX: u64 = 500;
/// The entries on a page without a page size, or with one out of range, as clients know it.
pub const AUDIT_PAGE_SIZE_DEFAULT: u64 = 200;
/// The names of all actions.
pub const AUDIT_ACTIONS: [&str; 13] = [
    "create-issue",
    "update-issue",
    "update-state",
    "update-assignee",
    "update-queue",
    "update-title",
    "add-tags",
    "remove-tags",
    "add-messages",
    "add-private-notes",
    "redact-issue",
    "erase-issue",
    "delete-issue",
];
/// Fields with an old and a new value, and the actions that name them.
const VALUES: [(&str, &str); 4] = [
    ("state", "update-state"),
    ("assignee_id", "update-assignee"),
    ("queue", "update-queue"),
    ("title", "update-title"),
];
/// Fields to which something is added: the member of the change that has it, its name in an entry,
/// and the action.
const ADDED: [(&str, &str, &str, &str); 2] = [
    ("messages", "messages.added", "message_ids", "add-messages"),
    ("private_notes", "private_notes.added", "count", "add-private-notes"),
];

/// Which entries of an audit log are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRequest {
    pub order: SortOrder,
    /// Only entries with one of these actions.
    pub actions: Option<Vec<&'static str>>,
    pub since: Option<UnixMillis>,
    pub until: Option<UnixMillis>,
    /// From 1.
    pub page: u64,
    pub page_size: u64,
}

/// Reads the parameters: decoded, otherwise as the caller sent them.
pub fn parse_audit(pairs: &[(String, String)]) -> Result<AuditRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &AUDIT_PARAMETERS);
    let orders = [("asc", SortOrder::Ascending), ("desc", SortOrder::Descending)];
    let request = AuditRequest {
        order: parameters.word("sort-order", &orders).unwrap_or(SortOrder::Descending),
        actions: parameters.words("actions", &AUDIT_ACTIONS.map(|action| (action, action))),
        since: parameters.bound("since", Bound::Since),
        until: parameters.bound("until", Bound::Until),
        page: parameters.number("page").unwrap_or(1),
        page_size: parameters
            .number("page-size")
            .filter(|size| (1..=AUDIT_PAGE_SIZE_MAX).contains(size))
            .unwrap_or(AUDIT_PAGE_SIZE_DEFAULT),
    };
    if let (0, Some((spelled, _))) = (request.page, parameters.get("page")) {
        parameters.fault(spelled, ErrorCode::OutOfRange, "0 is out of range: pages count from 1");
    }
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

impl AuditRequest {
    /// The entries of a change of an issue that are asked for, each as a JSON map, in the order of
    /// the fields.
    pub fn entries(&self, change: &Change) -> Vec<Vec<u8>> {
        let in_span = self.since.is_none_or(|since| change.at >= since)
            && self.until.is_none_or(|until| change.at <= until);
        if !in_span {
            return Vec::new();
        }
        let is_wanted =
            |action: &str| self.actions.as_ref().is_none_or(|actions| actions.contains(&action));
        let wanted = parts(change).into_iter().filter(|(action, _)| is_wanted(action));
        wanted.map(|(action, data)| entry(change, action, &data)).collect()
    }
}

fn entry(change: &Change, action: &str, data: &[u8]) -> Vec<u8> {
    let mut out = format!("{{\"action_taken_at\":{},\"action\":", change.at.0).into_bytes();
    write_string(action, &mut out);
    if *change.by == Author::Unknown {
        out.extend_from_slice(b",\"action_owner\":null");
    } else {
        write_author("action_owner", &change.by, change.effect.index, &mut out);
    }
    out.extend_from_slice(b",\"data\":{");
    out.extend_from_slice(data);
    out.extend_from_slice(b"}}");
    out
}

/// The parts of a change: each action with the members of its data.
fn parts(change: &Change) -> Vec<(&'static str, Vec<u8>)> {
    let effect = &change.effect;
    match effect.action {
        ChangeAction::Created => return vec![("create-issue", Vec::new())],
        ChangeAction::Deleted => return vec![("delete-issue", Vec::new())],
        ChangeAction::Redacted => return vec![("redact-issue", Vec::new())],
        ChangeAction::Erased => return vec![("erase-issue", Vec::new())],
        // Tasks are completed and keys revoked.
        ChangeAction::Updated | ChangeAction::Completed | ChangeAction::Revoked => {}
    }
    let values = [b"{", effect.values.as_slice(), b"}"].concat();
    let value = |name: &str| {
        let found = members_at(&values, 0).find(|(key, _)| *key == name.as_bytes());
        found.map(|(_, place)| &values[place])
    };
    let mut found = Vec::new();
    // The fields of which only the name is known.
    let mut others = Vec::new();
    for field in effect.fields.iter() {
        let before = found.len();
        if field == "tags" {
            found.extend(value("tags").into_iter().flat_map(tag_parts));
        } else if let Some((_, action)) = VALUES.iter().find(|(name, _)| name == field) {
            let inside = value(field).and_then(|map| map.get(1..map.len() - 1));
            found.extend(inside.map(|members| (*action, members.to_vec())));
        } else if let Some((_, member, name, action)) = ADDED.iter().find(|(of, ..)| of == field) {
            found.extend(value(member).map(|added| (*action, as_member(name, added))));
        }
        if found.len() == before {
            others.push(&**field);
        }
    }
    if found.is_empty() || !others.is_empty() {
        let mut names = Vec::new();
        write_array(others, &mut names, write_string);
        found.push(("update-issue", as_member("fields", &names)));
    }
    found
}

/// The tags that were added and those that were removed, from the old and the new list.
fn tag_parts(value: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let list = |side: &[u8]| -> Vec<&[u8]> {
        let found = members_at(value, 0).find(|(key, _)| *key == side);
        let tags = found.into_iter().flat_map(|(_, list)| elements_at(value, list.start));
        tags.map(|tag| &value[tag]).collect()
    };
    let (from, to) = (list(b"from"), list(b"to"));
    let without = |these: &[&[u8]], others: &[&[u8]]| {
        let left = these.iter().filter(|tag| !others.contains(tag));
        let mut out = Vec::new();
        write_array(left, &mut out, |tag, out| out.extend_from_slice(tag));
        out
    };
    let parts = [("add-tags", without(&to, &from)), ("remove-tags", without(&from, &to))];
    let changed = parts.into_iter().filter(|(_, tags)| tags != b"[]");
    changed.map(|(action, tags)| (action, as_member("tags", &tags))).collect()
}

fn as_member(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(name, &mut out);
    out.push(b':');
    out.extend_from_slice(value);
    out
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
