//! Writing issues. Each line is a word for a call and its form. Each fault of any form names a
//! field, and the order of the fields does not matter. A good form changes the issue of the lines
//! before it as a plain list of rules says, and leaves an issue that could be exported and imported
//! again. The first line is a new issue or an entry of an import.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue::write::{
    AgentSelector, AgentSummary, Assignment, Attachment, BULK_EDIT_FIELDS, CREATE_FIELDS,
    CreateContext, Desk, EDIT_FIELDS, EditDraft, EditRequest, EditTargets, IssueRecord,
    MESSAGE_FIELDS, MessageAuthor, Moment, NOTE_FIELDS, NewMessage, ParsedForm, author_pid,
    bulk_edit_answer, message_answer, note_answer, plan_create, plan_message, plan_note,
    read_bulk_edit, read_create, read_edit, read_message, read_note, stored_name,
};
use caseload_model::issue::{App, IssueQueue, IssueState};
use caseload_model::issue_query::ParameterFault;
use caseload_model::spelling::unbracketed;
use caseload_model::task::Family;
use caseload_model::time::UnixMillis;

use crate::entries::blocks_of;
use crate::imported::{self, default_app, domain};
use crate::second;

/// The most faults of one form, and the most bytes of one fault.
const FAULTS_MAX: usize = 100;
const DETAIL_BYTES_MAX: usize = 200_000;

/// Lines that are read.
const LINES_MAX: usize = 12;

/// When the first line is written.
const START_MS: i64 = 1_700_000_000_000;

type Pairs = Vec<(String, String)>;

pub(crate) fn holds(data: &[u8]) {
    let mut issue = None;
    for (n, line) in data.split(|byte| *byte == b'\n').take(LINES_MAX).enumerate() {
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let form = line.get(word.len() + 1..).unwrap_or_default();
        let pairs: Pairs = form_urlencoded::parse(form).into_owned().collect();
        let moment = Moment { at: UnixMillis(START_MS + n as i64 / 2), random: n as u64 };
        issue = match (word, issue) {
            (b"create", None) => create(&pairs, moment),
            (b"message", Some(issue)) => Some(message(issue, &pairs, moment)),
            (b"note", Some(issue)) => Some(note(issue, &pairs, moment)),
            (b"edit", Some(issue)) => Some(edit(issue, &pairs, moment)),
            (b"bulk", Some(issue)) => Some(bulk_edit(issue, &pairs, moment)),
            (_, None) => import(line),
            (_, issue) => issue,
        };
        if let Some(issue) = &issue {
            imported::check(std::slice::from_ref(issue));
        }
    }
}

fn import(line: &[u8]) -> Option<IssueRecord> {
    let blocks = blocks_of(line, Family::Issues);
    imported::records(blocks.first()?).pop()
}

/// Reads a form, checks its faults, and returns the request if there are none.
fn read<T: PartialEq + std::fmt::Debug>(
    pairs: &Pairs,
    known: &[&str],
    reader: impl Fn(&[(String, String)]) -> ParsedForm<T>,
) -> Option<T> {
    let (request, faults) = reader(pairs);
    told(pairs, known, &faults);
    if has_repeats(pairs) {
        // The values of one field are in order.
        return faults.is_empty().then_some(request);
    }
    let reversed: Pairs = pairs.iter().rev().cloned().collect();
    let (again, others) = reader(&reversed);
    if faults.len() < FAULTS_MAX {
        let mut counts = [faults.as_slice(), others.as_slice()]
            .map(|faults| faults.iter().map(|fault| fault.code.as_str()).collect::<Vec<_>>());
        for codes in &mut counts {
            codes.sort_unstable();
        }
        if faults.iter().all(|fault| fault.code != ErrorCode::ConflictingParameter) {
            assert_eq!(counts[0], counts[1], "the faults are the same in any order");
        }
    }
    if !faults.is_empty() {
        return None;
    }
    assert_eq!(request, again, "the order of fields does not matter");
    Some(request)
}

/// Whether a field comes several times, in any spelling.
fn has_repeats(pairs: &Pairs) -> bool {
    let mut names = std::collections::HashSet::new();
    pairs.iter().any(|(name, _)| !names.insert(unbracketed(name).0.replace('-', "_")))
}

