//! The parts that all writing commands share: the issue and the time of a change, the writing of
//! one issue, and the faults of a plan.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue::IssuePart;
use caseload_model::issue::write::{AgentSummary, IssueRecord, IssueWriteError, Moment};
use caseload_model::issue_query::ParameterFault;
use caseload_model::tags::ADD_TAGS;

use super::issue_store::{IssueStore, Replacement};
use super::lookups;
use crate::changes::Log;
use crate::issues::{IndexChanges, IndexedIssue};
use crate::{StoreError, WriteOrigin};

/// The agent as an author, who always has an address.
pub(super) fn signed<W: IssueStore>(
    store: &W,
    origin: &WriteOrigin,
    agent: AgentSummary,
) -> Result<AgentSummary, StoreError> {
    if !agent.email.is_empty() {
        return Ok(agent);
    }
    Ok(lookups::desk(store)?.signed(&origin.domain_name, agent))
}

pub(super) fn location(origin: &WriteOrigin, id: u64) -> String {
    format!("/v1/{}/issues/{id}", origin.domain_name)
}

pub(super) fn issue<W: IssueStore>(store: &W, id: u64) -> Result<(u32, IssueRecord), StoreError> {
    store.issue(id)?.ok_or_else(|| unknown(id))
}

pub(super) fn unknown(id: u64) -> StoreError {
    StoreError::NotFound { what: format!("issue {id}") }
}

pub(super) fn moment<W: IssueStore>(store: &W, origin: &WriteOrigin) -> Result<Moment, StoreError> {
    Ok(Moment { at: store.change_time(origin.now)?, random: origin.random })
}

pub(super) fn put<W: IssueStore>(
    store: &W,
    done: &mut Log,
    (row, before): (u32, &IssueRecord),
    after: IssueRecord,
) -> Result<(), StoreError> {
    done.updated(before, &after);
    let mut changes = IndexChanges::default();
    note(&mut changes, row.into(), Some(before), &after)?;
    store.store_bytes(bytes(&after) - bytes(before))?;
    store.replace(&[Replacement { row, issue: after }])?;
    store.update_index(changes)
}

/// Bytes of an issue as it is stored.
pub(in crate::issues) fn bytes(issue: &IssueRecord) -> i64 {
    issue.fragments().bytes() as i64
}

/// Adds a written issue to the index changes.
pub(in crate::issues) fn note(
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

pub(super) fn refused(field: &str, why: IssueWriteError) -> StoreError {
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
                // Tags that an edit gives as a whole were counted with its form.
                IssuePart::Tags => ADD_TAGS,
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
