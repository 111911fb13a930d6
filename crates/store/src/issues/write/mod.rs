//! The writing commands. Each command looks up its references, reads the issues that it changes,
//! gets the plan from the model and writes it. It reads the domain's clock last, when only a size
//! limit can still refuse the request, so times of change are in the order of commits. A backend
//! implements [`IssueStore`] in a transaction. Invariants: a command that fails leaves no trace,
//! because its transaction is rolled back; an edit that changes nothing of an issue writes nothing
//! of it.

mod issue_store;
mod lookups;

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentSummary, CreateContext, EditDraft, IssueRecord, IssueWriteError, MessageAuthor, Moment,
    NewMessage, author_pid, bulk_edit_answer, message_answer, note_answer, plan_create,
    plan_message, plan_note,
};
use caseload_model::issue::{AppProfileRow, IssuePart};
use caseload_model::issue_query::ParameterFault;
use caseload_model::time::UnixMillis;

use super::{IndexChanges, IndexedIssue};
use crate::idempotency::{first_answer, store_or_first};
use crate::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, Idempotent, StoreError, StoredAnswer,
    WriteOrigin, attachments, checksum, values,
};
use lookups::Lookups;

pub use issue_store::{IssueAllocation, IssueStore, Replacement};
pub use lookups::{desk_addresses, queues, reference_faults};

/// Issues that a bulk edit has in memory at a time.
const EDITED_AT_ONCE: usize = 50;

/// Creates an issue.
pub fn create<W: IssueStore>(
    store: &W,
    command: &CreateIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let CreateIssue { origin, request, attachments: files } = command;
    once(store, origin, || {
        let mut lookups = Lookups::new(store);
        let app = lookups.app(request.app_id.as_ref())?;
        let named = match (&request.email, &request.end_user_id) {
            (None, Some(pid)) => lookups.app_profile(pid)?,
            _ => None,
        };
        let app_id = app.as_ref().filter(|(_, default)| !default).map(|(app, _)| &*app.app_id);
        let pid = match &named {
            Some(profile) => profile.pid.clone(),
            None => author_pid(&origin.domain_name, request, app_id, origin.random),
        };
        let profile = match named {
            Some(profile) => Some(profile),
            None => lookups.app_profile(&pid)?,
        };
        lookups.check()?;
        let Some((app, _)) = app else {
            return Err(StoreError::Corrupt("a domain without default app".to_owned()));
        };
        let allocation = store.allocate(origin.now)?;
        let context = CreateContext {
            domain: &origin.domain_name,
            id: allocation.id,
            created_at: allocation.created_at,
            moment: Moment { at: allocation.changed_at, random: origin.random },
            app,
            pid,
            profile,
            attachments: files,
        };
        let plan = plan_create(&context, request).map_err(|why| refused("message-body", why))?;
        let row = store.insert(&allocation, &plan.issue)?;
        store.store_bytes(bytes(&plan.issue))?;
        let mut changes = IndexChanges::default();
        note(&mut changes, row, None, &plan.issue)?;
        store.update_index(changes)?;
        add_app_profile(store, &plan.app_profile, allocation.changed_at)?;
        attachments::claim(store, allocation.id, files)?;
        Ok(StoredAnswer { location: location(origin, allocation.id), body: plan.answer })
    })
}

