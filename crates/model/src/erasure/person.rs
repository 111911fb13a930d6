//! The person of an erasure: everything by which their records are known. It is stored with the
//! task, so that a run that begins again erases the same person, whose profiles may be gone by
//! then. Invariant: a person that is written and read is the same person.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::ids::{CoreProfileId, IdentityKey};
use crate::issue::{TermKind, text_term};
use crate::json::{self, Json, write_array, write_string};
use crate::profile::{IdentityType, Placeholders};

/// Replaces a text that was redacted.
pub const REDACTED: &str = "[redacted]";

/// A person. Identities are in the form in which they are compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// Those of the core profiles, and the addresses of the app profiles and of authored issues.
    pub identities: BTreeSet<IdentityKey>,
    pub core_profile_ids: BTreeSet<CoreProfileId>,
    /// Those of the app profiles, and `hs_user_id` of authored issues.
    pub pids: BTreeSet<String>,
    /// The issues that the person is the author of.
    pub issue_ids: BTreeSet<u64>,
}

impl Person {
    /// Whether nothing is known of the person.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many identities and ids are known.
    pub fn len(&self) -> usize {
        let Self { identities, core_profile_ids, pids, issue_ids } = self;
        identities.len() + core_profile_ids.len() + pids.len() + issue_ids.len()
    }

    /// Adds identities and records of the same person.
    pub fn extend(&mut self, other: Self) {
        self.identities.extend(other.identities);
        self.core_profile_ids.extend(other.core_profile_ids);
        self.pids.extend(other.pids);
        self.issue_ids.extend(other.issue_ids);
    }

    /// Drops the identities and the pids that many people may have: placeholders, and the mark of a
    /// redacted author. Through one of them, strangers would be erased.
    pub fn drop_placeholders(&mut self, placeholders: &Placeholders) {
        self.identities.retain(|key| {
            let kind = IdentityType::from_code(key.type_code());
            let value = std::str::from_utf8(key.value());
            !kind.zip(value.ok()).is_some_and(|(kind, value)| placeholders.have(kind, value))
        });
        self.pids.retain(|pid| !pid.is_empty() && pid != REDACTED);
    }

    /// The terms of the issues that the person is the author of.
    pub fn author_terms(&self) -> [(TermKind, Vec<Vec<u8>>); 2] {
        let emails = self.identities.iter().filter(|key| key.is(IdentityType::Email));
        let emails = emails.filter_map(|key| std::str::from_utf8(key.value()).ok());
        let terms = |texts: &mut dyn Iterator<Item = &str>| texts.map(text_term).collect();
        [
            (TermKind::EndUser, terms(&mut self.pids.iter().map(String::as_str))),
            (TermKind::AuthorEmail, terms(&mut emails.into_iter())),
        ]
    }

    /// Whether an identity or an id is one of another person, too.
    pub(super) fn shares_with(&self, other: &Self) -> bool {
        !self.identities.is_disjoint(&other.identities)
            || !self.core_profile_ids.is_disjoint(&other.core_profile_ids)
            || !self.pids.is_disjoint(&other.pids)
            || !self.issue_ids.is_disjoint(&other.issue_ids)
    }

    pub fn has_pid(&self, pid: &str) -> bool {
        self.pids.contains(pid)
    }

    pub fn has_identity(&self, kind: IdentityType, value: &str) -> bool {
        let key = IdentityKey::of_text(kind, value);
        key.is_ok_and(|key| self.identities.contains(&key))
    }

    pub fn has_email(&self, address: &str) -> bool {
        self.has_identity(IdentityType::Email, address)
    }

    /// Whether the author of a message is this person.
    pub(crate) fn is_named_by(&self, author: &Json<'_>) -> bool {
        let has_email = match author.get("emails") {
            Some(Json::Array(emails)) => {
                emails.iter().filter_map(Json::as_str).any(|email| self.has_email(email))
            }
            _ => false,
        };
        has_email || author.get("id").and_then(Json::as_str).is_some_and(|pid| self.has_pid(pid))
    }

