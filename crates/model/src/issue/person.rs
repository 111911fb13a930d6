//! The author of a message or note: an end user or an agent, as the map `author` shows them.
//! Imports read authors from entries; single writes make them from app profiles and agents.

use std::borrow::Cow;

use super::TEXT_CHARS_MAX;
use super::reader::Reader;
use super::render::{Members, write_texts};
use crate::json::{Json, ValuePath};
use crate::spelling::trimmed;

const AUTHOR_FIELDS: [&str; 4] = ["name", "id", "emails", "phone_number"];

/// An author. Members that an entry leaves out are absent until gaps are filled.
#[derive(Debug, Clone, Default)]
pub(super) struct Person<'j> {
    pub(super) id: Option<Cow<'j, str>>,
    pub(super) name: &'j str,
    pub(super) emails: Vec<&'j str>,
    pub(super) phone_number: Option<&'j str>,
}

/// Reads an author map.
pub(super) fn read_person<'j>(
    json: &'j Json<'j>,
    at: &ValuePath<'_>,
    reader: &mut Reader,
) -> Option<Person<'j>> {
    let map = reader.map(json, &AUTHOR_FIELDS, at)?;
    let emails = reader.texts(&map, "emails", TEXT_CHARS_MAX).unwrap_or_default();
    Some(Person {
        id: reader.id(&map, "id").map(Cow::Borrowed),
        name: reader.text(&map, "name", TEXT_CHARS_MAX).unwrap_or_default(),
        emails: emails.into_iter().map(trimmed).collect(),
        phone_number: reader.text(&map, "phone_number", TEXT_CHARS_MAX),
    })
}

/// Writes an author map.
pub(super) fn write_person(person: &Person<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut members = Members::new(out, false);
    members.text("name", person.name);
    members.optional_text("id", person.id.as_deref());
    write_texts(person.emails.iter().copied(), members.key("emails"));
    members.optional_text("phone_number", person.phone_number);
    out.push(b'}');
}
