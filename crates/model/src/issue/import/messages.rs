//! The messages of an issue. They are read first, to learn who takes part, and rendered later in
//! fixed order, with every gap filled.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::issue_map::IssueMap;
use super::people::People;
use super::source::Source;
use crate::error_code::{EntryErrorCode, EntryWarningCode};
use crate::ids::{FOREIGN_ID_CHARS_MAX, timed_id};
use crate::issue::attachment_url::{is_harmless_url, without_base};
use crate::issue::message::{Message, Origin};
use crate::issue::person::read_person;
use crate::issue::reader::{Map, Reader};
use crate::issue::render::Members;
use crate::issue::write::{FILE_NAME_CHARS_MAX, imported_name};
use crate::issue::{IssuePart, MESSAGE_BODY_BYTES_MAX, TEXT_CHARS_MAX};
use crate::json::{Json, ValuePath};
use crate::spelling::is_hidden;
use crate::task::Family;
use crate::time::UnixMillis;

const MESSAGE_FIELDS: [&str; 10] = [
    "id",
    "body",
    "created_at",
    "origin",
    "author",
    "attachments",
    "attachment",
    "intent_labels",
    "sentiment",
    "type",
];
const ATTACHMENT_FIELDS: [&str; 4] = ["url", "file_name", "content_type", "size"];
type AttachmentMap<'j, 'p> = Map<'j, 'p, 4>;

/// Bytes that most messages take in addition to their bodies.
const MESSAGE_BYTES_USUAL: usize = 320;

/// Reads the messages. A message that is not a map is a fault and skipped; a message without a time
/// has that of the issue.
pub(super) fn read_all<'j>(
    source: &Source<'_>,
    map: &IssueMap<'j, '_>,
    issue_created_at: UnixMillis,
    reader: &mut Reader,
) -> Vec<Message<'j>> {
    let items = reader.limited_list(map, "messages", IssuePart::Messages).unwrap_or_default();
    let list_at = map.at.key("messages");
    let numbered = items.iter().enumerate();
    numbered
        .filter_map(|(n, item)| read(source, item, issue_created_at, &list_at.item(n), reader))
        .collect()
}

fn read<'j>(
    source: &Source<'_>,
    json: &'j Json<'j>,
    issue_created_at: UnixMillis,
    at: &ValuePath<'_>,
    reader: &mut Reader,
) -> Option<Message<'j>> {
    let map = reader.map(json, &MESSAGE_FIELDS, at)?;
    let body = reader.text(&map, "body", usize::MAX).unwrap_or_default();
    if body.len() > MESSAGE_BODY_BYTES_MAX {
        let detail = format!(
            "the body has {} bytes; at most {MESSAGE_BODY_BYTES_MAX} are allowed",
            body.len()
        );
        reader.fault(EntryErrorCode::TooLong, &at.key("body"), detail, map.get("body"));
    }
    let author_at = at.key("author");
    let attachments_at = at.key("attachments");
    let attachments =
        reader.limited_list(&map, "attachments", IssuePart::Attachments).unwrap_or_default();
    let attachments = attachments
        .iter()
        .enumerate()
        .filter_map(|(n, item)| attachment(source, item, &attachments_at.item(n), reader))
        .collect();
    for (name, expected) in [("intent_labels", "an array"), ("sentiment", "a map")] {
        match map.get(name) {
            None | Some(Json::Array(_) | Json::Object(_)) => {}
            Some(other) => reader.wrong_type(expected, &at.key(name), other),
        }
    }
    Some(Message {
        id: reader.id(&map, "id"),
        body,
        created_at: reader.instant(&map, "created_at").unwrap_or(issue_created_at),
        origin: reader.word(&map, "origin", Origin::WORDS.into_iter()),
        author: map.get("author").and_then(|json| read_person(json, &author_at, reader)),
        attachments,
        attachment: map
            .get("attachment")
            .and_then(|json| attachment(source, json, &at.key("attachment"), reader)),
        intent_labels: map.get("intent_labels"),
        sentiment: map.get("sentiment").map(Json::as_map_sent),
        kind: reader.text(&map, "type", FOREIGN_ID_CHARS_MAX),
    })
}

