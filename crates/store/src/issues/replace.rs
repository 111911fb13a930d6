//! Replacing issues by an import: removes the stored issues in whose place the import puts others.
//! The new issue gets the row of the old one, so that issues which are replaced every night use no
//! rows up. Files of the old messages go, except for those that the new messages show, too: an
//! export that is changed and imported again still has them. Invariant: the import's own index
//! changes note, in order, that issues leave counters and terms, because an issue of the same chunk
//! may be replaced. The log has each replacement like an edit: with the values before and after it.

use std::collections::{HashMap, HashSet};

use caseload_model::change::{ChangeAction, Effect, issue_effect};
use caseload_model::issue::attachment_url::attachment_ids;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{ImportPlan, IssueColumns, NewIssue};
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

/// Removes the stored issues that the plan replaces, and adds the old and new values to the effects
/// of entries that replace an issue.
pub(super) fn remove<I: ImportStore>(
    store: &mut I,
    plan: &ImportPlan,
    entries: &[PreparedEntry<NewIssue>],
    effects: &mut [Effect],
) -> Result<RemovedIssues, StoreError> {
    let mut versions = Versions::new(entries, effects);
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
        let records = domain.records(rows)?;
        for before in &records {
            versions.replaced(before);
        }
        store.unindex(rows.iter().copied().zip(records).collect())?;
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

/// The versions of issues that the entries of a plan replace, each by the next.
struct Versions<'v> {
    entries: &'v [PreparedEntry<NewIssue>],
    effects: &'v mut [Effect],
    /// The places of the effects that replace an issue, by its id, in their order.
    updates: HashMap<u64, Vec<usize>>,
}

impl<'v> Versions<'v> {
    /// The first version may be that of an earlier entry of the plan.
    fn new(entries: &'v [PreparedEntry<NewIssue>], effects: &'v mut [Effect]) -> Self {
        let mut updates: HashMap<u64, Vec<usize>> = HashMap::new();
        for (place, effect) in effects.iter().enumerate() {
            if let (ChangeAction::Updated, Some(id)) = (effect.action, effect.id.number()) {
                updates.entry(id).or_default().push(place);
            }
        }
        let is_first = |effect: &Effect| {
            let id = effect.id.number().filter(|id| updates.contains_key(id));
            id.is_some() && effect.action == ChangeAction::Created
        };
        let firsts: Vec<usize> = (0..effects.len()).filter(|n| is_first(&effects[*n])).collect();
        let mut versions = Self { entries, effects, updates };
        for first in firsts {
            if let Some(record) = versions.of_entry(first) {
                versions.replaced(&record);
            }
        }
        versions
    }

    /// Adds the values to the effects that replace this version and those that follow it.
    fn replaced(&mut self, first: &IssueRecord) {
        let mut before = None;
        for place in self.updates.remove(&first.columns.id).unwrap_or_default() {
            let Some(after) = self.of_entry(place) else { continue };
            let Effect { fields, values, .. } =
                issue_effect(before.as_ref().unwrap_or(first), &after);
            let effect = &mut self.effects[place];
            let further = effect.fields.iter().filter(|name| !fields.contains(name));
            let fields = fields.iter().chain(further).cloned().collect();
            (effect.fields, effect.values) = (fields, values);
            before = Some(after);
        }
    }

    /// The version that the entry of an effect brought.
    fn of_entry(&self, place: usize) -> Option<IssueRecord> {
        let Effect { id, index, .. } = &self.effects[place];
        let (id, index) = (id.number()?, (*index)?);
        let found = self.entries.binary_search_by_key(&index, |entry| entry.entry.index).ok()?;
        let issue = self.entries[found].item.as_ref().ok()?;
        let columns = IssueColumns {
            id,
            created_at: issue.created_at,
            original_created_at: issue.original_created_at,
            app_id: String::new(),
            app_publish_id: String::new(),
            facts: issue.facts.clone(),
        };
        let head = issue.head.render(id, ("", ""), issue.created_at, None);
        Some(IssueRecord { columns, head, body: issue.body.clone() })
    }
}

/// The files that the new issues show.
fn shown_files<'e>(plan: &ImportPlan, entries: &'e [PreparedEntry<NewIssue>]) -> HashSet<&'e str> {
    let issues = plan.issues.iter().filter_map(|issue| entries[issue.source].item.as_ref().ok());
    issues.flat_map(|issue| attachment_ids(&issue.body.messages)).collect()
}
