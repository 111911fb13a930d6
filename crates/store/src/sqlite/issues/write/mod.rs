//! The writing commands: each reads what its request refers to and the issues it changes, asks the
//! model for the plan, and writes what it says. The domain's clock is asked last, when nothing can
//! be refused any more but by size, so that times of change are in the order of commits. Invariant:
//! a command that fails leaves nothing behind, because it runs in a savepoint of its own.

mod names;
mod rows;

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentName, CannotWrite, CreateContext, IssueRecord, MessageAuthor, Moment, NewMessage,
    author_pid, bulk_edit_answer, message_answer, note_answer, plan_create, plan_edit,
    plan_message, plan_note,
};
use caseload_model::issue_query::ParameterFault;
use rusqlite::{Connection, params};

use super::super::{attachments, clock, domains, idempotency};
use super::index;
use crate::issues::Changes;
use crate::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, KeptAnswer, Once, StoreError, Writing,
};
use names::Names;

pub(in crate::sqlite) use names::reference_faults;

/// Makes an issue.
pub(in crate::sqlite) fn create(
    conn: &Connection,
    command: &CreateIssue,
) -> Result<Once<KeptAnswer>, StoreError> {
    let CreateIssue { on, request, attachments: files } = command;
    once(conn, on, || {
        let mut names = Names::new(conn, on.domain);
        let app = names.app(request.app_id.as_ref())?;
        let named = match (&request.email, &request.end_user_id) {
            (None, Some(pid)) => names.app_profile(pid)?,
            _ => None,
        };
        let app_id = app.as_ref().filter(|(_, default)| !default).map(|(app, _)| &*app.app_id);
        let pid = match &named {
            Some(profile) => profile.pid.clone(),
            None => author_pid(&on.domain_name, request, app_id, on.random),
        };
        let profile = match named {
            Some(profile) => Some(profile),
            None => names.app_profile(&pid)?,
        };
        names.check()?;
        let Some((app, _)) = app else {
            return Err(StoreError::Corrupt("a domain without default app".to_owned()));
        };
        let birth = clock::birth_of_issue(conn, on.domain, on.now)?;
        let context = CreateContext {
            domain: &on.domain_name,
            id: birth.id,
            created_at: birth.created_at,
            moment: Moment { at: birth.changed_at, random: on.random },
            app,
            pid,
            profile,
            attachments: files,
        };
        let plan = plan_create(&context, request).map_err(|why| refused("message-body", why))?;
        let mut index = Changes::default();
        rows::insert(conn, on.domain, &plan.issue, &mut index)?;
        index::keep(conn, on.domain, index)?;
        let author = plan.app_profile;
        conn.prepare_cached(
            "INSERT INTO app_profiles
             (domain_id, pid, app_id, name, emails, created_at, updated_at, fields)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, x'') ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            on.domain.0,
            author.pid,
            author.app_id,
            author.name,
            author.emails,
            birth.changed_at.0
        ])?;
        attachments::claim(conn, on.domain, birth.id, files)?;
        Ok(KeptAnswer { location: location(on, birth.id), body: plan.answer })
    })
}

/// Adds a message.
pub(in crate::sqlite) fn add_message(
    conn: &Connection,
    command: &AddMessage,
) -> Result<Once<KeptAnswer>, StoreError> {
    let AddMessage { on, issue_id, request, attachments: files } = command;
    once(conn, on, || {
        let (row, stored) = issue(conn, on, *issue_id)?;
        let mut names = Names::new(conn, on.domain);
        let agent = request.agent.as_ref().map(|agent| names.agent(agent)).transpose()?.flatten();
        names.check()?;
        let author = agent.map_or(MessageAuthor::EndUser, MessageAuthor::Desk);
        let message = NewMessage { body: &request.body, author, attachments: files };
        let moment = moment(conn, on)?;
        let changed = plan_message(&on.domain_name, &stored, &message, moment)
            .map_err(|why| refused("message-body", why))?;
        put(conn, on, row, &stored, &changed)?;
        attachments::claim(conn, on.domain, *issue_id, files)?;
        let body = message_answer(&on.domain_name, &request.body, files);
        Ok(KeptAnswer { location: location(on, *issue_id), body })
    })
}

/// Adds a private note.
pub(in crate::sqlite) fn add_note(
    conn: &Connection,
    command: &AddNote,
) -> Result<Once<KeptAnswer>, StoreError> {
    let AddNote { on, issue_id, request } = command;
    once(conn, on, || {
        let (row, stored) = issue(conn, on, *issue_id)?;
        let mut names = Names::new(conn, on.domain);
        let author = request.author.as_ref().map(|agent| names.agent(agent)).transpose()?.flatten();
        names.check()?;
        let author = author.unwrap_or_else(|| AgentName::of_desk(&on.domain_name, &on.key_name));
        let changed = plan_note(&stored, &request.text, &author, moment(conn, on)?)
            .map_err(|why| refused("note-text", why))?;
        put(conn, on, row, &stored, &changed)?;
        let body = note_answer(&request.text);
        Ok(KeptAnswer { location: location(on, *issue_id), body })
    })
}

