//! Plans the edit of one issue, alone or as one of many: the changes, the new state and the answer.
//! The assignee changes first, then the message is added; a given status overrides the states that
//! these set. A move to another queue unassigns the issue if the edit names no assignee. The first
//! step of a plan needs no time, so that the domain's clock is asked only for an edit that changes
//! something. Invariant: an edit that changes nothing leaves every byte of the issue as it is, its
//! times included.

use std::borrow::Cow;

use super::Moment;
use super::author::AgentSummary;
use super::merge::{CustomFieldPatch, merge, require_room};
use super::message::{NewMessage, append_message};
use super::record::{IssueRecord, IssueWriteError};
use super::requests::{BulkEditRequest, EditRequest};
use super::state::{after_assignment, after_message};
use crate::ids::DomainName;
use crate::issue::fragments::IssueBody;
use crate::issue::render::{Members, write_texts};
use crate::issue::{IssuePart, IssueQueue, IssueState, UNASSIGNED};
use crate::json::{self, Json, write_string};
use crate::tags::{ADD_TAGS, REMOVE_TAGS, changed};

/// The records that the references of an edit lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditTargets {
    /// The new assignee, if the edit assigns; `Some(None)` unassigns.
    pub assignee: Option<Option<AgentSummary>>,
    pub queue: Option<IssueQueue>,
}

/// An edit of one issue, except for the parts that depend on its time.
#[derive(Debug)]
pub struct EditDraft<'e> {
    stored: &'e IssueRecord,
    /// With every change but those of title, message and times.
    issue: IssueRecord,
    /// If it is another one.
    title: Option<&'e str>,
    message: Option<&'e NewMessage<'e>>,
    answer: Vec<u8>,
    /// Why the edit cannot be applied to this issue.
    refused: Option<IssueWriteError>,
}

/// An issue after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPlan {
    pub issue: IssueRecord,
    /// The body of the answer to an edit of one issue: only the changes.
    pub answer: Vec<u8>,
}

impl<'e> EditDraft<'e> {
    pub fn new(
        stored: &'e IssueRecord,
        edit: &'e EditRequest,
        targets: &EditTargets,
        message: Option<&'e NewMessage<'e>>,
    ) -> Self {
        let mut issue = stored.clone();
        let mut answer = b"{\"updated-data\":{".to_vec();
        let mut members = Members::new(&mut answer, false);
        let new_queue = targets.queue.as_ref().filter(|queue| !is_in(stored, queue));
        match &targets.assignee {
            Some(assignee) => assign(&mut issue, assignee.as_ref()),
            // Its assignee worked on it in the queue that it leaves.
            None if new_queue.is_some() => assign(&mut issue, None),
            None => (),
        }
        let facts = &mut issue.columns.facts;
        if let Some(message) = message {
            facts.state = after_message(facts.state, message.origin());
        }
        if let Some(status) = edit.status {
            facts.state = status;
        }
        if facts.state != stored.columns.facts.state {
            members.text("status", facts.state.as_str());
        }
        if facts.assignee_id != stored.columns.facts.assignee_id {
            members.text("assignee", facts.assignee_id.as_deref().unwrap_or(UNASSIGNED));
        }
        let title = edit.title.as_deref().filter(|title| !has_title(stored, title));
        members.optional_text("title", title);
        let tags = tags_after(&facts.tags, edit);
        let too_many = require_room(IssuePart::Tags, facts.tags.len(), tags.len());
        if tags != facts.tags {
            write_tags(&tags, members.key("tags"));
            facts.tags = tags.into_owned();
        }
        let maps = change_maps(&mut issue.body, edit, &mut members);
        let refused = too_many.and(maps).err();
        if let Some(queue) = new_queue {
            set_queue(&mut issue, queue, &mut members);
        }
        answer.extend_from_slice(b"}}");
        Self { stored, issue, title, message, answer, refused }
    }

    /// Whether the edit changes anything, or would if it were not refused.
    pub fn changes_issue(&self) -> bool {
        self.refused.is_some()
            || self.title.is_some()
            || self.message.is_some()
            || self.issue != *self.stored
    }

    /// The plan. An edit that changes nothing leaves the issue as it is.
    pub fn finish(self, domain: &DomainName, moment: Moment) -> Result<EditPlan, IssueWriteError> {
        if let Some(why) = self.refused {
            return Err(why);
        }
        if !self.changes_issue() {
            return Ok(EditPlan { issue: self.issue, answer: self.answer });
        }
        let Self { stored, mut issue, title, message, answer, .. } = self;
        if let Some(message) = message {
            append_message(domain, &mut issue, message, moment)?;
        }
        let issue = issue.finish_write(stored, title, moment.at)?;
        Ok(EditPlan { issue, answer })
    }
}

