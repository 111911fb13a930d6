//! Replacing issues by an import: removes the stored issues in whose place the import puts others.
//! The new issue gets the row of the old one, so that issues which are replaced every night use no
//! rows up. Files of the old messages go, except for those that the new messages show, too: an
//! export that is changed and imported again still has them. Invariant: the import's own index
//! changes note, in order, that issues leave counters and terms, because an issue of the same chunk
//! may be replaced.

use std::collections::HashSet;

use caseload_model::issue::attachment_url::attachment_ids;
use caseload_model::issue::{ImportPlan, NewIssue};
use caseload_model::record::PreparedEntry;

use super::portions::portions;
use super::{FreeRows, ImportStore, IssueStore};
use crate::{StoreError, attachments};

/// Removed issues: their rows, and their bytes as they were stored.
#[derive(Debug, Default)]
pub(super) struct RemovedIssues {
    pub(super) rows: FreeRows,
    pub(super) bytes: i64,
}

/// Locks the stored issues among these ids until the transaction ends. Other writers lock an issue
/// before the clock of its domain, so an import that may replace issues does, too.
pub(super) fn lock(store: &impl IssueStore, ids: &[u64]) -> Result<(), StoreError> {
    let rows: Vec<u32> = store.rows_of(ids)?.into_iter().flatten().collect();
    if rows.is_empty() { Ok(()) } else { store.lock(&rows) }
}

/// Removes the stored issues that the plan replaces.
pub(super) fn remove<I: ImportStore>(
    store: &mut I,
    plan: &ImportPlan,
    entries: &[PreparedEntry<NewIssue>],
) -> Result<RemovedIssues, StoreError> {
    if plan.replaced.is_empty() {
        return Ok(RemovedIssues::default());
    }
    let domain = store.domain();
    let ids = &plan.replaced;
    let found = ids.iter().zip(domain.rows_of(ids)?).filter_map(|(id, row)| Some((*id, row?)));
    let mut found: Vec<(u64, u32)> = found.collect();
    found.sort_unstable_by_key(|(_, row)| *row);
    let rows: Vec<u32> = found.iter().map(|(_, row)| *row).collect();
    domain.lock(&rows)?;
    let stored = domain.stored_bytes(&rows)?;
    for portion in portions(&stored) {
        let rows = &rows[portion];
        store.unindex(rows.iter().copied().zip(domain.records(rows)?).collect())?;
    }
    domain.delete(&rows)?;
    let shown = shown_files(plan, entries);
    let ids: Vec<i64> = ids.iter().map(|id| id.cast_signed()).collect();
    attachments::remove_with_issues(&domain, &ids, |file| shown.contains(file))?;
    Ok(RemovedIssues {
        rows: found.into_iter().collect(),
        bytes: stored.iter().sum::<u64>() as i64,
    })
}

/// The files that the new issues show.
fn shown_files<'e>(plan: &ImportPlan, entries: &'e [PreparedEntry<NewIssue>]) -> HashSet<&'e str> {
    let issues = plan.issues.iter().filter_map(|issue| entries[issue.source].item.as_ref().ok());
    issues.flat_map(|issue| attachment_ids(&issue.body.messages)).collect()
}
