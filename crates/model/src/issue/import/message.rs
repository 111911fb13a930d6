//! The messages of an issue: read first, so that it is known who takes part, then rendered in
//! fixed order with every gap filled.

use std::borrow::Cow;

use super::people::{People, Person};
use super::reader::{At, Reader};
use super::{IssueMap, Source};
use crate::error_code::EntryErrorCode;
use crate::ids::timed_id;
use crate::issue::render::{Members, write_rendered, write_texts};
use crate::issue::{MESSAGE_BODY_BYTES_MAX, TEXT_CHARS_MAX};
use crate::json::Json;
use crate::task::Family;
use crate::time::UnixMillis;
use sha2::{Digest, Sha256};

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
const AUTHOR_FIELDS: [&str; 4] = ["name", "id", "emails", "phone_number"];
const ATTACHMENT_FIELDS: [&str; 4] = ["url", "file_name", "content_type", "size"];

/// Bytes that the shortest message takes, rendered.
const MESSAGE_BYTES_MIN: usize = 80;

/// Bytes that most messages take beside their bodies.
const MESSAGE_BYTES_USUAL: usize = 320;

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::issue) enum Origin {
    EndUser,
    /// Of the desk. The word on the wire is the one that existing clients compare with.
    Agent,
}

impl Origin {
    const WORDS: [(&'static str, Self); 2] =
        [("end-user", Self::EndUser), ("helpshift", Self::Agent)];

    const fn as_str(self) -> &'static str {
        match self {
            Self::EndUser => "end-user",
            Self::Agent => "helpshift",
        }
    }
}

/// A message as given.
pub(in crate::issue) struct MessageIn<'j> {
    pub(in crate::issue) id: Option<&'j str>,
    pub(in crate::issue) body: &'j str,
    pub(in crate::issue) created_at: UnixMillis,
    pub(in crate::issue) origin: Option<Origin>,
    pub(in crate::issue) author: Option<Person<'j>>,
    /// Rendered.
    pub(in crate::issue) attachments: Vec<Vec<u8>>,
    /// Rendered.
    pub(in crate::issue) attachment: Option<Vec<u8>>,
    pub(in crate::issue) intent_labels: Option<&'j Json<'j>>,
    pub(in crate::issue) sentiment: Option<&'j Json<'j>>,
    pub(in crate::issue) kind: Option<&'j str>,
}

/// Reads the messages; those that are no maps are faults and left out. One without a time is as old
/// as the issue.
pub(super) fn read_all<'j>(
    map: &IssueMap<'j, '_>,
    issue_created_at: UnixMillis,
    reader: &mut Reader,
) -> Vec<MessageIn<'j>> {
    let items = list_with_room(map, "messages", MESSAGE_BYTES_MIN, reader).unwrap_or_default();
    let list_at = map.at.key("messages");
    let numbered = items.iter().enumerate();
    numbered
        .filter_map(|(n, item)| read(item, issue_created_at, &list_at.item(n), reader))
        .collect()
}

/// The elements of a list, each of which takes at least `least` bytes of an issue. A list that is
/// too long for any issue is one fault, and none of its elements is read: `{}` is short, what is
/// made of it is not.
pub(super) fn list_with_room<'j>(
    map: &IssueMap<'j, '_>,
    name: &str,
    least: usize,
    reader: &mut Reader,
) -> Option<&'j [Json<'j>]> {
    let items = reader.list(map, name)?;
    let most = Family::Issues.entry_bytes_max() / least;
    if items.len() <= most {
        return Some(items);
    }
    let detail = format!("{} {name} are more than the {most} that an issue can hold", items.len());
    reader.fault(EntryErrorCode::TooLarge, &map.at.key(name), detail, None);
    None
}

fn read<'j>(
    json: &'j Json<'j>,
    issue_created_at: UnixMillis,
    at: &At<'_>,
    reader: &mut Reader,
) -> Option<MessageIn<'j>> {
    let map = reader.map(json, &MESSAGE_FIELDS, at)?;
    let body = reader.text(&map, "body", usize::MAX).unwrap_or_default();
    if body.len() > MESSAGE_BODY_BYTES_MAX {
        let detail =
            format!("the body has {} bytes, at most {MESSAGE_BODY_BYTES_MAX} may be", body.len());
        reader.fault(EntryErrorCode::TooLong, &at.key("body"), detail, map.get("body"));
    }
    let author_at = at.key("author");
    let attachments_at = at.key("attachments");
    let attachments = reader.list(&map, "attachments").unwrap_or_default();
    let attachments = attachments
        .iter()
        .enumerate()
        .filter_map(|(n, item)| attachment(item, &attachments_at.item(n), reader))
        .collect();
    for (name, expected) in [("intent_labels", "an array"), ("sentiment", "a map")] {
        match map.get(name) {
            None | Some(Json::Array(_) | Json::Object(_)) => {}
            Some(other) => reader.wrong_type(expected, &at.key(name), other),
        }
    }
    Some(MessageIn {
        id: reader.id(&map, "id"),
        body,
        created_at: reader.instant(&map, "created_at").unwrap_or(issue_created_at),
        origin: reader.word(&map, "origin", Origin::WORDS.into_iter()),
        author: map.get("author").and_then(|json| person(json, &author_at, reader)),
        attachments,
        attachment: map
            .get("attachment")
            .and_then(|json| attachment(json, &at.key("attachment"), reader)),
        intent_labels: map.get("intent_labels"),
        sentiment: map.get("sentiment"),
        kind: reader.text(&map, "type", crate::ids::FOREIGN_ID_CHARS_MAX),
    })
}

