//! The places of entries and records where profiles and issues name people: identities, ids of
//! profiles, the author of an issue and of its messages. They are found in any entry or record,
//! also in a part to which the field does not belong, because rejected entries are stored, too.
//! An erasure leaves addresses in other places alone: in custom fields of others, notes, `cc`, tags
//! and messages of the desk.

use super::person::Person;
use crate::json::{Json, Member};
use crate::profile::IdentityType;

/// The origin of a message of the desk.
const DESK: &str = "helpshift";

/// Whether the value names the person.
pub(super) fn name(person: &Person, value: &Json<'_>) -> bool {
    match value {
        Json::Object(members) => is_named_in(person, members),
        Json::Array(items) => items.iter().any(|item| name(person, item)),
        _ => false,
    }
}

fn is_named_in(person: &Person, members: &[Member<'_>]) -> bool {
    let is_of_desk =
        members.iter().any(|(key, value)| key == "origin" && value.as_str() == Some(DESK));
    !is_of_desk && members.iter().any(|(key, value)| is_named_by(person, key, value))
}

fn is_named_by(person: &Person, key: &str, value: &Json<'_>) -> bool {
    let text = value.as_str();
    match key {
        "custom_fields" | "meta" | "private_notes" => false,
        "core-profile-id" => {
            let digits = if let Json::Number(digits) = value { Some(*digits) } else { text };
            let id = digits.and_then(|digits| digits.parse().ok()).map(crate::ids::CoreProfileId);
            id.is_some_and(|id| person.core_profile_ids.contains(&id))
        }
        "pid" | "hs_user_id" => text.is_some_and(|pid| person.has_pid(pid)),
        "author_email" => text.is_some_and(|address| person.has_email(address)),
        "author" => person.is_named_by(value) || name(person, value),
        _ => match (IdentityType::parse(key), text) {
            (Some(kind), Some(text)) => person.has_identity(kind, text),
            (None, _) if key == "emails" => is_named_in_list(person, value),
            _ => name(person, value),
        },
    }
}

fn is_named_in_list(person: &Person, value: &Json<'_>) -> bool {
    let Json::Array(items) = value else { return false };
    items.iter().filter_map(Json::as_str).any(|address| person.has_email(address))
}
