//! Custom fields of issues: their types, how an entry's fields are checked and rendered, and how a
//! stored value is compared. A stored number counts the same as a number and as a string, a
//! checkbox as a boolean and as the string.

use std::borrow::Cow;

use super::reader::Reader;
use super::render::Members;
use super::{CUSTOM_NUMBER_CHARS_MAX, TEXT_CHARS_MAX};
use crate::error_code::EntryErrorCode;
use crate::json::{Json, Member, ValuePath};
use crate::task::words;
use crate::time::UnixMillis;

words! {
    /// The type of a custom field. No filter finds a stored field of another type.
    FieldType {
        Checkbox = 1 "checkbox",
        Singleline = 2 "singleline",
        Multiline = 3 "multiline",
        Number = 4 "number",
        Date = 5 "date",
        Dropdown = 6 "dropdown",
    }
}

/// Whether a stored value counts as a value: null and an empty list do not.
pub fn has_value(value: &Json<'_>) -> bool {
    match value {
        Json::Null => false,
        Json::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// `true` or `false`.
pub(crate) const fn boolean_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// The text of a scalar: the digits of a number, the word of a boolean. Lists and maps have none.
pub(crate) fn scalar_text<'j>(value: &'j Json<'_>) -> Option<Cow<'j, str>> {
    match value {
        Json::String(text) => Some(Cow::Borrowed(text)),
        Json::Number(digits) => Some(Cow::Borrowed(digits)),
        Json::Bool(value) => Some(Cow::Borrowed(boolean_text(*value))),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

const CUSTOM_FIELD_FIELDS: [&str; 2] = ["type", "value"];

/// Reads a custom field and writes it as a member: a map of its type and value.
pub(super) fn read_custom_field<'j>(
    (key, json): &'j Member<'j>,
    map_at: &ValuePath<'_>,
    pen: &mut Members<'_>,
    reader: &mut Reader,
) {
    let at = map_at.key(key);
    let Some(field) = reader.map(json, &CUSTOM_FIELD_FIELDS, &at) else { return };
    let words = FieldType::ALL.iter().map(|kind| (kind.as_str(), *kind));
    if field.get("type").is_none() {
        let words: Vec<_> = words.clone().map(|(word, _)| word).collect();
        let detail = format!("the type of the field is missing; it is one of {}", words.join(", "));
        reader.fault(EntryErrorCode::Required, &at.key("type"), detail, None);
    }
    let Some(kind) = reader.word(&field, "type", words) else { return };
    let value = field.get("value").unwrap_or(&Json::Null);
    let date = check_custom_value(kind, value, &at.key("value"), reader);
    let out = pen.key(key);
    out.push(b'{');
    let mut members = Members::new(out, false);
    members.text("type", kind.as_str());
    match date {
        Some(date) => members.number("value", date.0),
        None => members.optional_json("value", Some(value)),
    }
    out.push(b'}');
}

/// The time of a date, which is stored as a number in each of its forms.
fn check_custom_value(
    kind: FieldType,
    value: &Json<'_>,
    at: &ValuePath<'_>,
    reader: &mut Reader,
) -> Option<UnixMillis> {
    match (kind, value) {
        (FieldType::Number, Json::Number(number)) if number.len() > CUSTOM_NUMBER_CHARS_MAX => {
            let detail = format!(
                "the number has {} characters; at most {CUSTOM_NUMBER_CHARS_MAX} are allowed",
                number.len()
            );
            reader.fault(EntryErrorCode::TooLong, at, detail, Some(value));
        }
        (_, Json::Null)
        | (FieldType::Number, Json::Number(_))
        | (FieldType::Checkbox, Json::Bool(_)) => {}
        (FieldType::Singleline | FieldType::Multiline | FieldType::Dropdown, _) => {
            reader.text_value(value, at, TEXT_CHARS_MAX);
        }
        (FieldType::Date, _) => return reader.time_value(value, at),
        (FieldType::Number, _) => reader.wrong_type("a number", at, value),
        (FieldType::Checkbox, _) => {
            if !matches!(value.as_str(), Some("true" | "false")) {
                let detail = "a checkbox is true or false, or one of the two as a string";
                reader.fault(EntryErrorCode::WrongType, at, detail, Some(value));
            }
        }
    }
    None
}
