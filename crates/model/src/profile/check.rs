//! Applies the rules of the fields to the members of one entry, which `clean` has cleaned. Every
//! fault is collected; no value is changed or coerced. A good entry costs no allocation, because
//! most entries are good. Faults that depend on stored records (conflicts, limits of merged
//! records) are found by the planners.

use super::checker::{Checker, name_of, quoted};
use super::field::{
    AGE_YEARS_MAX, CORE, Field, LAST_ACTIVE_MILLIS_MAX, Rule, TAG_CHARS_MAX, TEXT_CHARS_MAX, Table,
};
use super::identity;
use crate::country::{is_country, nearest_country};
use crate::decimal::{is_integer, is_within};
use crate::dialects::advice;
use crate::error_code::EntryErrorCode as Code;
use crate::ids::IdentityKey;
use crate::json::{Json, Member, ValuePath};
use crate::language::{is_language, nearest_language};
use crate::time::read::{InvalidMoment, parse_moment};

/// The components a name may have.
pub(crate) const NAME_COMPONENTS: &[&str] =
    &["first_name", "last_name", "full_name", "display_name"];
/// The purpose of an entry. It decides what `null` means and which members are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Create,
    Update,
    Get,
    Delete,
}

impl Purpose {
    /// Whether an entry may have this field.
    fn takes(self, field: &Field) -> bool {
        match self {
            Self::Create | Self::Update => true,
            Self::Get => false,
            Self::Delete => field.rule == Rule::Identities,
        }
    }
}

impl Checker {
    /// Checks every member except ids against `table`. Returns the keys of the good identities,
    /// each with its position; `None` if the entry has no list of identities.
    pub(super) fn members(
        &mut self,
        table: &Table,
        purpose: Purpose,
        members: &[Member<'_>],
    ) -> Option<Vec<(usize, IdentityKey)>> {
        let (mut keys, mut guess, mut changes_tags) = (None, 0, false);
        for (name, value) in members {
            let id = purpose != Purpose::Create && name == table.id_field;
            let ignored = purpose == Purpose::Update && table.read_only.contains(&name.as_ref());
            if id || ignored {
                continue;
            }
            let at = table.position(guess, name);
            guess = at.map_or(guess, |at| at + 1);
            let change = table.tag_changes.iter().find(|field| field.name == *name);
            let change = change.filter(|_| purpose == Purpose::Update);
            changes_tags |= change.is_some();
            match at.map(|at| &table.fields[at]).or(change) {
                Some(field) if purpose.takes(field) => {
                    if *value != Json::Null {
                        keys = self.value(field, value).or(keys);
                    }
                }
                _ => self.unknown_field(table, purpose, name, value),
            }
        }
        if changes_tags {
            self.tag_changes(members);
        }
        keys
    }

    fn unknown_field(&mut self, table: &Table, purpose: Purpose, name: &str, value: &Json<'_>) {
        if self.is_full() {
            return;
        }
        let (noun, id_field, shown) = (table.a_noun(), table.id_field, quoted(name));
        let detail = if purpose == Purpose::Get {
            format!("the entry of a get action has {id_field} alone; leave {shown} out")
        } else if purpose == Purpose::Delete {
            let or_identities = if *id_field == *CORE.id_field { " or identities" } else { "" };
            format!(
                "an entry that deletes a profile has {id_field}{or_identities} alone; leave \
                 {shown} out"
            )
        } else if name == id_field || table.read_only.contains(&name) {
            format!("{shown} of {noun} is set by the service; leave it out")
        } else {
            let own = (purpose == Purpose::Update).then_some(id_field);
            let changes = table.tag_changes.iter().filter(|_| own.is_some());
            let known = table.fields.iter().chain(changes).map(|field| field.name).chain(own);
            let advice = advice(name, &known.collect::<Vec<_>>());
            format!("{shown} is not a field of {noun}; {advice}")
        };
        self.fault(Code::UnknownField, &ValuePath::field(name), value, detail);
    }

    /// Checks a value. Returns the keys of the good identities if this is their field.
    pub(crate) fn value(
        &mut self,
        field: &Field,
        value: &Json<'_>,
    ) -> Option<Vec<(usize, IdentityKey)>> {
        let path = ValuePath::field(field.name);
        let value = if field.rule.merges() { value.as_map_sent() } else { value };
        match (field.rule, value) {
            (Rule::Identities, Json::Array(items)) => {
                return Some(identity::check(self, &path, value, items));
            }
            (Rule::Names, Json::Object(members)) => self.names(&path, members),
            (Rule::Tags, Json::Array(items)) => self.tags(&path, value, items),
            (Rule::CustomFields, Json::Object(members)) => {
                self.custom_fields(&path, value, members);
            }
            (Rule::Boolean, Json::Bool(_)) | (Rule::Number, Json::Number(_)) => {}
            (Rule::Text, Json::String(text)) => self.length(&path, value, text, TEXT_CHARS_MAX),
            (Rule::Country, Json::String(text)) => self.country(&path, value, text),
            (Rule::Language, Json::String(text)) => self.language(&path, value, text),
            (Rule::Age, Json::Number(number)) => {
                self.range(&path, value, number, AGE_YEARS_MAX);
            }
            (Rule::UnixMillis, Json::Number(number)) if is_integer(number) => {
                self.range(&path, value, number, LAST_ACTIVE_MILLIS_MAX);
            }
            (Rule::UnixMillis, Json::Number(text)) => self.not_a_moment(&path, value, text),
            (Rule::UnixMillis, Json::String(text)) => self.not_a_moment(&path, value, text),
            (rule, _) => self.wrong_type(&path, value, rule.right()),
        }
        None
    }

    /// A good time was written as an integer before the checks.
    fn not_a_moment(&mut self, path: &ValuePath<'_>, value: &Json<'_>, text: &str) {
        match parse_moment(text) {
            Err(InvalidMoment::NotATime(why)) => self.fault(Code::WrongType, path, value, why),
            Err(InvalidMoment::OutOfRange(why)) => self.fault(Code::OutOfRange, path, value, why),
            Ok(_) => {}
        }
    }

    fn names(&mut self, path: &ValuePath<'_>, members: &[Member<'_>]) {
        for (key, value) in members {
            let path = ValuePath::Key(path, key);
            match value {
                _ if !NAME_COMPONENTS.contains(&key.as_ref()) => {
                    self.unknown_component(&path, key, value);
                }
                Json::Null => {}
                Json::String(text) => self.length(&path, value, text, TEXT_CHARS_MAX),
                _ => self.wrong_type(&path, value, "a string"),
            }
        }
    }

