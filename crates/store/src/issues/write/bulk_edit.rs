//! The edit of many issues, all of them or none. A short request may name thousands of long issues,
//! each of which is read, and written again as a whole. So their bytes are counted before any are
//! read, and only some of the issues are in memory at a time. Invariant: the issues of an edit have
//! no more than [`BULK_EDIT_STORED_BYTES_MAX`], and [`BULK_EDIT_TERMS_MAX`].

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentSummary, BULK_EDIT_STORED_BYTES_MAX, EditDraft, MessageAuthor, Moment, NewMessage,
    bulk_edit_answer,
};
use caseload_model::issue_query::ParameterFault;

use super::command::{bytes, moment, note, refused, signed};
use super::issue_store::{IssueStore, Replacement};
use super::lookups::{self, Lookups};
use crate::changes::Log;
use crate::issues::IndexChanges;
use crate::issues::portions::portions;
use crate::once::once;
use crate::{EditIssues, Idempotent, StoreError, StoredAnswer, WriteOrigin};

/// The most terms of its issues that an edit compares with the index: those of each issue that
/// changes, before and after, such as a tag or a part of a custom field.
const BULK_EDIT_TERMS_MAX: usize = 500_000;

/// Changes many issues, all of them or none. Issues that have the requested values are not written.
pub fn edit_many<W: IssueStore>(
    store: &W,
    command: &EditIssues,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    once(store, &command.origin, |done| {
        let body = edit_all(store, command, done)?;
        Ok(StoredAnswer { location: format!("/v1/{}/issues", command.origin.domain_name), body })
    })
}

/// The edit; the body of the answer.
fn edit_all<W: IssueStore>(
    store: &W,
    command: &EditIssues,
    done: &mut Log,
) -> Result<Vec<u8>, StoreError> {
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
    let stored = store.stored_bytes(&rows)?;
    let field = &request.issue_ids.field;
    let together = stored.iter().sum::<u64>() as usize;
    // Whether or not all of them would change.
    require(field, "bytes", together, BULK_EDIT_STORED_BYTES_MAX)?;
    let mut changes = IndexChanges::default();
    // All changes of the command have one time, which the first changed issue asks for.
    let mut last: Option<Moment> = None;
    let mut more_bytes = 0;
    for portion in portions(&stored) {
        let rows = &rows[portion];
        let mut replaced = Vec::with_capacity(rows.len());
        for (row, stored) in rows.iter().zip(store.records(rows)?) {
            let draft = EditDraft::new(&stored, &request.edit, &targets, message.as_ref());
            if !draft.changes_issue() {
                continue;
            }
            let at = match last {
                // Each message gets an id of its own.
                Some(at) => Moment { random: at.random.wrapping_add(1), ..at },
                None => moment(store, origin)?,
            };
            last = Some(at);
            let plan = draft.finish(&origin.domain_name, at);
            let issue = plan.map_err(|why| refused(field, why))?.issue;
            done.updated(&stored, &issue);
            note(&mut changes, (*row).into(), Some(&stored), &issue)?;
            require(field, "index entries", changes.visits(), BULK_EDIT_TERMS_MAX)?;
            more_bytes += bytes(&issue) - bytes(&stored);
            replaced.push(Replacement { row: *row, issue });
        }
        if !replaced.is_empty() {
            store.replace(&replaced)?;
        }
    }
    if last.is_some() {
        store.update_index(changes)?;
        store.store_bytes(more_bytes)?;
    }
    Ok(bulk_edit_answer(request, &targets))
}

/// Refuses an edit whose issues have too much of something together.
fn require(field: &str, what: &str, count: usize, most: usize) -> Result<(), StoreError> {
    if count <= most {
        return Ok(());
    }
    let detail = format!(
        "the issues have {count} {what} or more, and each issue that changes is written again as \
         a whole; at most {most} are allowed; name fewer issues at once"
    );
    let (parameter, code) = (field.to_owned(), ErrorCode::TooLarge);
    Err(StoreError::Refused(vec![ParameterFault { parameter, code, detail }]))
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