/// Adds the author's app profile if its pid is free.
fn add_app_profile(
    store: &impl IssueStore,
    profile: &AppProfileRow,
    at: UnixMillis,
) -> Result<(), StoreError> {
    let (AppProfileRow { pid, app_id, name, emails }, fields) = (profile, [0_u8; 0].as_slice());
    let domain = store.domain();
    let sum = checksum::of_app_profile(domain, profile, at);
    let fields_sum = checksum::of_app_profile_fields(domain, pid, at, fields);
    store.change(
        "INSERT INTO app_profiles
         (domain_id, pid, app_id, name, emails, created_at, updated_at, fields, checksum,
         fields_checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        values![domain, pid, app_id, name, emails, at, fields, sum, fields_sum],
    )?;
    Ok(())
}

/// Adds a message.
pub fn add_message<W: IssueStore>(
    store: &W,
    command: &AddMessage,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let AddMessage { origin, issue_id, request, attachments: files } = command;
    once(store, origin, || {
        let (row, stored) = issue(store, *issue_id)?;
        let mut lookups = Lookups::new(store);
        let agent = request.agent.as_ref().map(|agent| lookups.agent(agent)).transpose()?.flatten();
        lookups.check()?;
        let author = match agent {
            Some(agent) => MessageAuthor::Desk(signed(store, origin, agent)?),
            None => MessageAuthor::EndUser,
        };
        let message = NewMessage { body: &request.body, author, attachments: files };
        let moment = moment(store, origin)?;
        let changed = plan_message(&origin.domain_name, &stored, &message, moment)
            .map_err(|why| refused("message-body", why))?;
        put(store, row, &stored, changed)?;
        attachments::claim(store, *issue_id, files)?;
        let body = message_answer(&origin.domain_name, &request.body, files);
        Ok(StoredAnswer { location: location(origin, *issue_id), body })
    })
}

/// Adds a private note.
pub fn add_note<W: IssueStore>(
    store: &W,
    command: &AddNote,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let AddNote { origin, issue_id, request } = command;
    once(store, origin, || {
        let (row, stored) = issue(store, *issue_id)?;
        let mut lookups = Lookups::new(store);
        let author =
            request.author.as_ref().map(|agent| lookups.agent(agent)).transpose()?.flatten();
        lookups.check()?;
        let author = match author {
            Some(agent) => signed(store, origin, agent)?,
            None => lookups::desk(store)?.author(&origin.domain_name),
        };
        let changed = plan_note(&stored, &request.text, &author, moment(store, origin)?)
            .map_err(|why| refused("note-text", why))?;
        put(store, row, &stored, changed)?;
        let body = note_answer(&request.text);
        Ok(StoredAnswer { location: location(origin, *issue_id), body })
    })
}

/// Changes one issue, if the request differs from it.
pub fn edit<W: IssueStore>(
    store: &W,
    command: &EditIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let EditIssue { origin, issue_id, request } = command;
    once(store, origin, || {
        let (row, stored) = issue(store, *issue_id)?;
        let mut lookups = Lookups::new(store);
        let targets = lookups.targets(request)?;
        lookups.check()?;
        let draft = EditDraft::new(&stored, request, &targets, None);
        let is_changed = draft.changes_issue();
        let at = if is_changed { moment(store, origin)? } else { Moment::default() };
        let plan = draft.finish(&origin.domain_name, at).map_err(|why| refused("issue", why))?;
        if is_changed {
            put(store, row, &stored, plan.issue)?;
        }
        Ok(StoredAnswer { location: location(origin, *issue_id), body: plan.answer })
    })
}

/// Changes many issues, all of them or none. Issues that have the requested values are not written.
pub fn edit_many<W: IssueStore>(
    store: &W,
    command: &EditIssues,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    once(store, &command.origin, || {
        let body = edit_all(store, command)?;
        Ok(StoredAnswer { location: format!("/v1/{}/issues", command.origin.domain_name), body })
    })
}

/// The edit of many issues; the body of the answer.
fn edit_all<W: IssueStore>(store: &W, command: &EditIssues) -> Result<Vec<u8>, StoreError> {
    let EditIssues { origin, request } = command;
    let mut lookups = Lookups::new(store);
    let rows = lookups.issues(&request.issue_ids)?;
    let targets = lookups.targets(&request.edit)?;
    let message = match request.message.as_deref() {
        Some(body) => {
            let author = desk_author(store, &lookups, origin, request.action_taken_by.as_deref())?;
            Some(NewMessage { body, author: MessageAuthor::Desk(author), attachments: &[] })
        }
        None => None,
    };
    lookups.check()?;
    store.lock(&rows)?;
    // All changes of the command have one time, which the first changed issue asks for.
    let mut next: Option<Moment> = None;
    let mut changes = IndexChanges::default();
    let mut more_bytes = 0;
    for rows in rows.chunks(EDITED_AT_ONCE) {
        let mut replaced = Vec::with_capacity(rows.len());
        for (row, stored) in rows.iter().zip(store.records(rows)?) {
            let draft = EditDraft::new(&stored, &request.edit, &targets, message.as_ref());
            if !draft.changes_issue() {
                continue;
            }
            let at = match next {
                Some(at) => at,
                None => moment(store, origin)?,
            };
            // Each message gets an id of its own.
            next = Some(Moment { random: at.random.wrapping_add(1), ..at });
            let plan = draft
                .finish(&origin.domain_name, at)
                .map_err(|why| refused(&request.issue_ids.field, why))?;
            note(&mut changes, (*row).into(), Some(&stored), &plan.issue)?;
            more_bytes += bytes(&plan.issue) - bytes(&stored);
            replaced.push(Replacement { row: *row, issue: plan.issue });
        }
        if !replaced.is_empty() {
            store.replace(&replaced)?;
        }
    }
    if next.is_some() {
        store.update_index(changes)?;
        store.store_bytes(more_bytes)?;
    }
    Ok(bulk_edit_answer(request, &targets))
}

/// The author of desk messages: the agent with this id or address, otherwise an author of this
/// name; without a name the desk.
fn desk_author<W: IssueStore>(
    store: &W,
    lookups: &Lookups<'_, W>,
    origin: &WriteOrigin,
    named: Option<&str>,
) -> Result<AgentSummary, StoreError> {
    let Some(named) = named else {
        return Ok(lookups::desk(store)?.author(&origin.domain_name));
    };
    let agent = match lookups.agent_by_id(named)? {
        Some(agent) => Some(agent),
        None => lookups.agent_by_email(&fold(named))?,
    };
    match agent {
        Some(agent) => signed(store, origin, agent),
        None => Ok(lookups::desk(store)?.author_named(&origin.domain_name, named)),
    }
}

/// The agent as an author, who always has an address.
fn signed<W: IssueStore>(
    store: &W,
    origin: &WriteOrigin,
    agent: AgentSummary,
) -> Result<AgentSummary, StoreError> {
    if !agent.email.is_empty() {
        return Ok(agent);
    }
    Ok(lookups::desk(store)?.signed(&origin.domain_name, agent))
}

/// Runs a command that may be repeated, and stores its answer with its effect.
fn once<W: IssueStore>(
    store: &W,
    origin: &WriteOrigin,
    write: impl FnOnce() -> Result<StoredAnswer, StoreError>,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    store.require_caller(origin.key.as_deref(), origin.now)?;
    if let Some(key) = &origin.idempotency
        && let Some(first) = first_answer(store, key, origin.now)?
    {
        return Ok(Idempotent::Replayed(first));
    }
    let answer = write()?;
    if let Some(key) = &origin.idempotency
        && store_or_first(store, key, &answer, origin.now)?.is_some()
    {
        // A repeat came first: this effect is undone, and the next try finds the first answer.
        return Err(StoreError::Contended);
    }
    Ok(Idempotent::Done(answer))
}

fn location(origin: &WriteOrigin, id: u64) -> String {
    format!("/v1/{}/issues/{id}", origin.domain_name)
}

fn issue<W: IssueStore>(store: &W, id: u64) -> Result<(u32, IssueRecord), StoreError> {
    store.issue(id)?.ok_or_else(|| StoreError::NotFound { what: format!("issue {id}") })
}

fn moment<W: IssueStore>(store: &W, origin: &WriteOrigin) -> Result<Moment, StoreError> {
    Ok(Moment { at: store.change_time(origin.now)?, random: origin.random })
}

fn put<W: IssueStore>(
    store: &W,
    row: u32,
    before: &IssueRecord,
    after: IssueRecord,
) -> Result<(), StoreError> {
    let mut changes = IndexChanges::default();
    note(&mut changes, row.into(), Some(before), &after)?;
    store.store_bytes(bytes(&after) - bytes(before))?;
    store.replace(&[Replacement { row, issue: after }])?;
    store.update_index(changes)
}

/// Bytes of an issue as it is stored.
fn bytes(issue: &IssueRecord) -> i64 {
    issue.fragments().bytes() as i64
}

/// Adds a written issue to the index changes.
fn note(
    changes: &mut IndexChanges,
    row: i64,
    before: Option<&IssueRecord>,
    after: &IssueRecord,
) -> Result<(), StoreError> {
    let was = before.map(IssueRecord::fragments);
    let before = before.zip(was.as_ref());
    let before =
        before.map(|(issue, fragments)| IndexedIssue { columns: &issue.columns, fragments });
    let after = IndexedIssue { columns: &after.columns, fragments: &after.fragments() };
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
        IssueWriteError::TooMany { part, count } => {
            let field = match part {
                IssuePart::Tags => "tags",
                IssuePart::MetaKeys => "meta",
                IssuePart::CustomFields => "custom_fields",
                IssuePart::Messages => "message-body",
                IssuePart::Attachments => "attachments",
            };
            let detail = part.too_many(count).unwrap_or_default();
            let detail = format!("with this change, {detail}");
            let (parameter, code) = (field.to_owned(), ErrorCode::TooMany);
            StoreError::Refused(vec![ParameterFault { parameter, code, detail }])
        }
        IssueWriteError::Damaged => StoreError::Corrupt(why.to_string()),
    }
}
