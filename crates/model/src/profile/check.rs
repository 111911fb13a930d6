//! The rules of the fields, applied to the members of one entry. Every fault is gathered with its
//! pointer, the faulty value and what would be right; nothing is changed or coerced. Nothing
//! allocates while an entry is good, because most are. Faults that only stored records can show
//! (conflicts, limits of merged records) are found by the planners.

use super::decimal;
use super::field::{
    AGE_YEARS_MAX, COLLECTION_ELEMENTS_MAX, Field, KEY_CHARS_MAX, LAST_ACTIVE_MILLIS_MAX, Rule,
    TAG_CHARS_MAX, TEXT_CHARS_MAX, Table,
};
use super::identity::{self, IdentityKey};
use crate::country::{is_country, nearest_country};
use crate::error_code::EntryErrorCode as Code;
use crate::json::{Json, pointer_push};
use crate::language::{is_language, nearest_language};
use crate::record::EntryFault;
use crate::spelling::nearest_word;
use std::borrow::Cow;

/// The components a name may have.
const NAME_COMPONENTS: &[&str] = &["first_name", "last_name", "full_name", "display_name"];
/// Faults of one entry that are told one by one; the last of them says how many more there are.
/// Without it an entry made of faults would leave a record many times its size.
pub const FAULTS_MAX: usize = 1000;
/// Code points of a caller's text that a sentence repeats.
const QUOTED_CHARS_MAX: usize = 60;

/// What an entry is for: it decides what `null` means and which members are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Create,
    Update,
    Get,
}

