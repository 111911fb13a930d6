//! Reads the parts of an issue other than head and messages: `meta`, custom fields, feedback,
//! notes, and the fields that only `includes` shows. Maps with free keys keep the order of arrival.

use super::issue_map::IssueMap;
use crate::ids::FOREIGN_ID_CHARS_MAX;
use crate::issue::columns::{IssueFacts, IssueQueue};
use crate::issue::custom_field::read_custom_field;
use crate::issue::fragments::IssueBody;
use crate::issue::limits::count_keys;
use crate::issue::person::{read_person, write_person};
use crate::issue::reader::Reader;
use crate::issue::render::{Members, write_meta, write_rendered};
use crate::issue::{IssuePart, TEXT_CHARS_MAX};
use crate::json::Json;
use crate::time::UnixMillis;

const NOTE_FIELDS: [&str; 4] = ["id", "body", "created_at", "author"];
/// Bytes of the shortest rendered note.
const NOTE_BYTES_MIN: usize = 26;

/// Reads everything except the messages.
pub(super) fn read(
    map: &IssueMap<'_, '_>,
    facts: &IssueFacts,
    issue_created_at: UnixMillis,
    reader: &mut Reader,
) -> IssueBody {
    let mut meta = Vec::new();
    match map.get("meta").map(Json::as_map_sent) {
        None => meta.extend_from_slice(b"{}"),
        Some(json @ Json::Object(_)) => {
            let keys = count_keys(json, true);
            reader.check_count(IssuePart::MetaKeys, keys, &map.at.key("meta"));
            write_meta(json, &mut meta);
        }
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

fn custom_fields(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Vec<u8> {
    let at = map.at.key("custom_fields");
    let given = map.get("custom_fields").and_then(|json| reader.members(json, &at));
    let mut out = b"{".to_vec();
    let mut pen = Members::new(&mut out, false);
    let fields = given.unwrap_or_default().iter().filter(|(_, field)| *field != Json::Null);
    let count = fields.clone().count();
    reader.check_count(IssuePart::CustomFields, count, &at);
    for member in fields.take(IssuePart::CustomFields.limit()) {
        read_custom_field(member, &at, &mut pen, reader);
    }
    out.push(b'}');
    out
}

/// Rating and comment, if at least one of them is given.
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

/// The notes. A note without a time has that of the issue.
fn private_notes(
    map: &IssueMap<'_, '_>,
    issue_created_at: UnixMillis,
    reader: &mut Reader,
) -> Option<Vec<u8>> {
    let items = reader.list_with_room(map, "private_notes", NOTE_BYTES_MIN)?;
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
        if let Some(author) =
            note.get("author").and_then(|json| read_person(json, &author_at, reader))
        {
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

/// A map that is stored as it came.
fn free_map(map: &IssueMap<'_, '_>, name: &str, reader: &mut Reader) -> Option<Vec<u8>> {
    let json = map.get(name)?;
    reader.members(json, &map.at.key(name))?;
    let mut out = Vec::new();
    json.as_map_sent().write_to(&mut out);
    Some(out)
}
