//! The head of an issue: everything from `id` to `cc`, in fixed order, and the columns read with
//! it. Three parts of it are rendered here; between them go the id, the app and `created_at`, which
//! the plan decides.

use super::reader::{At, Reader};
use super::{IssueMap, TEXT_CHARS_MAX};
use crate::fold::fold;
use crate::ids::{DomainName, FOREIGN_ID_CHARS_MAX};
use crate::issue::columns::{IssueFacts, IssueQueue, IssueState};
use crate::issue::render::{Members, write_texts};
use crate::issue::{TAG_CHARS_MAX, UNASSIGNED};
use crate::json::{Json, write_string};
use crate::time::UnixMillis;

/// The rendered head, but for what the plan decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadTemplate {
    /// `title`, `tags`.
    before_app: Vec<u8>,
    /// `domain` to `state_data`.
    before_created: Vec<u8>,
    /// `updated_at` to `cc`.
    after_created: Vec<u8>,
}

impl HeadTemplate {
    /// The whole head: members without braces.
    pub fn render(
        &self,
        id: u64,
        (app_id, app_publish_id): (&str, &str),
        created_at: UnixMillis,
        original_created_at: Option<UnixMillis>,
    ) -> Vec<u8> {
        let parts = [&self.before_app, &self.before_created, &self.after_created];
        let known = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut out = Vec::with_capacity(known + app_id.len() + app_publish_id.len() + 128);
        out.extend_from_slice(format!("\"id\":{id}").as_bytes());
        out.extend_from_slice(&self.before_app);
        let mut members = Members::new(&mut out, true);
        members.text("app_id", app_id);
        members.text("app_publish_id", app_publish_id);
        out.extend_from_slice(&self.before_created);
        let mut members = Members::new(&mut out, true);
        members.number("created_at", created_at.0);
        if let Some(original) = original_created_at {
            members.number("original_created_at", original.0);
        }
        out.extend_from_slice(&self.after_created);
        out
    }
}

/// Who wrote the issue, as far as the head says.
pub(in crate::issue) struct Author<'j> {
    pub(in crate::issue) profile: Option<&'j str>,
    pub(in crate::issue) name: &'j str,
    pub(in crate::issue) email: &'j str,
}

impl<'j> Author<'j> {
    pub(super) fn read(map: &IssueMap<'j, '_>, reader: &mut Reader) -> Self {
        Self {
            profile: reader.id(map, "hs_user_id"),
            name: reader.text(map, "author_name", TEXT_CHARS_MAX).unwrap_or_default(),
            email: reader.text(map, "author_email", TEXT_CHARS_MAX).unwrap_or_default(),
        }
    }
}

/// Whom the issue is assigned to.
pub(in crate::issue) struct Assignee<'j> {
    pub(in crate::issue) id: Option<&'j str>,
    pub(in crate::issue) name: Option<&'j str>,
}

impl<'j> Assignee<'j> {
    pub(super) fn read(map: &IssueMap<'j, '_>, reader: &mut Reader) -> Self {
        Self {
            id: reader.id(map, "assignee_id").filter(|id| *id != UNASSIGNED),
            name: reader.text(map, "assignee_name", TEXT_CHARS_MAX),
        }
    }
}

/// What was read before the head.
pub(in crate::issue) struct Context<'c> {
    pub(in crate::issue) domain: &'c DomainName,
    pub(in crate::issue) created_at: UnixMillis,
    pub(in crate::issue) last_message_at: Option<UnixMillis>,
    pub(in crate::issue) author: &'c Author<'c>,
    pub(in crate::issue) assignee: &'c Assignee<'c>,
    pub(in crate::issue) hs_user_id: &'c str,
}