    /// Appends the stored form, a JSON map.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"identities\":");
        // A key need not be UTF-8.
        write_array(&self.identities, out, |key, out| {
            write_string(&STANDARD.encode(key.as_bytes()), out);
        });
        write_ids(self, out);
        out.push(b'}');
    }

    /// The person whose stored form this is; `None` if it is damaged.
    pub fn read(stored: &[u8]) -> Option<Self> {
        Self::of_json(&json::parse(stored).ok()?)
    }

    pub(super) fn of_json(json: &Json<'_>) -> Option<Self> {
        let items = |name| match json.get(name) {
            Some(Json::Array(items)) => Some(items.iter()),
            _ => None,
        };
        let key = |item: &Json<'_>| IdentityKey::from_bytes(&STANDARD.decode(item.as_str()?).ok()?);
        let number = |item: &Json<'_>| match item {
            Json::Number(digits) => digits.parse().ok(),
            other => other.as_str()?.parse().ok(),
        };
        Some(Self {
            identities: items("identities")?.map(key).collect::<Option<_>>()?,
            core_profile_ids: items("core_profile_ids")?
                .map(|item| number(item).map(CoreProfileId))
                .collect::<Option<_>>()?,
            pids: items("pids")?
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            issue_ids: items("issue_ids")?.map(number).collect::<Option<_>>()?,
        })
    }
}

/// Appends the members `core_profile_ids`, `pids` and `issue_ids`, each after a comma.
pub(super) fn write_ids(person: &Person, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"core_profile_ids\":");
    write_array(&person.core_profile_ids, out, |id, out| write_string(&id.to_string(), out));
    out.extend_from_slice(b",\"pids\":");
    write_array(&person.pids, out, |pid, out| write_string(pid, out));
    out.extend_from_slice(b",\"issue_ids\":");
    write_array(&person.issue_ids, out, |id, out| out.extend_from_slice(id.to_string().as_bytes()));
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn ada() -> Person {
        let long = "u".repeat(2000);
        Person {
            identities: [
                IdentityKey::new(IdentityType::Email, "Ada@Example.ORG"),
                IdentityKey::new(IdentityType::PhoneNumber, "0049 (30) 123-45"),
                IdentityKey::new(IdentityType::Uid, &long),
            ]
            .into(),
            core_profile_ids: [CoreProfileId(7), CoreProfileId(u64::MAX)].into(),
            pids: ["acme_profile_\"1\"\u{0}".to_owned(), String::new()].into(),
            issue_ids: [1, (1 << 53) - 1].into(),
        }
    }

    #[test]
    fn a_person_that_is_written_is_read_again() {
        for person in [ada(), Person::default()] {
            let mut stored = Vec::new();
            person.write(&mut stored);
            assert_eq!(Person::read(&stored), Some(person));
        }
    }

    #[test]
    fn a_damaged_person_is_not_read_as_another_one() {
        let mut stored = Vec::new();
        ada().write(&mut stored);
        let text = String::from_utf8(stored).unwrap();
        for (part, damage) in
            [("\"pids\"", "\"pid\""), ("[1,", "[-1,"), ("[\"7\",", "[\"x\","), ("[\"A", "[\"!")]
        {
            let damaged = text.replacen(part, damage, 1);
            assert_ne!(damaged, text);
            assert_eq!(Person::read(damaged.as_bytes()), None, "{damaged}");
        }
        assert_eq!(Person::read(&text.as_bytes()[..text.len() - 1]), None);
    }

    #[test]
    fn identities_are_compared_as_profiles_compare_them() {
        let ada = ada();
        assert!(ada.has_email("  aDA@example.org\u{a0}"));
        assert!(ada.has_identity(IdentityType::PhoneNumber, "'+49 30 12345"));
        assert!(!ada.has_identity(IdentityType::Uid, "ada@example.org"));
        assert!(!ada.has_email(""));
    }
}