/// Reads an author map.
pub(super) fn person<'j>(
    json: &'j Json<'j>,
    at: &At<'_>,
    reader: &mut Reader,
) -> Option<Person<'j>> {
    let map = reader.map(json, &AUTHOR_FIELDS, at)?;
    Some(Person {
        id: reader.id(&map, "id").map(Cow::Borrowed),
        name: reader.text(&map, "name", TEXT_CHARS_MAX).unwrap_or_default(),
        emails: reader.texts(&map, "emails", TEXT_CHARS_MAX).unwrap_or_default(),
        phone_number: reader.text(&map, "phone_number", TEXT_CHARS_MAX),
    })
}

/// Writes an author map.
pub(in crate::issue) fn write_person(person: &Person<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut members = Members::new(out, false);
    members.text("name", person.name);
    members.optional_text("id", person.id.as_deref());
    write_texts(person.emails.iter().copied(), members.key("emails"));
    members.optional_text("phone_number", person.phone_number);
    out.push(b'}');
}

/// Reads an attachment's record and renders it.
fn attachment(json: &Json<'_>, at: &At<'_>, reader: &mut Reader) -> Option<Vec<u8>> {
    let map = reader.map(json, &ATTACHMENT_FIELDS, at)?;
    let mut out = b"{".to_vec();
    let mut members = Members::new(&mut out, false);
    for name in ["url", "file_name", "content_type"] {
        members.optional_text(name, reader.text(&map, name, TEXT_CHARS_MAX));
    }
    if let Some(size) = reader.integer(&map, "size", (0, i64::MAX)) {
        members.number("size", size);
    }
    out.push(b'}');
    Some(out)
}

/// Renders the messages as an array. Gaps are filled, and a long name may fill very many of them:
/// so it ends where the array alone is longer than an issue may be, which refuses the entry.
pub(super) fn render_all<'c>(
    source: &Source<'_>,
    messages: &[MessageIn<'c>],
    people: &mut People<'c>,
) -> Vec<u8> {
    let bodies: usize = messages.iter().map(|message| message.body.len()).sum();
    let mut out = Vec::with_capacity(bodies + messages.len() * MESSAGE_BYTES_USUAL + 2);
    out.push(b'[');
    for (n, message) in messages.iter().enumerate() {
        if out.len() > Family::Issues.entry_bytes_max() {
            break;
        }
        if n > 0 {
            out.push(b',');
        }
        let origin = people.origin(n, message);
        let author = people.resolve(message.author.as_ref(), origin);
        let id = match message.id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(message_id(source, n, message.created_at)),
        };
        render(message, &id, origin, &author, &mut out);
    }
    out.push(b']');
    out
}

/// Renders one message.
pub(in crate::issue) fn render(
    message: &MessageIn<'_>,
    id: &str,
    origin: Origin,
    author: &Person<'_>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    let mut members = Members::new(out, false);
    members.text("id", id);
    members.text("body", message.body);
    members.number("created_at", message.created_at.0);
    members.text("origin", origin.as_str());
    write_person(author, members.key("author"));
    // `attachment` is the first of `attachments`; either one alone gives the other.
    let first = message.attachment.as_ref().or(message.attachments.first());
    if let Some(first) = first {
        let all = &message.attachments;
        let all = if all.is_empty() { std::slice::from_ref(first) } else { all };
        write_rendered(all, members.key("attachments"));
        members.raw("attachment", first);
    }
    members.optional_json("intent_labels", message.intent_labels);
    members.optional_json("sentiment", message.sentiment);
    members.optional_text("type", message.kind);
    out.push(b'}');
}

/// The id of a message that has none: its time, and a hash of the entry's content and of its place
/// in it.
fn message_id(source: &Source<'_>, index: usize, created_at: UnixMillis) -> String {
    let mut hash = Sha256::new();
    hash.update(b"message\0");
    hash.update((index as u64).to_be_bytes());
    hash.update(source.fingerprint());
    let mut random = [0; 8];
    random.copy_from_slice(&hash.finalize()[..8]);
    timed_id(source.domain, "message", created_at, u64::from_be_bytes(random))
}
