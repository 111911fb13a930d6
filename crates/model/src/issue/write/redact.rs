//! Redacts issues: the names, ids and texts of an end user go, and the issue stays with its state,
//! its times and its counts. A text is replaced by a mark, a list or a map by an
//! empty one. Tags, notes, `cc`, the rating and messages of the desk stay. A redacted issue can
//! be imported again. Invariant: a redaction that changes nothing leaves every byte as it is,
//! and one that is repeated changes nothing.

use std::collections::HashSet;
use std::ops::Range;

use super::record::{IssueRecord, IssueWriteError, append};
use crate::erasure::{Person, REDACTED};
use crate::issue::attachment_url::attachment_ids;
use crate::issue::render::{Members, write_rendered};
use crate::json::{self, Json, elements_at, members_at};
use crate::time::UnixMillis;

/// An author who was redacted. The id is that of the issue's author, as an import fills it in.
const NOBODY: &[u8] = br#"{"name":"[redacted]","id":"[redacted]","emails":[]}"#;
const END_USER: &[u8] = b"\"end-user\"";

/// The part of an issue that is redacted.
#[derive(Debug, Clone, Copy)]
pub enum RedactedPart<'p> {
    /// Everything of a person: the whole issue if they are its author, else their messages.
    Person(&'p Person),
    /// Everything of its author and of all other end users.
    Issue,
    /// The body of the message with this id, also of one of the desk.
    Message(&'p str),
    /// The attachment with this id.
    Attachment(&'p str),
    Title,
}

/// An issue after a redaction that changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedIssue {
    pub issue: IssueRecord,
    /// The number of messages that changed.
    pub messages: u64,
    /// The ids of the server's own attachments that no message names any more, each once.
    pub attachments: Vec<String>,
}

/// The parts that go from a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone<'p> {
    /// Author, body, attachments, and labels of the body.
    Everything,
    Body,
    Attachment(&'p str),
}

/// Redacts a part of an issue; `None` if there is nothing to redact.
pub fn redact(
    stored: &IssueRecord,
    part: RedactedPart<'_>,
    at: UnixMillis,
) -> Result<Option<RedactedIssue>, IssueWriteError> {
    let mut issue = stored.clone();
    let (messages, count) = redact_messages(&stored.body.messages, part);
    issue.body.messages = messages;
    let map = [b"{", stored.head.as_slice(), b"}"].concat();
    let head = json::parse(&map).map_err(|_| IssueWriteError::Damaged)?;
    let marked = |name: &str| head.get(name).and_then(Json::as_str).map_or("", mark);
    let is_whole = match part {
        RedactedPart::Person(person) => is_author(person, stored),
        RedactedPart::Issue => true,
        _ => false,
    };
    let mut texts = Vec::new();
    if is_whole {
        redact_all_but_messages(&mut issue);
        texts.extend([("author_name", marked("author_name")), ("author_email", "")]);
    }
    if is_whole || matches!(part, RedactedPart::Title) {
        texts.push(("title", marked("title")));
    }
    let is_other =
        |(name, text): &(&str, &str)| head.get(name).and_then(Json::as_str) != Some(text);
    if issue == *stored && !texts.iter().any(is_other) {
        return Ok(None);
    }
    issue.columns.facts.redacted = true;
    issue.columns.facts.updated_at = at;
    issue.refresh_head(&texts)?;
    let left: HashSet<&str> = attachment_ids(&issue.body.messages).into_iter().collect();
    let mut attachments = attachment_ids(&stored.body.messages);
    attachments.retain(|id| !left.contains(id));
    attachments.sort_unstable();
    attachments.dedup();
    let attachments = attachments.into_iter().map(str::to_owned).collect();
    Ok(Some(RedactedIssue { issue, messages: count, attachments }))
}

/// The mark for a text; nothing for an empty one.
const fn mark(text: &str) -> &'static str {
    if text.is_empty() { "" } else { REDACTED }
}

fn is_author(person: &Person, issue: &IssueRecord) -> bool {
    let facts = &issue.columns.facts;
    person.has_pid(&facts.hs_user_id) || person.has_email(&facts.author_email)
}

