//! Reads the forms of the writing calls into typed requests. A request only names its references
//! (agents, an app, a queue, issues); the store decides whether they exist. Each reader returns the
//! request as far as it could be read, together with every fault.

use super::edit::written_bytes;
use super::fields::Fields;
use super::merge::CustomFieldPatch;
use super::message::TEXT_MESSAGE;
use super::requests::{
    AgentSelector, Assignment, BulkEditRequest, CreateRequest, EditRequest, MessageRequest,
    NoteRequest, Reference,
};
use crate::error_code::ErrorCode;
use crate::ids::{FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX};
use crate::issue::custom_field::read_custom_field;
use crate::issue::limits::count_keys;
use crate::issue::reader::shown;
use crate::issue::render::{Members, write_meta};
use crate::issue::{
    IssuePart, IssueState, MESSAGE_BODY_BYTES_MAX, TAG_CHARS_MAX, TEXT_CHARS_MAX, UNASSIGNED,
};
use crate::json::{DEPTH_MAX, Json, write_string};
use crate::parameters::ParameterFault;
use crate::spelling::{folded_address, trimmed};
use crate::tags::{ADD_TAGS, REMOVE_TAGS, in_both};

/// Most issues of one bulk edit.
pub const BULK_EDIT_ISSUES_MAX: usize = 5000;
/// Most bytes that a bulk edit writes into its issues: all its fields, times its issues.
pub const BULK_EDIT_BYTES_MAX: usize = 8 << 20;
/// Most bytes of its issues, as they are stored: one that changes is written again as a whole.
pub const BULK_EDIT_STORED_BYTES_MAX: usize = 64 << 20;

/// The fields of `POST …/issues`.
pub const CREATE_FIELDS: &[&str] = &[
    "message-body",
    "email",
    "title",
    "author-name",
    "tags",
    "meta",
    "custom_fields",
    "platform-type",
    "platform-id",
    "app-id",
    "language",
    "cc",
    "end_user_id",
    "identifier",
];
/// The fields of `POST …/issues/{id}/messages`.
pub const MESSAGE_FIELDS: &[&str] = &["message-body", "message-type", "agent-id"];
/// The fields of `POST …/issues/{id}/private-notes`.
pub const NOTE_FIELDS: &[&str] = &["note-text", "profile-id"];
/// The fields of `PUT …/issues/{id}`.
pub const EDIT_FIELDS: &[&str] = &[
    "title",
    "tags",
    ADD_TAGS,
    REMOVE_TAGS,
    "meta",
    "custom_fields",
    "status",
    "assignee-id",
    "assignee-email",
    "agent-profile-id",
    "queue_id",
];
/// The fields of `PUT …/issues`.
pub const BULK_EDIT_FIELDS: &[&str] = &[
    "issue-ids",
    "tags",
    ADD_TAGS,
    REMOVE_TAGS,
    "assignee-id",
    "assignee-email",
    "status",
    "message-body",
    "custom_fields",
    "action_taken_by",
];
/// A request as far as it could be read, and the faults of its form.
pub type ParsedForm<T> = (T, Vec<ParameterFault>);

/// Reads the form of a new issue.
pub fn read_create(pairs: &[(String, String)]) -> ParsedForm<CreateRequest> {
    let mut fields = Fields::new(pairs, CREATE_FIELDS);
    let request = CreateRequest {
        body: fields.required("message-body", MESSAGE_BODY_BYTES_MAX).to_owned(),
        title: owned(fields.text("title", TEXT_CHARS_MAX)),
        email: owned(fields.text("email", TEXT_CHARS_MAX).map(trimmed)),
        author_name: owned(fields.text("author-name", TEXT_CHARS_MAX)),
        end_user_id: owned(fields.text("end_user_id", FOREIGN_ID_CHARS_MAX)),
        identifier: owned(fields.text("identifier", TEXT_CHARS_MAX)),
        tags: tags(&mut fields, "tags").unwrap_or_default(),
        meta: meta(&mut fields),
        custom_fields: custom_fields(&mut fields).unwrap_or_default(),
        platform_type: owned(fields.text("platform-type", FOREIGN_ID_CHARS_MAX)),
        app_id: reference(&mut fields, "app-id"),
        language: owned(fields.text("language", FOREIGN_ID_CHARS_MAX)),
        cc: fields.texts("cc", TEXT_CHARS_MAX),
    };
    // Platforms are not records of their own: the field is read and ignored.
    fields.text("platform-id", FOREIGN_ID_CHARS_MAX);
    (request, fields.faults)
}

