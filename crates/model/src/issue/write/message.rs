//! Adds messages and notes to an issue: rendered as an import renders them, appended, and with the
//! state and the times that follow.

use super::Moment;
use super::attachment::{Attachment, write_attachments};
use super::author::{AgentSummary, IssueAuthor};
use super::merge::require_room;
use super::record::{IssueRecord, IssueWriteError, append};
use super::state::after_message;
use crate::ids::{DomainName, timed_id};
use crate::issue::message::{Message, Origin};
use crate::issue::person::{Person, write_person};
use crate::issue::render::Members;
use crate::issue::{IssuePart, MESSAGES_MAX};
use crate::json::elements_at;

/// Bytes of the shortest rendered message.
const MESSAGE_BYTES_MIN: usize = 80;
/// The type of every message, as answers show it.
pub(super) const TEXT_MESSAGE: &str = "Text";

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageAuthor {
    /// The issue's own author.
    EndUser,
    /// An agent or the desk, with an address.
    Desk(AgentSummary),
}

/// A message to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage<'m> {
    pub body: &'m str,
    pub author: MessageAuthor,
    pub attachments: &'m [Attachment],
}

impl NewMessage<'_> {
    /// The side that the message comes from.
    pub(super) const fn origin(&self) -> Origin {
        match self.author {
            MessageAuthor::EndUser => Origin::EndUser,
            MessageAuthor::Desk(_) => Origin::Agent,
        }
    }
}

/// Renders one message of this moment.
pub(super) fn render_message(
    domain: &DomainName,
    (body, attachments): (&str, &[Attachment]),
    origin: Origin,
    author: &Person<'_>,
    moment: Moment,
) -> Vec<u8> {
    let message = Message {
        body,
        created_at: moment.at,
        origin: Some(origin),
        attachments: attachments.iter().map(|file| file.render(domain)).collect(),
        ..Message::default()
    };
    let id = timed_id(domain, "message", moment.at, moment.random);
    let mut out = Vec::new();
    message.render(&id, origin, author, &mut out);
    out
}

/// Appends the message; the caller updates state, head and times.
pub(super) fn append_message(
    domain: &DomainName,
    issue: &mut IssueRecord,
    message: &NewMessage<'_>,
    moment: Moment,
) -> Result<(), IssueWriteError> {
    require_message_room(&issue.body.messages)?;
    let content = (message.body, message.attachments);
    let origin = message.origin();
    let rendered = match &message.author {
        MessageAuthor::EndUser => {
            let author = IssueAuthor::of(issue).ok_or(IssueWriteError::Damaged)?;
            render_message(domain, content, origin, &author.person(), moment)
        }
        MessageAuthor::Desk(agent) => {
            render_message(domain, content, origin, &agent.person(), moment)
        }
    };
    append(&mut issue.body.messages, &rendered);
    Ok(())
}

/// Refuses one more message if the issue has as many as it may have.
fn require_message_room(messages: &[u8]) -> Result<(), IssueWriteError> {
    // Most issues are too short to have so many.
    if messages.len() < MESSAGES_MAX * MESSAGE_BYTES_MIN {
        return Ok(());
    }
    let before = elements_at(messages, 0).count();
    require_room(IssuePart::Messages, before, before + 1)
}

/// The issue with one more message.
pub fn plan_message(
    domain: &DomainName,
    stored: &IssueRecord,
    message: &NewMessage<'_>,
    moment: Moment,
) -> Result<IssueRecord, IssueWriteError> {
    let mut issue = stored.clone();
    append_message(domain, &mut issue, message, moment)?;
    let facts = &mut issue.columns.facts;
    facts.state = after_message(facts.state, message.origin());
    issue.finish_write(stored, None, moment.at)
}

/// The issue with one more private note.
pub fn plan_note(
    stored: &IssueRecord,
    text: &str,
    author: &AgentSummary,
    moment: Moment,
) -> Result<IssueRecord, IssueWriteError> {
    let mut note = b"{".to_vec();
    let mut members = Members::new(&mut note, false);
    members.text("body", text);
    members.number("created_at", moment.at.0);
    write_person(&author.person(), members.key("author"));
    note.push(b'}');
    let mut issue = stored.clone();
    append(issue.body.private_notes.get_or_insert_default(), &note);
    issue.finish_write(stored, None, moment.at)
}

/// The body of the answer to a new message.
pub fn message_answer(domain: &DomainName, body: &str, attachments: &[Attachment]) -> Vec<u8> {
    let mut out = b"{\"added-message\":{".to_vec();
    let mut members = Members::new(&mut out, false);
    members.text("body", body);
    members.text("type", TEXT_MESSAGE);
    write_attachments(domain, attachments, &mut members);
    out.extend_from_slice(b"}}");
    out
}

/// The body of the answer to a new note.
pub fn note_answer(text: &str) -> Vec<u8> {
    let mut out = b"{".to_vec();
    Members::new(&mut out, false).text("added-note", text);
    out.push(b'}');
    out
}