fn told(pairs: &Pairs, known: &[&str], faults: &[ParameterFault]) {
    assert!(faults.len() <= FAULTS_MAX, "{} faults", faults.len());
    for fault in faults {
        // A repeated name may be shortened.
        let is_given = pairs.iter().any(|(name, _)| name.starts_with(&fault.parameter));
        let is_missing =
            fault.code == ErrorCode::MissingField && known.contains(&fault.parameter.as_str());
        assert!(is_given || is_missing, "{fault:?} names no field");
        assert!((1..=DETAIL_BYTES_MAX).contains(&fault.detail.len()), "{fault:?}");
    }
}

/// A file now and then, with a name that the caller chose.
fn files(pairs: &Pairs, moment: Moment) -> Vec<Attachment> {
    let names = pairs.iter().filter(|(name, _)| name.len() % 5 == 0);
    names
        .map(|(name, _)| Attachment {
            id: Attachment::new_id(&domain(), moment),
            file_name: stored_name(name),
            content_type: "text/plain".to_owned(),
            size: name.len() as u64,
        })
        .collect()
}

fn create(pairs: &Pairs, moment: Moment) -> Option<IssueRecord> {
    let request = read(pairs, CREATE_FIELDS, read_create)?;
    let of_app = |reference: &caseload_model::issue::write::Reference<String>| App {
        app_id: reference.to.clone(),
        publish_id: "7".to_owned(),
    };
    let context = CreateContext {
        domain: &domain(),
        id: 5,
        created_at: moment.at,
        moment,
        app: request.app_id.as_ref().map_or_else(default_app, of_app),
        pid: author_pid(&domain(), &request, None, moment.random),
        profile: None,
        attachments: &files(pairs, moment),
    };
    let plan = plan_create(&context, &request).expect("a short form is not a long issue");
    assert!(second::is_json(&plan.answer), "an answer is JSON");
    let facts = &plan.issue.columns.facts;
    assert_eq!((facts.state, facts.changed_at), (IssueState::New, moment.at));
    Some(plan.issue)
}

/// The agent of an id, or of an address.
fn agent(by: &AgentSelector) -> AgentSummary {
    match by {
        AgentSelector::Id(id) => {
            AgentSummary { id: id.clone(), name: "Eva".to_owned(), email: "Eva@desk".to_owned() }
        }
        AgentSelector::Email(email) => Desk::default().author_named(&domain(), email),
    }
}

fn message(before: IssueRecord, pairs: &Pairs, moment: Moment) -> IssueRecord {
    let Some(request) = read(pairs, MESSAGE_FIELDS, read_message) else { return before };
    let author = request.agent.as_ref().map(|reference| agent(&reference.to));
    let state = match (&author, before.columns.facts.state) {
        (Some(_), _) => IssueState::AgentReplied,
        (None, IssueState::AgentReplied | IssueState::Resolved | IssueState::Rejected) => {
            IssueState::WaitingForAgent
        }
        (None, open) => open,
    };
    let author = author.map_or(MessageAuthor::EndUser, MessageAuthor::Desk);
    let attachments = &files(pairs, moment);
    let message = NewMessage { body: &request.body, author, attachments };
    let after = plan_message(&domain(), &before, &message, moment).expect("room for a message");
    moved(&before, &after, state, moment);
    assert!(after.body.messages.len() > before.body.messages.len());
    assert!(second::is_json(&message_answer(&domain(), &request.body, attachments)));
    after
}

fn note(before: IssueRecord, pairs: &Pairs, moment: Moment) -> IssueRecord {
    let Some(request) = read(pairs, NOTE_FIELDS, read_note) else { return before };
    let author = request.author.as_ref().map(|reference| agent(&reference.to));
    let author = author.unwrap_or_else(|| Desk::default().author(&domain()));
    let after = plan_note(&before, &request.text, &author, moment).expect("room for a note");
    moved(&before, &after, before.columns.facts.state, moment);
    assert_eq!(after.body.messages, before.body.messages, "a note is not a message");
    assert!(second::is_json(&note_answer(&request.text)), "an answer is JSON");
    after
}