/// Reads the form of a message.
pub fn read_message(pairs: &[(String, String)]) -> ParsedForm<MessageRequest> {
    let mut fields = Fields::new(pairs, MESSAGE_FIELDS);
    let body = fields.required("message-body", MESSAGE_BODY_BYTES_MAX).to_owned();
    fields.word("message-type", std::iter::once((TEXT_MESSAGE, ())));
    let agent = agent(&mut fields, "agent-id");
    (MessageRequest { body, agent }, fields.faults)
}

/// Reads the form of a private note.
pub fn read_note(pairs: &[(String, String)]) -> ParsedForm<NoteRequest> {
    let mut fields = Fields::new(pairs, NOTE_FIELDS);
    let text = fields.required("note-text", MESSAGE_BODY_BYTES_MAX).to_owned();
    fields.check_chars("note-text", &text, TEXT_CHARS_MAX);
    let author = agent(&mut fields, "profile-id");
    (NoteRequest { text, author }, fields.faults)
}

/// Reads the form of changes to one issue.
pub fn read_edit(pairs: &[(String, String)]) -> ParsedForm<EditRequest> {
    let mut fields = Fields::new(pairs, EDIT_FIELDS);
    let title = fields.sent("title").map(|(spelled, title)| {
        fields.check_chars(spelled, title, TEXT_CHARS_MAX);
        title.to_owned()
    });
    let meta = meta(&mut fields);
    let acting = agent(&mut fields, "agent-profile-id");
    let queue_id = reference(&mut fields, "queue_id");
    let edit = EditRequest { title, meta, queue_id, acting, ..changes(&mut fields) };
    let changing = EDIT_FIELDS.iter().filter(|name| **name != "agent-profile-id");
    require_change(&mut fields, changing);
    (edit, fields.faults)
}

/// Reads the form of changes to many issues.
pub fn read_bulk_edit(pairs: &[(String, String)]) -> ParsedForm<BulkEditRequest> {
    let mut fields = Fields::new(pairs, BULK_EDIT_FIELDS);
    let issue_ids = issue_ids(&mut fields);
    let edit = changes(&mut fields);
    let message = fields.get("message-body").map(|(spelled, body)| {
        fields.check_bytes(spelled, body, MESSAGE_BODY_BYTES_MAX);
        body.to_owned()
    });
    let action_taken_by = owned(fields.text("action_taken_by", TEXT_CHARS_MAX));
    let texts = (message.as_deref(), action_taken_by.as_deref());
    check_written(&mut fields, &edit, texts, issue_ids.to.len());
    let changing =
        BULK_EDIT_FIELDS.iter().filter(|name| !["issue-ids", "action_taken_by"].contains(name));
    require_change(&mut fields, changing);
    (BulkEditRequest { issue_ids, edit, message, action_taken_by }, fields.faults)
}

/// Refuses a bulk edit that would write too much: a short request may name thousands of issues. The
/// fault is that of the longest field.
fn check_written(
    fields: &mut Fields<'_>,
    edit: &EditRequest,
    (message, author): (Option<&str>, Option<&str>),
    issues: usize,
) {
    // A message that is too long for one issue is a fault already.
    let message = message.filter(|body| body.len() <= MESSAGE_BODY_BYTES_MAX);
    let written = written_bytes(edit, message, author);
    let together = written.iter().map(|(_, bytes)| bytes).sum::<usize>() * issues;
    let longest = written.into_iter().max_by_key(|(_, bytes)| *bytes);
    let Some((name, _)) = longest.filter(|_| together > BULK_EDIT_BYTES_MAX) else { return };
    let spelled = fields.sent(name).map_or(name, |(spelled, _)| spelled);
    let detail = format!(
        "the edit writes {together} bytes over all issues; at most {BULK_EDIT_BYTES_MAX} are \
         allowed; name fewer issues at once, or send shorter fields"
    );
    fields.fault(spelled, ErrorCode::TooLarge, detail);
}

