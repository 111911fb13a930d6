//! The writing commands. Each command looks up its references, reads the issues that it changes,
//! gets the plan from the model and writes it. It reads the domain's clock last, when only a size
//! limit can still refuse the request, so times of change are in the order of commits. A backend
//! implements [`IssueStore`] in a transaction. Invariants: a command that fails leaves no trace,
//! because its transaction is rolled back; an edit that changes nothing of an issue writes nothing
//! of it.

mod bulk_edit;
mod command;
mod issue_store;
mod lookups;

use caseload_model::change::Resource;
use caseload_model::issue::write::{
    CreateContext, EditDraft, MessageAuthor, Moment, NewMessage, author_pid, message_answer,
    note_answer, plan_create, plan_message, plan_note,
};

use super::IndexChanges;
use super::delete::delete_one;
use crate::once::once;
use crate::profiles::add_app_profile;
use crate::{
    AddMessage, AddNote, CreateIssue, DeleteIssue, EditIssue, Idempotent, StoreError, StoredAnswer,
    attachments,
};
use command::{issue, location, moment, put, refused, signed, unknown};
use lookups::Lookups;

pub use bulk_edit::edit_many;
pub(super) use command::{bytes, note};
pub use issue_store::{FRAGMENT_BYTES, IssueAllocation, IssueStore, Replacement};
pub use lookups::{desk_addresses, queues, reference_faults};

/// Creates an issue.
pub fn create<W: IssueStore>(
    store: &W,
    command: &CreateIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let CreateIssue { origin, request, attachments: files } = command;
    once(store, origin, |done| {
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
        done.created(allocation.changed_at, Resource::Issue, allocation.id);
        if add_app_profile(store, &plan.app_profile, allocation.changed_at)? {
            done.created(allocation.changed_at, Resource::AppProfile, &*plan.app_profile.pid);
        }
        attachments::claim(store, allocation.id, files)?;
        Ok(StoredAnswer { location: location(origin, allocation.id), body: plan.answer })
    })
}

/// Adds a message.
pub fn add_message<W: IssueStore>(
    store: &W,
    command: &AddMessage,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let AddMessage { origin, issue_id, request, attachments: files } = command;
    once(store, origin, |done| {
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
        put(store, done, (row, &stored), changed)?;
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
    once(store, origin, |done| {
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
        put(store, done, (row, &stored), changed)?;
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
    once(store, origin, |done| {
        let (row, stored) = issue(store, *issue_id)?;
        let mut lookups = Lookups::new(store);
        let targets = lookups.targets(request)?;
        lookups.check()?;
        let draft = EditDraft::new(&stored, request, &targets, None);
        let is_changed = draft.changes_issue();
        let at = if is_changed { moment(store, origin)? } else { Moment::default() };
        let plan = draft.finish(&origin.domain_name, at).map_err(|why| refused("issue", why))?;
        if is_changed {
            put(store, done, (row, &stored), plan.issue)?;
        }
        Ok(StoredAnswer { location: location(origin, *issue_id), body: plan.answer })
    })
}

/// Deletes one issue.
pub fn delete<W: IssueStore>(
    store: &W,
    command: &DeleteIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let DeleteIssue { origin, issue_id } = command;
    once(store, origin, |done| {
        let deleted = delete_one(store, *issue_id, origin.now)?;
        let at = deleted.ok_or_else(|| unknown(*issue_id))?;
        done.deleted(at, Resource::Issue, *issue_id);
        Ok(StoredAnswer::default())
    })
}