/// Reads the rest of the head and renders it.
pub(super) fn read(
    context: &Context<'_>,
    map: &IssueMap<'_, '_>,
    reader: &mut Reader,
) -> (IssueFacts, HeadTemplate) {
    let (state, changed_at) = state_data(map, context.created_at, reader);
    let latest =
        context.created_at.max(changed_at).max(context.last_message_at.unwrap_or_default());
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let facts = IssueFacts {
        updated_at: reader.instant(map, "updated_at").unwrap_or(latest),
        changed_at,
        state,
        assignee_id: owned(context.assignee.id),
        assignee_name: owned(context.assignee.name),
        queue: queue(map, reader),
        hs_user_id: context.hs_user_id.to_owned(),
        author_email: fold(context.author.email),
        rating: reader.integer(map, "feedback_rating", (1, 5)).map(|rating| rating as u8),
        language: owned(reader.text(map, "language", FOREIGN_ID_CHARS_MAX)),
        platform_type: owned(reader.text(map, "platform_type", FOREIGN_ID_CHARS_MAX)),
        issue_mode: owned(issue_mode(map, reader)),
        redacted: reader.boolean(map, "redacted").unwrap_or_default(),
        tags: reader
            .texts(map, "tags", TAG_CHARS_MAX)
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    let title = reader.text(map, "title", TEXT_CHARS_MAX).unwrap_or_default();
    let cc = reader.texts(map, "cc", TEXT_CHARS_MAX);
    let head = render(context, &facts, title, cc);
    (facts, head)
}

/// Renders the head; see [`HeadTemplate::render`] for what is left out of it.
pub(in crate::issue) fn render(
    context: &Context<'_>,
    facts: &IssueFacts,
    title: &str,
    cc: Option<Vec<&str>>,
) -> HeadTemplate {
    let mut head = HeadTemplate::default();
    let mut members = Members::new(&mut head.before_app, true);
    members.text("title", title);
    write_texts(facts.tags.iter().map(String::as_str), members.key("tags"));

    let mut members = Members::new(&mut head.before_created, true);
    members.text("domain", context.domain.as_str());
    members.text("hs_user_id", context.hs_user_id);
    members.text("author_name", context.author.name);
    members.text("author_email", context.author.email);
    members.text("assignee_id", context.assignee.id.unwrap_or(UNASSIGNED));
    match context.assignee.name {
        Some(name) => members.text("assignee_name", name),
        None => members.raw("assignee_name", b"null"),
    }
    members.raw("redacted", if facts.redacted { b"true" } else { b"false" });
    let state_data = members.key("state_data");
    state_data.push(b'{');
    let mut inner = Members::new(state_data, false);
    inner.text("state", facts.state.as_str());
    inner.number("changed_at", facts.changed_at.0);
    state_data.push(b'}');

    let mut members = Members::new(&mut head.after_created, true);
    members.number("updated_at", facts.updated_at.0);
    members.optional_text("language", facts.language.as_deref());
    members.optional_text("platform_type", facts.platform_type.as_deref());
    if let Some(mode) = &facts.issue_mode {
        let out = members.key("issue_mode_data");
        out.extend_from_slice(b"{\"issue_mode\":");
        write_string(mode, out);
        out.push(b'}');
    }
    if let Some(cc) = cc {
        write_texts(cc, members.key("cc"));
    }
    head
}

/// The state and when it changed; a new one of the day of creation where nothing is said.
fn state_data(
    map: &IssueMap<'_, '_>,
    created_at: UnixMillis,
    reader: &mut Reader,
) -> (IssueState, UnixMillis) {
    const FIELDS: [&str; 2] = ["state", "changed_at"];
    let at = map.at.key("state_data");
    let Some(data) = map.get("state_data").and_then(|json| reader.map(json, &FIELDS, &at)) else {
        return (IssueState::New, created_at);
    };
    let words = IssueState::ALL.iter().map(|state| (state.as_str(), *state));
    let state = reader.word(&data, "state", words).unwrap_or(IssueState::New);
    (state, reader.instant(&data, "changed_at").unwrap_or(created_at))
}

fn issue_mode<'j>(map: &IssueMap<'j, '_>, reader: &mut Reader) -> Option<&'j str> {
    const FIELDS: [&str; 1] = ["issue_mode"];
    let at = map.at.key("issue_mode_data");
    let data = reader.map(map.get("issue_mode_data")?, &FIELDS, &at)?;
    reader.text(&data, "issue_mode", FOREIGN_ID_CHARS_MAX)
}

/// The queue; its id stands for a missing name.
fn queue(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Option<IssueQueue> {
    const FIELDS: [&str; 2] = ["id", "name"];
    let at: At<'_> = map.at.key("queue");
    let json: &Json<'_> = map.get("queue")?;
    let data = reader.map(json, &FIELDS, &at)?;
    let name = reader.text(&data, "name", TEXT_CHARS_MAX);
    let id = reader.required_id(&data, "id")?;
    Some(IssueQueue { id: id.to_owned(), name: name.unwrap_or(id).to_owned() })
}