fn tags(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    fields.limited_texts(name, IssuePart::Tags, TAG_CHARS_MAX)
}

/// An edit either replaces all tags or changes some, and neither adds nor removes the same tag.
fn check_tag_changes(fields: &mut Fields<'_>, add: &[String], remove: &[String]) {
    if let Some((all, _)) = fields.get("tags") {
        for (change, _) in [ADD_TAGS, REMOVE_TAGS].map(|name| fields.get(name)).iter().flatten() {
            let detail = format!("{all} replaces all tags; send {all} or {change}, not both");
            fields.fault(change, ErrorCode::ConflictingParameter, detail);
        }
    } else if let (Some((added, _)), Some((removed, _)), Some(tag)) =
        (fields.get(ADD_TAGS), fields.get(REMOVE_TAGS), in_both(add, remove))
    {
        let tag = shown(tag);
        let detail = format!("the tag {tag:?} is in {added} as well; send it in one of them");
        fields.fault(removed, ErrorCode::ConflictingParameter, detail);
    }
}

/// The changes that both kinds of edit share.
fn changes(fields: &mut Fields<'_>) -> EditRequest {
    let [all, add, remove] = ["tags", ADD_TAGS, REMOVE_TAGS].map(|name| tags(fields, name));
    let (add_tags, remove_tags) = (add.unwrap_or_default(), remove.unwrap_or_default());
    check_tag_changes(fields, &add_tags, &remove_tags);
    let states = IssueState::ALL.iter().map(|state| (state.as_str(), *state));
    EditRequest {
        tags: all,
        add_tags,
        remove_tags,
        custom_fields: custom_fields(fields),
        status: fields.word("status", states),
        assignment: assignment(fields),
        ..EditRequest::default()
    }
}

