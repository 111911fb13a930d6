//! The traces of a person in the stored blocks of a task. A store goes over all blocks of a task
//! twice: first it collects the indexes of the entries that hold the person, in the payload and
//! in the records, then it rewrites each block that has one of them. So an entry goes as a whole,
//! with its result and its error, whichever of the three names the person. Most blocks of most
//! tasks do not hold the person, and a search finds that out without parsing.

use super::entry::Erasure;
use super::person::Person;
use super::places;
use super::texts::Texts;
use crate::ids::CoreProfileId;
use crate::json::{self, Json, members_at};
use crate::named_view::query_values;
use crate::task::Action;

/// The parameters of the console's lists whose value may be the id of a core profile.
const PROFILE_PARAMETERS: [&str; 3] = ["person", "core-profile-id", "q"];

/// Looks for one person in blocks of tasks.
#[derive(Debug)]
pub struct Traces<'p> {
    pub(super) person: &'p Person,
    pub(super) texts: Texts,
}

impl<'p> Traces<'p> {
    pub fn of(person: &'p Person) -> Self {
        Self { person, texts: Texts::of(person) }
    }

    /// Whether the stored answer to a call holds the person.
    pub fn are_in_answer(&self, body: &[u8]) -> bool {
        self.texts.may_be_in(body) && self.are_in(body)
    }

    /// Whether a named view holds the person: its name or a value of its query has an identity or a
    /// pid, or a parameter that names a profile is one of theirs. In addresses written by hand, a
    /// plus may be a plus.
    pub fn are_in_view(&self, name: &str, query: &str) -> bool {
        let plain = query.replace('+', "%2B");
        let mut values = query_values(query).chain(query_values(&plain));
        self.texts.are_in(name.as_bytes())
            || values.any(|(parameter, value)| {
                self.texts.are_in(value.as_bytes())
                    || PROFILE_PARAMETERS.contains(&&*parameter) && self.is_profile(&value)
            })
    }

    fn is_profile(&self, text: &str) -> bool {
        let id = text.trim().parse().map(CoreProfileId);
        id.is_ok_and(|id| self.person.core_profile_ids.contains(&id))
    }

    /// Whether an entry is an erasure of the person that did not run to its end.
    pub(super) fn are_in_erasure(&self, action: Action, text: &[u8]) -> bool {
        action == Action::ErasePerson
            && Erasure::read(text).is_some_and(|other| other.person.shares_with(self.person))
    }

    /// Whether a map names the person, or a text other than a map contains an identity.
    pub(super) fn are_in(&self, text: &[u8]) -> bool {
        match json::parse(text) {
            Ok(map @ Json::Object(_)) => {
                let raw = map.get("raw").and_then(Json::as_str);
                places::name(self.person, &map)
                    || raw.is_some_and(|raw| self.texts.are_in(raw.as_bytes()))
            }
            _ => self.texts.are_in(text),
        }
    }

    /// Whether an entry or a record of an import is about an issue of the person.
    pub(super) fn are_issue_of(&self, action: Action, text: &[u8]) -> bool {
        let issue_ids = &self.person.issue_ids;
        if action != Action::ImportIssues || issue_ids.is_empty() {
            return false;
        }
        let start = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or_default();
        let id = members_at(text, start).find(|(key, _)| *key == b"id").map(|(_, id)| &text[id]);
        let digits =
            id.map(|id| id.strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\"")).unwrap_or(id));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        digits.and_then(|digits| digits.parse().ok()).is_some_and(|id| issue_ids.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IdentityKey;
    use crate::profile::IdentityType;

    #[test]
    fn a_view_holds_the_person_whom_its_name_or_a_value_of_its_query_has() {
        let identities = [
            IdentityKey::new(IdentityType::Email, "a+b@example.org"),
            IdentityKey::new(IdentityType::PhoneNumber, "+49 30 1234567"),
        ];
        let person = Person {
            identities: identities.into(),
            core_profile_ids: [CoreProfileId(12)].into(),
            pids: ["acme_profile_1".to_owned()].into(),
            ..Person::default()
        };
        let traces = Traces::of(&person);
        for (query, holds) in [
            ("state=new&author=A%2BB%40Example.org", true),
            ("author=a+b@example.org", true),
            ("text=mail+of+a%2Bb%40example.org", true),
            ("q=%2B49+30%2F1234567", true),
            ("user=acme_profile_1", true),
            ("person=12&state=new", true),
            ("page=12", false),
            ("person=123", false),
            ("author=xa%2Bb%40example.org", false),
            ("user=acme_profile_12", false),
            ("state=new&tags=gold", false),
        ] {
            assert_eq!(traces.are_in_view("Gold", query), holds, "{query}");
        }
        assert!(traces.are_in_view("Of a+b@example.org", ""));
    }
}