/// Reads the record of an attachment and renders it, with a URL of this server as a path.
fn attachment(
    source: &Source<'_>,
    json: &Json<'_>,
    at: &ValuePath<'_>,
    reader: &mut Reader,
) -> Option<Vec<u8>> {
    let map = reader.map(json, &ATTACHMENT_FIELDS, at)?;
    let mut out = b"{".to_vec();
    let mut members = Members::new(&mut out, false);
    members.optional_text("url", url(source, &map, reader));
    members.optional_text("file_name", file_name(&map, reader).as_deref());
    let kind = reader.text(&map, "content_type", TEXT_CHARS_MAX);
    if kind.is_some_and(|kind| kind.chars().any(is_hidden)) {
        let detail = "the content type of an attachment has no control or direction characters";
        let at = at.key("content_type");
        reader.fault(EntryErrorCode::OutOfRange, &at, detail, map.get("content_type"));
    }
    members.optional_text("content_type", kind);
    if let Some(size) = reader.integer(&map, "size", (0, i64::MAX)) {
        members.number("size", size);
    }
    out.push(b'}');
    Some(out)
}

/// The URL of an attachment: of a file of this server its path. An unusable one is left out.
fn url<'j>(
    source: &Source<'_>,
    map: &AttachmentMap<'j, '_>,
    reader: &mut Reader,
) -> Option<&'j str> {
    let (sent, at) = (map.get("url")?, map.at.key("url"));
    if sent.as_str().is_some_and(|url| !is_harmless_url(url)) {
        let detail = "the attachment is stored without this URL: one begins with http:// or \
                      https://, or is a path; it has neither control or direction characters nor a \
                      part `..`, also not percent-encoded";
        reader.warn(EntryWarningCode::UnusableUrl, &at, detail, sent);
        return None;
    }
    let url = reader.text_value(sent, &at, TEXT_CHARS_MAX)?;
    Some(without_base(url, source.base_urls))
}

/// The name of a file as that of an upload is stored.
fn file_name(map: &AttachmentMap<'_, '_>, reader: &mut Reader) -> Option<String> {
    let sent = reader.text(map, "file_name", TEXT_CHARS_MAX)?;
    let stored = imported_name(sent);
    if let Some(json) = map.get("file_name").filter(|_| stored != sent) {
        let detail = format!(
            "the name is stored as {stored:?}: without folders, control or direction characters, \
             encoded words and all but its last {FILE_NAME_CHARS_MAX} characters"
        );
        reader.warn(EntryWarningCode::MendedName, &map.at.key("file_name"), detail, json);
    }
    Some(stored)
}

/// Renders the messages as an array, and returns the indices of those of the desk that came without
/// an address. Gaps are filled, and a long name may fill very many of them, so rendering stops once
/// the array alone is longer than an issue may be: that entry is rejected.
pub(super) fn render_all<'c>(
    source: &Source<'_>,
    messages: &[Message<'c>],
    people: &mut People<'c>,
) -> (Vec<u8>, Vec<usize>) {
    let bodies: usize = messages.iter().map(|message| message.body.len()).sum();
    let mut out = Vec::with_capacity(bodies + messages.len() * MESSAGE_BYTES_USUAL + 2);
    out.push(b'[');
    let mut unaddressed = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        if out.len() > Family::Issues.entry_bytes_max() {
            break;
        }
        if n > 0 {
            out.push(b',');
        }
        let origin = people.origin(n, message);
        let mut author = people.resolve(message.author.as_ref(), origin);
        if origin == Origin::Agent && author.emails.iter().all(|email| email.is_empty()) {
            people.add_address(&mut author, messages);
            unaddressed.push(n);
        }
        let id = match message.id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(message_id(source, n, message.created_at)),
        };
        message.render(&id, origin, &author, &mut out);
    }
    out.push(b']');
    (out, unaddressed)
}

/// The id of a message without one: its time, and a hash of the entry's content and the message's
/// index.
fn message_id(source: &Source<'_>, index: usize, created_at: UnixMillis) -> String {
    let mut hash = Sha256::new();
    hash.update(b"message\0");
    hash.update((index as u64).to_be_bytes());
    hash.update(source.fingerprint());
    let mut random = [0; 8];
    random.copy_from_slice(&hash.finalize()[..8]);
    timed_id(source.domain, "message", created_at, u64::from_be_bytes(random))
}