/// The place of a value in its entry. A pointer is only made of it when there is a fault.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'p> {
    Field(&'p str),
    Key(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    pub(super) fn pointer(&self) -> String {
        match self {
            Self::Field(name) => pointer_push("", name),
            Self::Key(parent, key) => pointer_push(&parent.pointer(), key),
            Self::Item(parent, at) => format!("{}/{at}", parent.pointer()),
        }
    }

    /// The place in a sentence.
    fn name(&self) -> String {
        match self {
            Self::Field(name) => (*name).to_owned(),
            Self::Key(_, key) => quoted(key),
            Self::Item(parent, at) => format!("element {at} of {}", parent.name()),
        }
    }
}

/// `text` in quotes, shortened where it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

/// Whether `text` has more than `max` code points.
pub(super) fn longer_than(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().count() > max
}

/// Gathers the faults of one entry.
#[derive(Debug, Default)]
pub(super) struct Checker {
    pub(super) faults: Vec<EntryFault>,
    /// Faults beyond [`FAULTS_MAX`].
    untold: usize,
}

impl Checker {
    /// Checks every member of `members` that is no id against `table`.
    pub(super) fn members(
        &mut self,
        table: &Table,
        purpose: Purpose,
        members: &[(Cow<'_, str>, Json<'_>)],
    ) -> Option<Vec<IdentityKey>> {
        let mut keys = None;
        let mut guess = 0;
        for (name, value) in members {
            let id = purpose != Purpose::Create && name == table.id_field;
            let ignored = purpose == Purpose::Update && table.read_only.contains(&name.as_ref());
            if id || ignored {
                continue;
            }
            let at = table.position(guess, name);
            guess = at.map_or(guess, |at| at + 1);
            match at.map(|at| &table.fields[at]) {
                Some(field) if purpose != Purpose::Get => {
                    if *value != Json::Null {
                        keys = self.value(field, value).or(keys);
                    }
                }
                _ => self.unknown_field(table, purpose, name, value),
            }
        }
        keys
    }

    /// All faults, ready for a record.
    pub(super) fn into_faults(mut self) -> Vec<EntryFault> {
        if let (Some(last), 1..) = (self.faults.last_mut(), self.untold) {
            let more = format!("; {} more faults of this entry are not listed", self.untold);
            last.detail.push_str(&more);
        }
        self.faults
    }

    /// Whether one more fault would be too many to tell; it is counted then.
    fn is_full(&mut self) -> bool {
        let full = self.faults.len() >= FAULTS_MAX;
        self.untold += usize::from(full);
        full
    }

    fn unknown_field(&mut self, table: &Table, purpose: Purpose, name: &str, value: &Json<'_>) {
        if self.is_full() {
            return;
        }
        let (noun, id_field, shown) = (table.noun, table.id_field, quoted(name));
        let detail = if purpose == Purpose::Get {
            format!("the entry of a get action holds {id_field} alone; leave {shown} out")
        } else if name == id_field || table.read_only.contains(&name) {
            format!("{shown} of a {noun} is given by the service; leave it out")
        } else {
            let own = (purpose == Purpose::Update).then_some(id_field);
            let known = table.fields.iter().map(|field| field.name).chain(own);
            let near = nearest_word(name, known).unwrap_or(id_field);
            format!("{shown} is no field of a {noun}; the nearest known one is \"{near}\"")
        };
        self.fault(Code::UnknownField, &Place::Field(name), value, detail);
    }

    /// Checks a value that is given; the keys of identities are returned when they are all good.
    fn value(&mut self, field: &Field, value: &Json<'_>) -> Option<Vec<IdentityKey>> {
        let place = Place::Field(field.name);
        match (field.rule, value) {
            (Rule::Identities, Json::Array(items)) => {
                return identity::check(self, &place, value, items);
            }
            (Rule::Names, Json::Object(members)) => self.names(&place, members),
            (Rule::Tags, Json::Array(items)) => self.tags(&place, value, items),
            (Rule::CustomFields, Json::Object(members)) => {
                self.custom_fields(&place, value, members);
            }
            (Rule::Boolean, Json::Bool(_)) | (Rule::Number, Json::Number(_)) => {}
            (Rule::Text, Json::String(text)) => self.length(&place, value, text, TEXT_CHARS_MAX),
            (Rule::Country, Json::String(text)) => self.country(&place, value, text),
            (Rule::Language, Json::String(text)) => self.language(&place, value, text),
            (Rule::Age, Json::Number(number)) => {
                self.range(&place, value, number, AGE_YEARS_MAX);
            }
            (Rule::UnixMillis, Json::Number(number)) if decimal::is_integer(number) => {
                self.range(&place, value, number, LAST_ACTIVE_MILLIS_MAX);
            }
            (Rule::UnixMillis, Json::Number(_)) => {
                let detail = format!(
                    "{} must be an integer, Unix milliseconds written in digits alone",
                    place.name()
                );
                self.fault(Code::WrongType, &place, value, detail);
            }
            (rule, _) => self.wrong_type(&place, value, rule.right()),
        }
        None
    }

    fn names(&mut self, place: &Place<'_>, members: &[(Cow<'_, str>, Json<'_>)]) {
        for (key, value) in members {
            let place = Place::Key(place, key);
            match value {
                _ if !NAME_COMPONENTS.contains(&key.as_ref()) => {
                    self.unknown_component(&place, key, value);
                }
                Json::Null => {}
                Json::String(text) => self.length(&place, value, text, TEXT_CHARS_MAX),
                _ => self.wrong_type(&place, value, "a string"),
            }
        }
    }

    fn unknown_component(&mut self, place: &Place<'_>, key: &str, value: &Json<'_>) {
        if self.is_full() {
            return;
        }
        let near = nearest_word(key, NAME_COMPONENTS.iter().copied()).unwrap_or_default();
        let known = NAME_COMPONENTS.join(", ");
        let detail = format!(
            "{} is no component of a name; the nearest one is \"{near}\" (known: {known})",
            quoted(key)
        );
        self.fault(Code::UnknownField, place, value, detail);
    }

    fn tags(&mut self, place: &Place<'_>, value: &Json<'_>, items: &[Json<'_>]) {
        self.count(place, value, items.len());
        for (at, item) in items.iter().enumerate() {
            let place = Place::Item(place, at);
            match item {
                Json::String(text) => self.length(&place, item, text, TAG_CHARS_MAX),
                _ => self.wrong_type(&place, item, "a string"),
            }
        }
    }

    fn custom_fields(
        &mut self,
        place: &Place<'_>,
        value: &Json<'_>,
        members: &[(Cow<'_, str>, Json<'_>)],
    ) {
        // A null removes: it is no element.
        self.count(place, value, members.iter().filter(|(_, v)| *v != Json::Null).count());
        for (key, value) in members {
            let place = Place::Key(place, key);
            self.key(&place, key);
            match value {
                Json::Null | Json::Number(_) => {}
                Json::String(text) => self.length(&place, value, text, TEXT_CHARS_MAX),
                _ => self.wrong_type(&place, value, "a string or a number"),
            }
        }
    }

    fn country(&mut self, place: &Place<'_>, value: &Json<'_>, text: &str) {
        if !is_country(text) {
            let hint = nearest_country(text)
                .map_or_else(String::new, |near| format!("; the nearest one is {}", quoted(near)));
            let detail = format!(
                "{} is no country{hint}. Give the 2-letter or 3-letter code of ISO 3166-1 or the \
                 English name, in any case",
                quoted(text)
            );
            self.fault(Code::UnknownCountry, place, value, detail);
        }
    }

    fn language(&mut self, place: &Place<'_>, value: &Json<'_>, text: &str) {
        if !is_language(text) {
            let hint = nearest_language(text)
                .map_or_else(String::new, |near| format!("; the nearest one is {}", quoted(near)));
            let detail = format!(
                "{} is no language{hint}. Give the 2-letter code of ISO 639-1, in any case",
                quoted(text)
            );
            self.fault(Code::UnknownLanguage, place, value, detail);
        }
    }

    fn range(&mut self, place: &Place<'_>, value: &Json<'_>, number: &str, max: &str) {
        if !decimal::within(number, max) {
            let detail = format!("{} must be a number from 0 to {max}", place.name());
            self.fault(Code::OutOfRange, place, value, detail);
        }
    }

    /// Checks the length of a key; the key itself is the faulty value.
    pub(super) fn key(&mut self, place: &Place<'_>, key: &str) {
        if longer_than(key, KEY_CHARS_MAX) {
            let value = Json::String(Cow::Borrowed(key));
            self.too_long(place, &value, &format!("the key {}", quoted(key)), key, KEY_CHARS_MAX);
        }
    }

    pub(super) fn length(&mut self, place: &Place<'_>, value: &Json<'_>, text: &str, max: usize) {
        if longer_than(text, max) {
            self.too_long(place, value, &place.name(), text, max);
        }
    }

    fn too_long(
        &mut self,
        place: &Place<'_>,
        value: &Json<'_>,
        name: &str,
        text: &str,
        max: usize,
    ) {
        let chars = text.chars().count();
        let detail = format!("{name} has {chars} characters; at most {max} are allowed");
        self.fault(Code::TooLong, place, value, detail);
    }

    pub(super) fn count(&mut self, place: &Place<'_>, value: &Json<'_>, elements: usize) {
        if elements > COLLECTION_ELEMENTS_MAX {
            let detail = format!(
                "{} has {elements} elements; at most {COLLECTION_ELEMENTS_MAX} are allowed",
                place.name()
            );
            self.fault(Code::TooMany, place, value, detail);
        }
    }

    pub(super) fn wrong_type(&mut self, place: &Place<'_>, value: &Json<'_>, right: &str) {
        let detail = format!("{} must be {right}, not {}", place.name(), value.type_name());
        self.fault(Code::WrongType, place, value, detail);
    }

    pub(super) fn fault(
        &mut self,
        code: Code,
        place: &Place<'_>,
        value: &Json<'_>,
        detail: String,
    ) {
        if !self.is_full() {
            self.faults.push(EntryFault::new(code, place.pointer(), detail).with_value(value));
        }
    }
}

impl Rule {
    /// The type that is right, in a sentence.
    const fn right(self) -> &'static str {
        match self {
            Self::Identities => "an array of maps",
            Self::Names => "a map of name components",
            Self::Tags => "an array of strings",
            Self::CustomFields => "a map of strings and numbers",
            Self::Boolean => "true or false",
            Self::Text => "a string",
            Self::Country => "a string that names a country",
            Self::Language => "a string, a language code of ISO 639-1",
            Self::Number => "a number",
            Self::Age => "a number from 0 to 150",
            Self::UnixMillis => "an integer, Unix milliseconds",
        }
    }
}
