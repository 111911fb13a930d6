//! The place in an entry that the name of a column means. A column is named like the field; a dot
//! leads into a map. Identities have short names, because a table has no arrays: `email` is
//! `identity.email`. Names are compared in any case, with or without blanks, hyphens and
//! underscores; the key of a custom field is taken as it is written.

use super::cells::Form;
use super::words::{field_of, is_core, plain};
use crate::dialects::hint;
use crate::issue::FieldType;
use crate::profile::{CORE, Field, IdentityType, NAME_COMPONENTS, Table};
use crate::spelling::trimmed;
use crate::task::Action;

/// The highest number of an identity's column, as in `identity.email.2`.
const IDENTITY_NUMBER_MAX: u32 = 100;

pub(super) const IDENTITIES: &str = "identities";
const NAMES: &str = "names";
pub(super) const CUSTOM_FIELDS: &str = "custom_fields";

/// A member of an entry that cells fill.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowField {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// The field of a profile, whose rule is checked with the cell. The rules of issues are checked
    /// with the whole entry.
    pub(super) of_profile: Option<&'static Field>,
}

impl From<&'static Field> for RowField {
    fn from(field: &'static Field) -> Self {
        Self { name: field.name, form: Form::of(field.rule), of_profile: Some(field) }
    }
}

/// The place of a column in an entry.
#[derive(Debug)]
pub(super) enum Place {
    Id,
    Whole(RowField),
    Inside(RowField, String, Form),
    /// The body of a message of an issue.
    Message,
    /// With the number of the column, or none for a word of which there may be several.
    Identity(IdentityType, Option<u32>),
    /// Only the server sets this member; an export has it.
    LeftOut,
}

/// Why a name has no place.
#[derive(Debug)]
pub(super) enum Unplaced {
    /// No field has the name.
    Unknown(String),
    /// The name is that of a field and cannot be used.
    Wrong(String),
}

/// Finds the place of a column by its name.
pub(super) fn place(table: &'static Table, action: Action, name: &str) -> Result<Place, Unplaced> {
    let bare = trimmed(name);
    let word = plain(bare);
    if word == plain(table.id_field) {
        return match action {
            Action::CreateCoreProfiles => Err(Unplaced::Wrong(format!(
                "a new profile gets its {} from the server; update and upsert take it",
                table.id_field
            ))),
            _ => Ok(Place::Id),
        };
    }
    let is_read_only = table.read_only.iter().any(|known| plain(known) == word);
    if is_read_only || !is_core(table) && word == plain(CORE.id_field) {
        return Ok(Place::LeftOut);
    }
    if let Some(key) = key_of_custom_field(name) {
        return custom_field(table, key).map_err(Unplaced::Wrong);
    }
    if let Some(place) = named(table, &word) {
        return Ok(place);
    }
    if let Some(field) = field_of(table, &word).and_then(|field| named(table, &plain(field))) {
        return Ok(match field {
            Place::Identity(kind, _) if has_several(kind) => Place::Identity(kind, None),
            place => place,
        });
    }
    Err(Unplaced::Unknown(unknown(table, bare)))
}

/// `plan`, or with a type `seats:number`.
pub(super) fn custom_field(table: &'static Table, name: &str) -> Result<Place, String> {
    let field = field(table, CUSTOM_FIELDS).ok_or("there are no custom fields here")?;
    let typed = name.rsplit_once(':').map(|(key, of)| (key, trimmed(of).to_lowercase()));
    let (key, kind) = match &typed {
        Some((key, of)) if of == "number" => (*key, FieldType::Number),
        Some((key, of)) if of == "text" => (*key, FieldType::Singleline),
        Some((key, of)) if matches!(of.as_str(), "boolean" | "date") => {
            return Err(format!(
                "custom fields of profiles are texts and numbers, not of the type {of:?}; \
                 custom_fields.{key} is a text"
            ));
        }
        _ => (name, FieldType::Singleline),
    };
    if trimmed(key).is_empty() {
        return Err("a custom field needs a name, as in custom_fields.plan".to_owned());
    }
    Ok(Place::Inside(field.into(), key.to_owned(), Form::Custom { kind, bare: true }))
}

pub(super) fn key_of_custom_field(name: &str) -> Option<&str> {
    let (before, key) = name.split_once('.')?;
    (plain(trimmed(before)) == plain(CUSTOM_FIELDS)).then_some(key)
}

fn field(table: &'static Table, name: &str) -> Option<&'static Field> {
    table.fields.iter().find(|field| field.name == name)
}

/// The place of a field's own name.
fn named(table: &'static Table, word: &str) -> Option<Place> {
    if let Some(field) = table.fields.iter().find(|field| plain(field.name) == word) {
        return Some(Place::Whole(field.into()));
    }
    if !is_core(table) {
        return None;
    }
    let component = word.strip_prefix("names.").unwrap_or(word);
    if let Some(known) = NAME_COMPONENTS.iter().find(|known| plain(known) == component) {
        return Some(Place::Inside(field(table, NAMES)?.into(), (*known).to_owned(), Form::Text));
    }
    identity(table, word)
}

/// `email`, `identity.email`, `identity.email.2`, or `email2`.
fn identity(table: &Table, word: &str) -> Option<Place> {
    let rest = word.strip_prefix("identity.").or_else(|| word.strip_prefix("identities."));
    let rest = rest.unwrap_or(word);
    let kind_of =
        |name: &str| IdentityType::ALL.iter().copied().find(|kind| plain(kind.as_str()) == name);
    if let Some(kind) = kind_of(rest) {
        return Some(Place::Identity(kind, Some(1)));
    }
    if let Some((kind, number)) = rest.rsplit_once('.') {
        let number = number.parse().ok()?;
        let is_allowed = (1..=IDENTITY_NUMBER_MAX).contains(&number);
        return kind_of(kind)
            .filter(|_| is_allowed)
            .map(|kind| Place::Identity(kind, Some(number)));
    }
    let base = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    if base.len() == rest.len() {
        return None;
    }
    let kind = kind_of(base).or_else(|| kind_of(&plain(field_of(table, base)?)))?;
    has_several(kind).then_some(Place::Identity(kind, None))
}

/// Whether people usually have several identities of this type.
const fn has_several(kind: IdentityType) -> bool {
    matches!(kind, IdentityType::Email | IdentityType::PhoneNumber)
}

fn unknown(table: &'static Table, name: &str) -> String {
    let hint = hint(name, &known(table).collect::<Vec<_>>());
    let hint = hint.unwrap_or_else(|| {
        format!("as a custom field it is {:?}", format!("{CUSTOM_FIELDS}.{name}"))
    });
    format!("{name:?} is not a field of {}s; {hint}", table.noun)
}

/// The names that a column may have.
fn known(table: &'static Table) -> impl Iterator<Item = &'static str> {
    let core = is_core(table).then(|| {
        IdentityType::ALL.iter().map(|kind| kind.as_str()).chain(NAME_COMPONENTS.iter().copied())
    });
    let fields = table.fields.iter().map(|field| field.name);
    fields.chain([table.id_field]).chain(core.into_iter().flatten())
}