fn edit(before: IssueRecord, pairs: &Pairs, moment: Moment) -> IssueRecord {
    let Some(request) = read(pairs, EDIT_FIELDS, read_edit) else { return before };
    edited(&before, &request, None, moment)
}

fn bulk_edit(before: IssueRecord, pairs: &Pairs, moment: Moment) -> IssueRecord {
    let Some(request) = read(pairs, BULK_EDIT_FIELDS, read_bulk_edit) else { return before };
    let name = request.action_taken_by.as_deref().unwrap_or("Desk");
    let author = MessageAuthor::Desk(Desk::default().author_named(&domain(), name));
    let attachments = &files(pairs, moment);
    let message = request.message.as_ref().map(|body| NewMessage { body, author, attachments });
    let answer = bulk_edit_answer(&request, &targets(&request.edit));
    assert!(second::is_json(&answer), "an answer is JSON");
    edited(&before, &request.edit, message.as_ref(), moment)
}

/// The records that a request refers to; all of them exist.
fn targets(request: &EditRequest) -> EditTargets {
    let assignee = request.assignment.as_ref().map(|assignment| match assignment {
        Assignment::Unassign => None,
        Assignment::Agent(agents) => agents.first().map(|reference| agent(&reference.to)),
    });
    let queue = request
        .queue_id
        .as_ref()
        .map(|reference| IssueQueue { id: reference.to.clone(), name: String::new() });
    EditTargets { assignee, queue }
}

fn edited(
    before: &IssueRecord,
    request: &EditRequest,
    message: Option<&NewMessage<'_>>,
    moment: Moment,
) -> IssueRecord {
    let targets = targets(request);
    let draft = EditDraft::new(before, request, &targets, message);
    let is_changed = draft.changes_issue();
    let plan = draft.finish(&domain(), moment).expect("room for an edit");
    assert!(second::is_json(&plan.answer), "an answer is JSON");
    let facts = &before.columns.facts;
    let is_assigned = |agent: &AgentSummary| facts.assignee_id.as_ref() == Some(&agent.id);
    let state = match (&targets.assignee, facts.state) {
        (
            Some(None),
            IssueState::NewForAgent | IssueState::AgentReplied | IssueState::WaitingForAgent,
        ) if facts.assignee_id.is_some() => IssueState::New,
        (Some(Some(agent)), IssueState::New) if !is_assigned(agent) => IssueState::NewForAgent,
        (_, state) => state,
    };
    let state = if message.is_some() { IssueState::AgentReplied } else { state };
    assert_eq!(plan.issue.columns.facts.tags, tags_after(&facts.tags, request));
    if is_changed {
        moved(before, &plan.issue, request.status.unwrap_or(state), moment);
    } else {
        assert_eq!(plan.issue, *before, "an edit without a change writes nothing");
        assert_eq!(request.status.unwrap_or(state), facts.state);
    }
    let later = Moment { at: UnixMillis(moment.at.0 + 1), ..moment };
    let again = EditDraft::new(&plan.issue, request, &targets, None);
    let again = again.finish(&domain(), later).expect("room for the same edit");
    let told = String::from_utf8(again.answer).expect("an answer is UTF-8");
    assert_eq!(told, r#"{"updated-data":{}}"#, "the same edit again changes nothing");
    assert_eq!(again.issue, plan.issue, "the same edit again changes nothing");
    plan.issue
}

fn tags_after(before: &[String], request: &EditRequest) -> Vec<String> {
    let mut tags = request.tags.clone().unwrap_or_else(|| before.to_vec());
    tags.retain(|tag| !request.remove_tags.contains(tag));
    for tag in &request.add_tags {
        if !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    tags
}

/// Times and state after a write.
fn moved(before: &IssueRecord, after: &IssueRecord, state: IssueState, moment: Moment) {
    let (old, new) = (&before.columns.facts, &after.columns.facts);
    assert_eq!((new.state, new.updated_at), (state, moment.at));
    let changed_at = if old.state == state { old.changed_at } else { moment.at };
    assert_eq!(new.changed_at, changed_at, "it moves exactly when the state does");
    let same = |record: &IssueRecord| {
        let columns = &record.columns;
        (columns.id, columns.created_at, columns.original_created_at, columns.app_id.clone())
    };
    assert_eq!(same(before), same(after), "no write moves these");
}
