//! Deleting issues: takes them from counters and terms, and removes their rows and the files of
//! their messages. A slice may name thousands of long issues, so only some of them are in memory at
//! a time. A task and a call delete by the same function. Invariant: after a slice, counters, terms
//! and files are those of the issues that are left; after a chunk, the mark of changes is another.

use std::collections::{BTreeMap, HashMap};

use caseload_model::issue::plan_issue_deletes;
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use super::portions::portions;
use super::{IndexChanges, IndexedIssue, IssueStore};
use crate::dry_run::{DryRunState, Part};
use crate::{StoreError, attachments};

/// The deletions of one chunk.
#[derive(Debug, Default)]
pub struct Deletions {
    /// Of a dry run: the issues that its earlier entries would have deleted.
    pub(crate) dry_run: Option<DryRunState>,
    /// Whether an issue was deleted.
    written: bool,
}

impl Deletions {
    pub(crate) const fn of_dry_run(state: DryRunState) -> Self {
        Self { dry_run: Some(state), written: false }
    }

    /// Deletes the issues of some entries; their records.
    pub(crate) fn apply(
        &mut self,
        store: &impl IssueStore,
        payload: &[u8],
        entries: &[PreparedEntry<u64>],
    ) -> Result<ChunkRecords, StoreError> {
        let named = entries.iter().filter_map(|entry| entry.item.as_ref().ok().copied());
        let ids: Vec<u64> = named.collect();
        let rows = if ids.is_empty() { Vec::new() } else { store.rows_of(&ids)? };
        let mut stored: HashMap<u64, u32> =
            ids.iter().zip(rows).filter_map(|(id, row)| Some((*id, row?))).collect();
        if let Some(earlier) = &mut self.dry_run {
            earlier.read(store, Part::Issue, ids.iter().map(|id| id.to_be_bytes()))?;
            stored.retain(|id, _| earlier.get(Part::Issue, &id.to_be_bytes()).is_none());
        }
        let plan = plan_issue_deletes(payload, entries, &stored);
        if let Some(earlier) = &mut self.dry_run {
            for id in plan.deleted {
                earlier.put(Part::Issue, &id.to_be_bytes(), None);
            }
        } else {
            let place = |id: &u64| Some((*stored.get(id)?, *id));
            remove(store, &plan.deleted.iter().filter_map(place).collect())?;
            self.written |= !plan.deleted.is_empty();
        }
        Ok(plan.records)
    }

    /// Notes the change in the domain's clock, at the end of the chunk: a writer that waits for the
    /// clock may have locked issues.
    pub(crate) fn note_change(
        &self,
        store: &impl IssueStore,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        if self.written { store.change_time(now).map(drop) } else { Ok(()) }
    }
}

/// Deletes the issue of a call; the time of the change, or `None` if the domain has none of that
/// id.
pub(super) fn delete_one(
    store: &impl IssueStore,
    id: u64,
    now: UnixMillis,
) -> Result<Option<UnixMillis>, StoreError> {
    let Some(row) = store.rows_of(&[id])?.pop().flatten() else { return Ok(None) };
    remove(store, &BTreeMap::from([(row, id)]))?;
    store.change_time(now).map(Some)
}

/// Removes these issues, by their rows.
pub(super) fn remove(
    store: &impl IssueStore,
    issues: &BTreeMap<u32, u64>,
) -> Result<(), StoreError> {
    if issues.is_empty() {
        return Ok(());
    }
    let rows: Vec<u32> = issues.keys().copied().collect();
    store.lock(&rows)?;
    let stored = store.stored_bytes(&rows)?;
    let mut changes = IndexChanges::default();
    for portion in portions(&stored) {
        let rows = &rows[portion];
        for (row, issue) in rows.iter().zip(store.records(rows)?) {
            let (columns, fragments) = (&issue.columns, &issue.fragments());
            let before = IndexedIssue { columns, fragments };
            changes.change((*row).into(), Some(before), None)?;
        }
    }
    store.update_index(changes)?;
    store.delete(&rows)?;
    let ids: Vec<i64> = issues.values().map(|id| id.cast_signed()).collect();
    attachments::remove_with_issues(store, &ids, |_| false)?;
    store.store_bytes(-(stored.iter().sum::<u64>() as i64))
}