/// Assigns the issue, unless it has this assignee already.
fn assign(issue: &mut IssueRecord, assignee: Option<&AgentSummary>) {
    let facts = &mut issue.columns.facts;
    let after = assignee.map(|agent| agent.id.as_str());
    if facts.assignee_id.as_deref() == after {
        return;
    }
    facts.state = after_assignment(facts.state, facts.assignee_id.as_deref(), after);
    facts.assignee_id = after.map(str::to_owned);
    facts.assignee_name = assignee.map(|agent| agent.name.clone());
}

fn tags_after<'t>(tags: &'t [String], edit: &'t EditRequest) -> Cow<'t, [String]> {
    match &edit.tags {
        Some(tags) => Cow::Borrowed(tags),
        None if edit.add_tags.is_empty() && edit.remove_tags.is_empty() => Cow::Borrowed(tags),
        None => Cow::Owned(changed(tags, &edit.add_tags, &edit.remove_tags)),
    }
}

fn write_tags(tags: &[String], out: &mut Vec<u8>) {
    write_texts(tags.iter().map(String::as_str), out);
}

fn is_in(issue: &IssueRecord, queue: &IssueQueue) -> bool {
    issue.columns.facts.queue.as_ref().is_some_and(|before| before.id == queue.id)
}

/// Writes the queue that the issue moves to.
fn set_queue(issue: &mut IssueRecord, queue: &IssueQueue, members: &mut Members<'_>) {
    let facts = &mut issue.columns.facts;
    members.text("queue_id", &queue.id);
    issue.body.queue = Some(queue.render());
    facts.queue = Some(queue.clone());
}

fn has_title(stored: &IssueRecord, title: &str) -> bool {
    let map = [b"{", stored.head.as_slice(), b"}"].concat();
    json::parse(&map).is_ok_and(|head| head.get("title").and_then(Json::as_str) == Some(title))
}

fn change_maps(
    body: &mut IssueBody,
    edit: &EditRequest,
    members: &mut Members<'_>,
) -> Result<(), IssueWriteError> {
    if let Some(patch) = &edit.meta {
        let merged = merge(&body.meta, patch)?;
        if merged != body.meta {
            members.raw("meta", patch);
            body.meta = merged;
        }
    }
    if let Some(patch) = &edit.custom_fields {
        let (fields, changed) = patch.apply(&body.custom_fields)?;
        if changed != CustomFieldPatch::default() {
            members.raw("custom_fields", &changed.render());
            body.custom_fields = fields;
        }
    }
    Ok(())
}

/// Bytes that an edit writes into each of its issues, field by field, however often the issue has
/// the value already. `author` is the name of the author of the message.
pub(super) fn written_bytes(
    edit: &EditRequest,
    message: Option<&str>,
    author: Option<&str>,
) -> [(&'static str, usize); 5] {
    let length = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out.len()
    };
    let text = |text: Option<&str>| text.map_or(0, |text| length(&|out| write_string(text, out)));
    let author = text(message.and(author));
    let message = text(message);
    let tags = edit.tags.as_ref().map_or(0, |tags| length(&|out| write_tags(tags, out)));
    let added = length(&|out| write_tags(&edit.add_tags, out));
    let fields = edit.custom_fields.as_ref().map_or(0, |patch| patch.render().len());
    // The marks around a message or around added tags are not a part of them.
    [
        ("message-body", message.saturating_sub(2)),
        ("action_taken_by", author),
        ("tags", tags),
        (ADD_TAGS, added.saturating_sub(2)),
        ("custom_fields", fields),
    ]
}

/// The body of the answer to an edit of `count` issues.
pub fn bulk_edit_answer(request: &BulkEditRequest, targets: &EditTargets) -> Vec<u8> {
    let edit = &request.edit;
    let mut out = b"{".to_vec();
    let mut members = Members::new(&mut out, false);
    members.number("issue-count", request.issue_ids.to.len() as i64);
    let info = members.key("edit-info");
    info.push(b'{');
    let mut inner = Members::new(info, false);
    inner.optional_text("message-body", request.message.as_deref());
    inner.optional_text("status", edit.status.map(IssueState::as_str));
    if let Some(assignee) = &targets.assignee {
        let id = assignee.as_ref().map_or(UNASSIGNED, |agent| &agent.id);
        inner.text("assignee", id);
        inner.text("assignee-id", id);
    }
    if let Some(tags) = &edit.tags {
        write_tags(tags, inner.key("tags"));
    }
    for (name, tags) in [(ADD_TAGS, &edit.add_tags), (REMOVE_TAGS, &edit.remove_tags)] {
        if !tags.is_empty() {
            write_tags(tags, inner.key(name));
        }
    }
    if let Some(fields) = &edit.custom_fields {
        inner.raw("custom_fields", &fields.render());
    }
    info.push(b'}');
    let mut members = Members::new(&mut out, true);
    members.optional_text("action_taken_by", request.action_taken_by.as_deref());
    out.push(b'}');
    out
}
