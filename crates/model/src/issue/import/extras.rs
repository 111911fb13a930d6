//! What an issue carries beside head and messages: `meta`, custom fields, feedback, notes, and the
//! fields that only `includes` brings out. Maps with free keys keep the order of arrival.

use std::borrow::Cow;

use super::IssueMap;
use super::message::{list_with_room, person, write_person};
use super::reader::{At, Reader};
use crate::error_code::EntryErrorCode;
use crate::ids::FOREIGN_ID_CHARS_MAX;
use crate::issue::TEXT_CHARS_MAX;
use crate::issue::columns::{IssueFacts, IssueQueue};
use crate::issue::fragments::IssueBody;
use crate::issue::render::{Members, write_rendered};
use crate::issue_query::FieldType;
use crate::json::{Json, write_array, write_map, write_string};
use crate::time::UnixMillis;

const NOTE_FIELDS: [&str; 4] = ["id", "body", "created_at", "author"];
/// Bytes that the shortest note takes, rendered.
const NOTE_BYTES_MIN: usize = 26;
const CUSTOM_FIELD_FIELDS: [&str; 2] = ["type", "value"];

/// Reads everything but the messages.
pub(super) fn read(
    map: &IssueMap<'_, '_>,
    facts: &IssueFacts,
    issue_created_at: UnixMillis,
    reader: &mut Reader,
) -> IssueBody {
    let mut meta = Vec::new();
    match map.get("meta") {
        None => meta.extend_from_slice(b"{}"),
        Some(json @ Json::Object(_)) => write_meta(json, &mut meta),
        Some(other) => reader.wrong_type("a map", &map.at.key("meta"), other),
    }
    IssueBody {
        messages: Vec::new(),
        meta,
        custom_fields: custom_fields(map, reader),
        feedback: feedback(map, facts, reader),
        queue: facts.queue.as_ref().map(IssueQueue::render),
        private_notes: private_notes(map, issue_created_at, reader),
        predict_labels: predict_labels(map, reader),
        sentiment_analysis: free_map(map, "sentiment_analysis", reader),
        smart_intents: free_map(map, "smart_intents", reader),
    }
}

/// `meta` with every number and boolean as a string; `null` stays.
pub(in crate::issue) fn write_meta(json: &Json<'_>, out: &mut Vec<u8>) {
    match json {
        Json::Number(digits) => write_string(digits, out),
        Json::Bool(value) => write_string(if *value { "true" } else { "false" }, out),
        Json::Null | Json::String(_) => json.write_to(out),
        Json::Array(items) => write_array(items, out, write_meta),
        Json::Object(members) => {
            write_map(members.iter().map(|(key, value)| (key, value)), out, |_, value, out| {
                write_meta(value, out);
            });
        }
    }
}

fn custom_fields(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Vec<u8> {
    let at = map.at.key("custom_fields");
    let given = map.get("custom_fields").and_then(|json| reader.members(json, &at));
    let mut out = b"{".to_vec();
    let mut pen = Members::new(&mut out, false);
    let fields = given.unwrap_or_default().iter();
    for (key, field) in fields.filter(|(_, field)| *field != Json::Null) {
        custom_field((key, field), &at, &mut pen, reader);
    }
    out.push(b'}');
    out
}

pub(in crate::issue) fn custom_field<'j>(
    (key, json): (&Cow<'j, str>, &'j Json<'j>),
    map_at: &At<'_>,
    pen: &mut Members<'_>,
    reader: &mut Reader,
) {
    let at = map_at.key(key);
    let Some(field) = reader.map(json, &CUSTOM_FIELD_FIELDS, &at) else { return };
    let words = FieldType::ALL.iter().map(|kind| (kind.as_str(), *kind));
    if field.get("type").is_none() {
        let words: Vec<_> = words.clone().map(|(word, _)| word).collect();
        let detail = format!("the type of the field is missing, one of {}", words.join(", "));
        reader.fault(EntryErrorCode::Required, &at.key("type"), detail, None);
    }
    let Some(kind) = reader.word(&field, "type", words) else { return };
    let value = field.get("value").unwrap_or(&Json::Null);
    check_custom_value(kind, value, &at.key("value"), reader);
    let out = pen.key(key);
    out.push(b'{');
    let mut members = Members::new(out, false);
    members.text("type", kind.as_str());
    members.optional_json("value", Some(value));
    out.push(b'}');
}

fn check_custom_value(kind: FieldType, value: &Json<'_>, at: &At<'_>, reader: &mut Reader) {
    match (kind, value) {
        (_, Json::Null)
        | (FieldType::Number, Json::Number(_))
        | (FieldType::Checkbox, Json::Bool(_)) => {}
        (FieldType::Singleline | FieldType::Multiline | FieldType::Dropdown, _) => {
            reader.text_value(value, at, TEXT_CHARS_MAX);
        }
        (FieldType::Date, _) => {
            reader.integer_value(value, at, (i64::MIN, i64::MAX));
        }
        (FieldType::Number, _) => reader.wrong_type("a number", at, value),
        (FieldType::Checkbox, _) => {
            if !matches!(value.as_str(), Some("true" | "false")) {
                let detail = "a checkbox is true or false, or one of the two as a string";
                reader.fault(EntryErrorCode::WrongType, at, detail, Some(value));
            }
        }
    }
}

/// Rating and comment, where one of them is given.
fn feedback(map: &IssueMap<'_, '_>, facts: &IssueFacts, reader: &mut Reader) -> Option<Vec<u8>> {
    let comment = reader.text(map, "feedback_comment", TEXT_CHARS_MAX);
    let mut out = Vec::new();
    let mut members = Members::new(&mut out, false);
    if let Some(rating) = facts.rating {
        members.number("feedback_rating", rating.into());
    }
    members.optional_text("feedback_comment", comment);
    Some(out).filter(|out| !out.is_empty())
}

/// The notes. One without a time is as old as the issue.
fn private_notes(
    map: &IssueMap<'_, '_>,
    issue_created_at: UnixMillis,
    reader: &mut Reader,
) -> Option<Vec<u8>> {
    let items = list_with_room(map, "private_notes", NOTE_BYTES_MIN, reader)?;
    let list_at = map.at.key("private_notes");
    let mut notes = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        let at = list_at.item(n);
        let Some(note) = reader.map(item, &NOTE_FIELDS, &at) else { continue };
        let mut out = b"{".to_vec();
        let mut members = Members::new(&mut out, false);
        members.optional_text("id", reader.id(&note, "id"));
        members.text("body", reader.text(&note, "body", TEXT_CHARS_MAX).unwrap_or_default());
        let created_at = reader.instant(&note, "created_at").unwrap_or(issue_created_at);
        members.number("created_at", created_at.0);
        let author_at = at.key("author");
        if let Some(author) = note.get("author").and_then(|json| person(json, &author_at, reader)) {
            write_person(&author, members.key("author"));
        }
        out.push(b'}');
        notes.push(out);
    }
    let mut out = Vec::new();
    write_rendered(&notes, &mut out);
    Some(out)
}

fn predict_labels(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut members = Members::new(&mut out, false);
    for name in ["current_predict_label", "original_predict_label"] {
        members.optional_text(name, reader.text(map, name, FOREIGN_ID_CHARS_MAX));
    }
    Some(out).filter(|out| !out.is_empty())
}

/// A map that is kept as it came.
fn free_map(map: &IssueMap<'_, '_>, name: &str, reader: &mut Reader) -> Option<Vec<u8>> {
    let json = map.get(name)?;
    reader.members(json, &map.at.key(name))?;
    let mut out = Vec::new();
    json.write_to(&mut out);
    Some(out)
}