    fn unknown_component(&mut self, path: &ValuePath<'_>, key: &str, value: &Json<'_>) {
        if self.is_full() {
            return;
        }
        let (advice, known) = (advice(key, NAME_COMPONENTS), NAME_COMPONENTS.join(", "));
        let key = quoted(key);
        let detail = format!("{key} is not a component of a name; {advice} (known: {known})");
        self.fault(Code::UnknownField, path, value, detail);
    }

    fn tags(&mut self, path: &ValuePath<'_>, value: &Json<'_>, items: &[Json<'_>]) {
        self.count(path, value, items.len());
        for (at, item) in items.iter().enumerate() {
            let path = ValuePath::Item(path, at);
            match item {
                Json::String(text) => self.length(&path, item, text, TAG_CHARS_MAX),
                _ => self.wrong_type(&path, item, "a string"),
            }
        }
    }

    fn custom_fields(&mut self, path: &ValuePath<'_>, value: &Json<'_>, members: &[Member<'_>]) {
        // A null removes its key, so it does not count.
        self.count(path, value, members.iter().filter(|(_, v)| *v != Json::Null).count());
        for (key, value) in members {
            let path = ValuePath::Key(path, key);
            self.key(&path, key);
            match value {
                Json::Null | Json::Number(_) => {}
                Json::String(text) => self.length(&path, value, text, TEXT_CHARS_MAX),
                _ => self.wrong_type(&path, value, "a string or a number"),
            }
        }
    }

    fn country(&mut self, path: &ValuePath<'_>, value: &Json<'_>, text: &str) {
        if !is_country(text) {
            let hint = nearest_country(text)
                .map_or_else(String::new, |near| format!("; the nearest one is {}", quoted(near)));
            let detail = format!(
                "{} is not a country{hint}. Give the 2-letter or 3-letter code of ISO 3166-1 or \
                 the English name, in any case",
                quoted(text)
            );
            self.fault(Code::UnknownCountry, path, value, detail);
        }
    }

    fn language(&mut self, path: &ValuePath<'_>, value: &Json<'_>, text: &str) {
        if !is_language(text) {
            let hint = nearest_language(text)
                .map_or_else(String::new, |near| format!("; the nearest one is {}", quoted(near)));
            let detail = format!(
                "{} is not a language{hint}. Give the 2-letter code of ISO 639-1, a tag such as \
                 pt-BR, or the English name, in any case",
                quoted(text)
            );
            self.fault(Code::UnknownLanguage, path, value, detail);
        }
    }

    fn range(&mut self, path: &ValuePath<'_>, value: &Json<'_>, number: &str, max: &str) {
        if !is_within(number, max) {
            let detail = format!("{} must be a number from 0 to {max}", name_of(path));
            self.fault(Code::OutOfRange, path, value, detail);
        }
    }
}

impl Rule {
    /// The right type, as a sentence names it.
    const fn right(self) -> &'static str {
        match self {
            Self::Identities => "an array of maps",
            Self::Names => "a map of name components",
            Self::Tags => "an array of strings",
            Self::CustomFields => "a map of strings and numbers",
            Self::Boolean => "true or false",
            Self::Text => "a string",
            Self::Country => "a string that names a country",
            Self::Language => "a string that names a language",
            Self::Number => "a number",
            Self::Age => "a number from 0 to 150",
            Self::UnixMillis => "a time, in Unix milliseconds or ISO 8601",
        }
    }
}