fn redact_all_but_messages(issue: &mut IssueRecord) {
    REDACTED.clone_into(&mut issue.columns.facts.hs_user_id);
    issue.columns.facts.author_email.clear();
    let body = &mut issue.body;
    body.meta = b"{}".to_vec();
    body.custom_fields = b"{}".to_vec();
    body.sentiment_analysis = None;
    body.smart_intents = None;
    if let Some(feedback) = &mut body.feedback {
        let map = [b"{", feedback.as_slice(), b"}"].concat();
        feedback.clear();
        let mut members = Members::new(feedback, false);
        for (key, value) in members_of(&map, 0) {
            match key {
                "feedback_comment" => members.text(key, mark_of(&map[value])),
                _ => members.raw(key, &map[value]),
            }
        }
    }
}

/// The members of a rendered map whose keys are names of fields.
fn members_of(text: &[u8], at: usize) -> impl Iterator<Item = (&str, Range<usize>)> {
    members_at(text, at).filter_map(|(key, value)| Some((std::str::from_utf8(key).ok()?, value)))
}

/// The mark for a text as JSON.
const fn mark_of(text: &[u8]) -> &'static str {
    if text.len() <= 2 { "" } else { REDACTED }
}

/// The messages without a part, and how many of them changed. The others keep their bytes.
fn redact_messages(messages: &[u8], part: RedactedPart<'_>) -> (Vec<u8>, u64) {
    let mut out = b"[]".to_vec();
    let mut changed = 0;
    for place in elements_at(messages, 0) {
        let message = &messages[place];
        let Some(gone) = to_redact(message, part) else {
            append(&mut out, message);
            continue;
        };
        let redacted = redact_message(message, gone);
        changed += u64::from(redacted != message);
        append(&mut out, &redacted);
    }
    (out, changed)
}

/// The parts that go from this message.
fn to_redact<'p>(message: &[u8], part: RedactedPart<'p>) -> Option<Gone<'p>> {
    let value = |name: &str| {
        members_of(message, 0).find(|(key, _)| *key == name).map(|(_, value)| &message[value])
    };
    let is_end_user = || value("origin") == Some(END_USER);
    match part {
        RedactedPart::Person(person) => {
            let author = is_end_user().then(|| value("author")).flatten()?;
            person.is_named_by(&json::parse(author).ok()?).then_some(Gone::Everything)
        }
        RedactedPart::Issue => is_end_user().then_some(Gone::Everything),
        RedactedPart::Message(id) => {
            let known = json::parse(value("id")?).ok()?;
            (known.as_str() == Some(id)).then_some(Gone::Body)
        }
        RedactedPart::Attachment(id) => Some(Gone::Attachment(id)),
        RedactedPart::Title => None,
    }
}

fn redact_message(message: &[u8], gone: Gone<'_>) -> Vec<u8> {
    let mut out = b"{".to_vec();
    let mut members = Members::new(&mut out, false);
    for (key, place) in members_of(message, 0) {
        let value = &message[place.clone()];
        match (key, gone) {
            ("body", Gone::Everything | Gone::Body) => members.text(key, mark_of(value)),
            ("author", Gone::Everything) => members.raw(key, NOBODY),
            // One that is left is written with `attachments`, which are before it.
            ("attachment", Gone::Everything | Gone::Attachment(_))
            | ("attachments" | "intent_labels" | "sentiment", Gone::Everything) => {}
            ("attachments", Gone::Attachment(id)) => {
                let records = elements_at(message, place.start).map(|record| &message[record]);
                let left: Vec<_> = records.filter(|record| !is_file(record, id)).collect();
                if let Some(first) = left.first() {
                    let left: Vec<_> = left.iter().map(|record| record.to_vec()).collect();
                    write_rendered(&left, members.key(key));
                    members.raw("attachment", first);
                }
            }
            _ => members.raw(key, value),
        }
    }
    out.push(b'}');
    out
}

/// Whether the record of an attachment is that of the server's file with this id.
fn is_file(record: &[u8], id: &str) -> bool {
    let url = members_of(record, 0).find(|(key, _)| *key == "url");
    let url = url.and_then(|(_, url)| json::parse(&record[url]).ok());
    let path = url.as_ref().and_then(Json::as_str).filter(|url| url.starts_with('/'));
    path.and_then(|path| path.split_once("/attachments/")).is_some_and(|(_, known)| known == id)
}