/// A call that would change nothing is a mistake.
fn require_change<'n>(fields: &mut Fields<'_>, names: impl Iterator<Item = &'n &'static str>) {
    let names: Vec<&str> = names.copied().collect();
    // An empty title is a title; other empty fields read as absent.
    let changing =
        |name: &&str| fields.get(name).or(fields.sent(name).filter(|_| *name == "title"));
    if fields.faults.is_empty() && !names.iter().any(|name| changing(name).is_some()) {
        let detail = format!("the form changes nothing: give at least one of {}", names.join(", "));
        fields.fault(names[0], ErrorCode::MissingField, detail);
    }
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn reference(fields: &mut Fields<'_>, name: &str) -> Option<Reference<String>> {
    let (spelled, _) = fields.get(name)?;
    let to = fields.text(name, FOREIGN_ID_CHARS_MAX)?.to_owned();
    Some(Reference { field: spelled.to_owned(), to })
}

fn agent(fields: &mut Fields<'_>, name: &str) -> Option<Reference<AgentSelector>> {
    let Reference { field, to } = reference(fields, name)?;
    Some(Reference { field, to: AgentSelector::Id(to) })
}

/// `assignee-id` and `assignee-email`; if both are given, they must mean the same agent.
fn assignment(fields: &mut Fields<'_>) -> Option<Assignment> {
    let by_id = reference(fields, "assignee-id");
    let by_email = fields.get("assignee-email").map(|(spelled, email)| Reference {
        field: spelled.to_owned(),
        to: AgentSelector::Email(folded_address(email)),
    });
    match by_id {
        Some(id) if id.to == UNASSIGNED => {
            if let Some(email) = by_email {
                let detail = format!(
                    "{} names an agent and {} says {UNASSIGNED}; send one of them",
                    email.field, id.field
                );
                fields.fault(&email.field, ErrorCode::ConflictingParameter, detail);
            }
            Some(Assignment::Unassign)
        }
        by_id => {
            let by_id =
                by_id.map(|Reference { field, to }| Reference { field, to: AgentSelector::Id(to) });
            let agents: Vec<_> = by_id.into_iter().chain(by_email).collect();
            (!agents.is_empty()).then_some(Assignment::Agent(agents))
        }
    }
}

/// `meta` with its numbers and booleans as strings. It is one level down in the map of an issue,
/// and an exported issue must be readable again.
fn meta(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    const LEVELS_MAX: usize = DEPTH_MAX - 1;
    let (spelled, members) = fields.map("meta")?;
    let map = Json::Object(members);
    if !nests_within(&map, LEVELS_MAX) {
        let detail = format!("{spelled} nests deeper than {LEVELS_MAX} levels; make it flatter");
        fields.fault(spelled, ErrorCode::InvalidValue, detail);
    }
    // A null removes its key, so it does not count.
    fields.check_count(spelled, IssuePart::MetaKeys, count_keys(&map, false));
    let mut out = Vec::new();
    write_meta(&map, &mut out);
    Some(out)
}

/// Whether maps and lists nest to at most `levels` levels.
fn nests_within(json: &Json<'_>, levels: usize) -> bool {
    match (json, levels.checked_sub(1)) {
        (Json::Array(items), Some(rest)) => items.iter().all(|item| nests_within(item, rest)),
        (Json::Object(members), Some(rest)) => {
            members.iter().all(|(_, item)| nests_within(item, rest))
        }
        (Json::Array(_) | Json::Object(_), None) => false,
        _ => true,
    }
}

/// Custom fields, each checked by its type; a null removes the field.
fn custom_fields(fields: &mut Fields<'_>) -> Option<CustomFieldPatch> {
    let (spelled, members) = fields.map("custom_fields")?;
    let mut patch = CustomFieldPatch::default();
    let set = members.iter().filter(|(_, field)| *field != Json::Null).count();
    if !fields.check_count(spelled, IssuePart::CustomFields, set) {
        return Some(patch);
    }
    for member in &members {
        let (key, field) = member;
        if *field == Json::Null {
            patch.0.push((key.clone().into_owned(), None));
            continue;
        }
        let rendered = fields.read_as_entry(spelled, |at, reader| {
            let mut out = Vec::new();
            read_custom_field(member, at, &mut Members::new(&mut out, false), reader);
            let mut name = Vec::new();
            write_string(key, &mut name);
            // The output is a whole member: its value follows the name and a colon.
            out.drain(..out.len().min(name.len() + 1));
            out
        });
        patch.0.push((key.clone().into_owned(), Some(rendered)));
    }
    Some(patch)
}

fn issue_ids(fields: &mut Fields<'_>) -> Reference<Vec<u64>> {
    const EXPECTED: &str = "a list of issue ids such as 1,2 or [1,2]";
    let mut ids = Reference::<Vec<u64>>::default();
    if fields.get("issue-ids").is_none() {
        let detail = format!("the field issue-ids is required: {EXPECTED}");
        fields.fault("issue-ids", ErrorCode::MissingField, detail);
        return ids;
    }
    let Some((spelled, items)) = fields.list("issue-ids", EXPECTED) else { return ids };
    spelled.clone_into(&mut ids.field);
    for item in &items {
        let digits = match item {
            Json::Number(digits) => digits,
            other => other.as_str().unwrap_or_default(),
        };
        let number = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        let id = number.and_then(|digits| digits.parse().ok());
        if let Some(id @ 1..=ISSUE_ID_MAX) = id {
            ids.to.push(id);
            continue;
        }
        let mut text = Vec::new();
        item.write_to(&mut text);
        let text = String::from_utf8_lossy(&text);
        let detail = format!("{} is not an issue id; {EXPECTED} is expected", shown(&text));
        fields.fault(spelled, ErrorCode::InvalidValue, detail);
    }
    let mut seen = std::collections::HashSet::new();
    ids.to.retain(|id| seen.insert(*id));
    if items.is_empty() || ids.to.len() > BULK_EDIT_ISSUES_MAX {
        let detail = format!(
            "{spelled} names {} issues; 1 to {BULK_EDIT_ISSUES_MAX} are allowed",
            items.len()
        );
        fields.fault(spelled, ErrorCode::OutOfRange, detail);
    }
    ids
}
