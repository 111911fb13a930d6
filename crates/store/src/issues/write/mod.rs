//! The writing commands: each reads what its request refers to and the issues it changes, asks the
//! model for the plan, and writes what it says. The domain's clock is asked last, when nothing can
//! be refused any more but by size, so that times of change are in the order of commits. A backend
//! answers [`IssueWrites`], in a transaction. Invariant: a command that fails leaves nothing
//! behind, because its transaction is undone.

mod names;
mod writes;

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentSummary, CreateContext, IssueRecord, IssueWriteError, MessageAuthor, Moment, NewMessage,
    author_pid, bulk_edit_answer, message_answer, note_answer, plan_create, plan_edit,
    plan_message, plan_note,
};
use caseload_model::issue_query::ParameterFault;

use super::{Changes, Indexed};
use crate::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, Idempotent, StoreError, StoredAnswer,
    WriteOrigin,
};
use names::Names;

pub use names::reference_faults;
pub use writes::{Birth, IssueWrites, Replaced};

/// Issues that a bulk edit holds at a time.
const EDITED_AT_ONCE: usize = 50;

/// Makes an issue.
pub fn create<W: IssueWrites>(
    store: &W,
    command: &CreateIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let CreateIssue { origin, request, attachments: files } = command;
    once(store, origin, || {
        let mut names = Names::new(store);
        let app = names.app(request.app_id.as_ref())?;
        let named = match (&request.email, &request.end_user_id) {
            (None, Some(pid)) => names.app_profile(pid)?,
            _ => None,
        };
        let app_id = app.as_ref().filter(|(_, default)| !default).map(|(app, _)| &*app.app_id);
        let pid = match &named {
            Some(profile) => profile.pid.clone(),
            None => author_pid(&origin.domain_name, request, app_id, origin.random),
        };
        let profile = match named {
            Some(profile) => Some(profile),
            None => names.app_profile(&pid)?,
        };
        names.check()?;
        let Some((app, _)) = app else {
            return Err(StoreError::Corrupt("a domain without default app".to_owned()));
        };
        let birth = store.birth(origin.now)?;
        let context = CreateContext {
            domain: &origin.domain_name,
            id: birth.id,
            created_at: birth.created_at,
            moment: Moment { at: birth.changed_at, random: origin.random },
            app,
            pid,
            profile,
            attachments: files,
        };
        let plan = plan_create(&context, request).map_err(|why| refused("message-body", why))?;
        let row = store.insert(&birth, &plan.issue)?;
        let mut changes = Changes::default();
        note(&mut changes, row, None, &plan.issue)?;
        store.keep(changes)?;
        store.add_app_profile(&plan.app_profile, birth.changed_at)?;
        store.claim(birth.id, files)?;
        Ok(StoredAnswer { location: location(origin, birth.id), body: plan.answer })
    })
}

/// Adds a message.
pub fn add_message<W: IssueWrites>(
    store: &W,
    command: &AddMessage,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let AddMessage { origin, issue_id, request, attachments: files } = command;
    once(store, origin, || {
        let (row, stored) = issue(store, *issue_id)?;
        let mut names = Names::new(store);
        let agent = request.agent.as_ref().map(|agent| names.agent(agent)).transpose()?.flatten();
        names.check()?;
        let author = agent.map_or(MessageAuthor::EndUser, MessageAuthor::Desk);
        let message = NewMessage { body: &request.body, author, attachments: files };
        let moment = moment(store, origin)?;
        let changed = plan_message(&origin.domain_name, &stored, &message, moment)
            .map_err(|why| refused("message-body", why))?;
        put(store, row, &stored, changed)?;
        store.claim(*issue_id, files)?;
        let body = message_answer(&origin.domain_name, &request.body, files);
        Ok(StoredAnswer { location: location(origin, *issue_id), body })
    })
}

/// Adds a private note.
pub fn add_note<W: IssueWrites>(
    store: &W,
    command: &AddNote,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let AddNote { origin, issue_id, request } = command;
    once(store, origin, || {
        let (row, stored) = issue(store, *issue_id)?;
        let mut names = Names::new(store);
        let author = request.author.as_ref().map(|agent| names.agent(agent)).transpose()?.flatten();
        names.check()?;
        let author =
            author.unwrap_or_else(|| AgentSummary::of_desk(&origin.domain_name, &origin.key_name));
        let changed = plan_note(&stored, &request.text, &author, moment(store, origin)?)
            .map_err(|why| refused("note-text", why))?;
        put(store, row, &stored, changed)?;
        let body = note_answer(&request.text);
        Ok(StoredAnswer { location: location(origin, *issue_id), body })
    })
}

/// Changes one issue.
pub fn edit<W: IssueWrites>(store: &W, command: &EditIssue) -> Result<Vec<u8>, StoreError> {
    let EditIssue { origin, issue_id, request } = command;
    store.demand()?;
    let (row, stored) = issue(store, *issue_id)?;
    let mut names = Names::new(store);
    let targets = names.targets(request)?;
    names.check()?;
    let moment = moment(store, origin)?;
    let plan = plan_edit(&origin.domain_name, &stored, request, &targets, None, moment)
        .map_err(|why| refused("issue", why))?;
    put(store, row, &stored, plan.issue)?;
    Ok(plan.answer)
}

