//! Reads the head of an issue and the columns that belong to it.

use super::issue_map::IssueMap;
use crate::fold::fold;
use crate::ids::FOREIGN_ID_CHARS_MAX;
use crate::issue::columns::{IssueFacts, IssueQueue, IssueState};
use crate::issue::head::{Assignee, Author, HeadContext, HeadTemplate};
use crate::issue::reader::Reader;
use crate::issue::{ISSUE_MODE_DEFAULT, IssuePart, TAG_CHARS_MAX, TEXT_CHARS_MAX, UNASSIGNED};
use crate::json::{Json, ValuePath};
use crate::spelling::trimmed;
use crate::time::UnixMillis;

pub(super) fn read_author<'j>(map: &IssueMap<'j, '_>, reader: &mut Reader) -> Author<'j> {
    Author {
        profile: reader.id(map, "hs_user_id"),
        name: reader.text(map, "author_name", TEXT_CHARS_MAX).unwrap_or_default(),
        email: reader.text(map, "author_email", TEXT_CHARS_MAX).map(trimmed).unwrap_or_default(),
    }
}

pub(super) fn read_assignee<'j>(map: &IssueMap<'j, '_>, reader: &mut Reader) -> Assignee<'j> {
    let email = reader.text(map, "assignee_email", TEXT_CHARS_MAX).map(trimmed);
    Assignee {
        id: reader.id(map, "assignee_id").filter(|id| *id != UNASSIGNED),
        name: reader.text(map, "assignee_name", TEXT_CHARS_MAX),
        email: email.filter(|email| !email.is_empty()),
    }
}

/// Reads the rest of the head and renders it.
pub(super) fn read(
    context: &HeadContext<'_>,
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
        tags: tags(map, reader),
    };
    let title = reader.text(map, "title", TEXT_CHARS_MAX).unwrap_or_default();
    let cc = reader.texts(map, "cc", TEXT_CHARS_MAX);
    let head = HeadTemplate::new(context, &facts, title, cc);
    (facts, head)
}

fn tags(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Vec<String> {
    let items = reader.limited_list(map, "tags", IssuePart::Tags).unwrap_or_default();
    let texts = reader.texts_of(items, &map.at.key("tags"), TAG_CHARS_MAX);
    texts.into_iter().map(str::to_owned).collect()
}

/// The state and when it changed. By default the issue is new, from its creation on.
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

/// The mode. The default one is stored as none, so that an issue that is exported with it and one
/// that never had a mode are equal.
fn issue_mode<'j>(map: &IssueMap<'j, '_>, reader: &mut Reader) -> Option<&'j str> {
    const FIELDS: [&str; 1] = ["issue_mode"];
    let at = map.at.key("issue_mode_data");
    let data = reader.map(map.get("issue_mode_data")?, &FIELDS, &at)?;
    reader
        .text(&data, "issue_mode", FOREIGN_ID_CHARS_MAX)
        .filter(|mode| *mode != ISSUE_MODE_DEFAULT)
}

/// The queue. Its id replaces a missing name.
fn queue(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Option<IssueQueue> {
    const FIELDS: [&str; 2] = ["id", "name"];
    let at: ValuePath<'_> = map.at.key("queue");
    let json: &Json<'_> = map.get("queue")?;
    let data = reader.map(json, &FIELDS, &at)?;
    let name = reader.text(&data, "name", TEXT_CHARS_MAX);
    let id = reader.required_id(&data, "id")?;
    Some(IssueQueue { id: id.to_owned(), name: name.unwrap_or(id).to_owned() })
}
