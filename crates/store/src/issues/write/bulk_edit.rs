//! The edit of many issues, all of them or none. A short request may name thousands of long issues,
//! each of which is written again as a whole. So the bytes are counted before any are written, and
//! only some of the issues are in memory at a time. Invariant: an edit writes no more than
//! [`BULK_EDIT_BYTES_MAX`].

use std::ops::Range;

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentSummary, BULK_EDIT_BYTES_MAX, EditDraft, EditTargets, IssueRecord, MessageAuthor, Moment,
    NewMessage, bulk_edit_answer, bulk_edit_bytes,
};
use caseload_model::issue_query::ParameterFault;

use super::command::{bytes, moment, note, once, refused, signed};
use super::issue_store::{IssueStore, Replacement};
use super::lookups::{self, Lookups};
use crate::issues::IndexChanges;
use crate::issues::portions::portions;
use crate::{EditIssues, Idempotent, StoreError, StoredAnswer, WriteOrigin};

/// The most bytes that a character of a text has in an issue: those of an escape.
const ESCAPED_BYTES_MAX: usize = 6;
/// The most bytes by which an edit makes an issue longer, apart from the texts of the request and
/// of the records that it refers to: names of members, times and ids.
const GROWTH_BYTES_MAX: usize = 4 << 10;

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

/// The edit; the body of the answer.
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
    let stored = store.stored_bytes(&rows)?;
    let (targets, message) = (&targets, message.as_ref());
    let edit = BulkEdit { store, command, targets, message, rows: &rows, stored: &stored };
    edit.require_small()?;
    edit.write()?;
    Ok(bulk_edit_answer(request, targets))
}

/// The edit of existing issues, whose references have been looked up.
struct BulkEdit<'e, W> {
    store: &'e W,
    command: &'e EditIssues,
    targets: &'e EditTargets,
    message: Option<&'e NewMessage<'e>>,
    rows: &'e [u32],
    /// Bytes of each issue as it is stored.
    stored: &'e [u64],
}

impl<W: IssueStore> BulkEdit<'_, W> {
    /// Refuses the edit if it would write too much. If even the longest possible issues are
    /// together short enough, no issue is read for that.
    fn require_small(&self) -> Result<(), StoreError> {
        let longest = self.stored.iter().sum::<u64>() + (self.rows.len() * self.growth()) as u64;
        if longest <= BULK_EDIT_BYTES_MAX as u64 {
            return Ok(());
        }
        let origin = &self.command.origin;
        let at = Moment { at: origin.now, random: origin.random };
        let mut written = 0;
        for portion in portions(self.stored) {
            self.plan(
                portion,
                || Ok(at),
                |_, _, issue| {
                    written += bytes(&issue);
                    Ok(())
                },
            )?;
        }
        if written <= BULK_EDIT_BYTES_MAX as i64 { Ok(()) } else { Err(self.too_large(written)) }
    }

    /// The most bytes by which an issue gets longer.
    fn growth(&self) -> usize {
        let of_agent = |agent: &AgentSummary| agent.id.len() + agent.name.len() + agent.email.len();
        let author = match self.message.map(|message| &message.author) {
            Some(MessageAuthor::Desk(author)) => of_agent(author),
            Some(MessageAuthor::EndUser) | None => 0,
        };
        let assignee = self.targets.assignee.as_ref().and_then(Option::as_ref).map_or(0, of_agent);
        let named = (author + assignee) * ESCAPED_BYTES_MAX;
        bulk_edit_bytes(&self.command.request) + named + GROWTH_BYTES_MAX
    }

    fn too_large(&self, written: i64) -> StoreError {
        let detail = format!(
            "the edit would write {written} bytes, because each of its issues that changes is \
             written again as a whole; at most {BULK_EDIT_BYTES_MAX} are allowed; name fewer \
             issues at once"
        );
        let parameter = self.command.request.issue_ids.field.clone();
        StoreError::Refused(vec![ParameterFault { parameter, code: ErrorCode::TooLarge, detail }])
    }

    fn write(&self) -> Result<(), StoreError> {
        let (store, origin) = (self.store, &self.command.origin);
        // All changes of the command have one time, which the first changed issue asks for.
        let mut next: Option<Moment> = None;
        let mut changes = IndexChanges::default();
        let mut more_bytes = 0;
        for portion in portions(self.stored) {
            let mut replaced = Vec::with_capacity(portion.len());
            let time = || {
                let at = match next {
                    Some(at) => at,
                    None => moment(store, origin)?,
                };
                // Each message gets an id of its own.
                next = Some(Moment { random: at.random.wrapping_add(1), ..at });
                Ok(at)
            };
            self.plan(portion, time, |row, before, issue| {
                note(&mut changes, row.into(), Some(before), &issue)?;
                more_bytes += bytes(&issue) - bytes(before);
                replaced.push(Replacement { row, issue });
                Ok(())
            })?;
            if !replaced.is_empty() {
                store.replace(&replaced)?;
            }
        }
        if next.is_some() {
            store.update_index(changes)?;
            store.store_bytes(more_bytes)?;
        }
        Ok(())
    }

    /// Reads some of the issues, and visits those that change, with their new state.
    fn plan(
        &self,
        portion: Range<usize>,
        mut time: impl FnMut() -> Result<Moment, StoreError>,
        mut visit: impl FnMut(u32, &IssueRecord, IssueRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let EditIssues { origin, request } = self.command;
        let rows = &self.rows[portion];
        for (row, stored) in rows.iter().zip(self.store.records(rows)?) {
            let draft = EditDraft::new(&stored, &request.edit, self.targets, self.message);
            if !draft.changes_issue() {
                continue;
            }
            let plan = draft
                .finish(&origin.domain_name, time()?)
                .map_err(|why| refused(&request.issue_ids.field, why))?;
            visit(*row, &stored, plan.issue)?;
        }
        Ok(())
    }
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