/// Changes many issues, all of them or none.
pub fn edit_many<W: IssueWrites>(store: &W, command: &EditIssues) -> Result<Vec<u8>, StoreError> {
    let EditIssues { origin, request } = command;
    store.demand()?;
    let mut names = Names::new(store);
    let rows = names.issues(&request.issue_ids)?;
    let targets = names.targets(&request.edit)?;
    let desk = desk(&names, origin, request.action_taken_by.as_deref())?;
    names.check()?;
    let message = request.message.as_deref().map(|body| NewMessage {
        body,
        author: MessageAuthor::Desk(desk),
        attachments: &[],
    });
    store.lock(&rows)?;
    let mut moment = moment(store, origin)?;
    let mut changes = Changes::default();
    for rows in rows.chunks(EDITED_AT_ONCE) {
        let mut replaced = Vec::with_capacity(rows.len());
        for (row, stored) in rows.iter().zip(store.records(rows)?) {
            let (domain, edit) = (&origin.domain_name, &request.edit);
            let plan = plan_edit(domain, &stored, edit, &targets, message.as_ref(), moment)
                .map_err(|why| refused(&request.issue_ids.field, why))?;
            note(&mut changes, (*row).into(), Some(&stored), &plan.issue)?;
            replaced.push(Replaced { row: *row, issue: plan.issue });
            // Each message has an id of its own.
            moment.random = moment.random.wrapping_add(1);
        }
        store.replace(&replaced)?;
    }
    store.keep(changes)?;
    Ok(bulk_edit_answer(request, &targets))
}

/// Who writes for the desk: the agent that is named by id or address, else whoever the name says.
fn desk<W: IssueWrites>(
    names: &Names<'_, W>,
    origin: &WriteOrigin,
    named: Option<&str>,
) -> Result<AgentSummary, StoreError> {
    let Some(named) = named else {
        return Ok(AgentSummary::of_desk(&origin.domain_name, &origin.key_name));
    };
    if let Some(agent) = names.agent_by_id(named)? {
        return Ok(agent);
    }
    let agent = names.agent_by_email(&fold(named))?;
    Ok(agent.unwrap_or_else(|| AgentSummary::of_desk(&origin.domain_name, named)))
}

/// Runs a command that may be repeated, and keeps its answer with its effect.
fn once<W: IssueWrites>(
    store: &W,
    origin: &WriteOrigin,
    write: impl FnOnce() -> Result<StoredAnswer, StoreError>,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    store.demand()?;
    if let Some(key) = &origin.idempotency
        && let Some(first) = store.repeated(key, origin.now)?
    {
        return Ok(Idempotent::Replayed(first));
    }
    let answer = write()?;
    if let Some(key) = &origin.idempotency {
        store.keep_answer(key, &answer, origin.now)?;
    }
    Ok(Idempotent::Done(answer))
}

fn location(origin: &WriteOrigin, id: u64) -> String {
    format!("/v1/{}/issues/{id}", origin.domain_name)
}

fn issue<W: IssueWrites>(store: &W, id: u64) -> Result<(u32, IssueRecord), StoreError> {
    store.issue(id)?.ok_or_else(|| StoreError::NotFound { what: format!("issue {id}") })
}

fn moment<W: IssueWrites>(store: &W, origin: &WriteOrigin) -> Result<Moment, StoreError> {
    Ok(Moment { at: store.change_time(origin.now)?, random: origin.random })
}

fn put<W: IssueWrites>(
    store: &W,
    row: u32,
    before: &IssueRecord,
    after: IssueRecord,
) -> Result<(), StoreError> {
    let mut changes = Changes::default();
    note(&mut changes, row.into(), Some(before), &after)?;
    store.replace(&[Replaced { row, issue: after }])?;
    store.keep(changes)
}

/// Whatever is written is told to the index of what issues are found by.
fn note(
    changes: &mut Changes,
    row: i64,
    before: Option<&IssueRecord>,
    after: &IssueRecord,
) -> Result<(), StoreError> {
    let was = before.map(IssueRecord::fragments);
    let before = before.zip(was.as_ref());
    let before = before.map(|(issue, fragments)| Indexed { columns: &issue.columns, fragments });
    let after = Indexed { columns: &after.columns, fragments: &after.fragments() };
    changes.change(row, before, Some(after))
}

fn refused(field: &str, why: IssueWriteError) -> StoreError {
    match why {
        IssueWriteError::TooLarge => {
            let detail = "the issue would have more than 8 MiB, and could not be imported again \
                          after an export; send less, or begin another issue";
            let fault = ParameterFault {
                parameter: field.to_owned(),
                code: ErrorCode::TooLarge,
                detail: detail.to_owned(),
            };
            StoreError::Refused(vec![fault])
        }
        IssueWriteError::Damaged => StoreError::Corrupt(why.to_string()),
    }
}