/// Changes one issue.
pub(in crate::sqlite) fn edit(
    conn: &Connection,
    command: &EditIssue,
) -> Result<Vec<u8>, StoreError> {
    let EditIssue { on, issue_id, request } = command;
    domains::demand(conn, on.domain)?;
    let (row, stored) = issue(conn, on, *issue_id)?;
    let mut names = Names::new(conn, on.domain);
    let targets = names.targets(request)?;
    names.check()?;
    let moment = moment(conn, on)?;
    let plan = plan_edit(&on.domain_name, &stored, request, &targets, None, moment)
        .map_err(|why| refused("issue", why))?;
    put(conn, on, row, &stored, &plan.issue)?;
    Ok(plan.answer)
}

/// Changes many issues, all of them or none.
pub(in crate::sqlite) fn edit_many(
    conn: &Connection,
    command: &EditIssues,
) -> Result<Vec<u8>, StoreError> {
    let EditIssues { on, request } = command;
    domains::demand(conn, on.domain)?;
    let mut names = Names::new(conn, on.domain);
    let rows = names.issues(&request.issue_ids)?;
    let targets = names.targets(&request.edit)?;
    let desk = desk(&names, on, request.action_taken_by.as_deref())?;
    names.check()?;
    let message = request.message.as_deref().map(|body| NewMessage {
        body,
        author: MessageAuthor::Desk(desk),
        attachments: &[],
    });
    let mut moment = moment(conn, on)?;
    let mut index = Changes::default();
    for row in rows {
        let stored = rows::read_row(conn, row)?;
        let domain = &on.domain_name;
        let plan = plan_edit(domain, &stored, &request.edit, &targets, message.as_ref(), moment)
            .map_err(|why| refused(&request.issue_ids.field, why))?;
        rows::replace(conn, row, &stored, &plan.issue, &mut index)?;
        // Each message has an id of its own.
        moment.random = moment.random.wrapping_add(1);
    }
    index::keep(conn, on.domain, index)?;
    Ok(bulk_edit_answer(request, &targets))
}

/// Who writes for the desk: the agent that is named by id or address, else whoever the name says.
fn desk(names: &Names<'_>, on: &Writing, named: Option<&str>) -> Result<AgentName, StoreError> {
    let Some(named) = named else {
        return Ok(AgentName::of_desk(&on.domain_name, &on.key_name));
    };
    if let Some(agent) = names.agent_by_id(named)? {
        return Ok(agent);
    }
    let agent = names.agent_by_email(&fold(named))?;
    Ok(agent.unwrap_or_else(|| AgentName::of_desk(&on.domain_name, named)))
}

/// Runs a command that may be repeated, and keeps its answer with its effect.
fn once(
    conn: &Connection,
    on: &Writing,
    write: impl FnOnce() -> Result<KeptAnswer, StoreError>,
) -> Result<Once<KeptAnswer>, StoreError> {
    domains::demand(conn, on.domain)?;
    if let Some(key) = &on.idempotency
        && let Some(first) = idempotency::repeated(conn, on.domain, key, on.now)?
    {
        return Ok(Once::Repeated(first));
    }
    let answer = write()?;
    if let Some(key) = &on.idempotency {
        idempotency::keep(conn, on.domain, key, &answer)?;
    }
    Ok(Once::Done(answer))
}

fn location(on: &Writing, id: u64) -> String {
    format!("/v1/{}/issues/{id}", on.domain_name)
}

fn issue(conn: &Connection, on: &Writing, id: u64) -> Result<(i64, IssueRecord), StoreError> {
    rows::read(conn, on.domain, id)?
        .ok_or_else(|| StoreError::NotFound { what: format!("issue {id}") })
}

fn moment(conn: &Connection, on: &Writing) -> Result<Moment, StoreError> {
    let at = clock::change_time(conn, on.domain, on.now)?;
    Ok(Moment { at, random: on.random })
}

fn put(
    conn: &Connection,
    on: &Writing,
    row: i64,
    before: &IssueRecord,
    after: &IssueRecord,
) -> Result<(), StoreError> {
    let mut index = Changes::default();
    rows::replace(conn, row, before, after, &mut index)?;
    index::keep(conn, on.domain, index)
}

fn refused(field: &str, why: CannotWrite) -> StoreError {
    match why {
        CannotWrite::TooLarge => {
            let detail = "the issue would have more than 8 MiB, and could not be imported again \
                          after an export; send less, or begin another issue";
            let fault = ParameterFault {
                parameter: field.to_owned(),
                code: ErrorCode::TooLarge,
                detail: detail.to_owned(),
            };
            StoreError::Refused(vec![fault])
        }
        CannotWrite::Damaged => StoreError::Corrupt(why.to_string()),
    }
}
