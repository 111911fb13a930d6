//! Importing issues: reads the stored state that the model's plan needs, makes the plan, and has
//! the backend write it. The slices of a chunk share the domain's state. Most imports bring free
//! ids and rising times and read no stored issue. A dry run notes the issues that it would store.

use std::collections::HashMap;
use std::ops::Range;

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use caseload_model::issue::{
    App, ImportContext, ImportMode, IssueBody, IssueFragments, IssueRow, NewIssue, StoredIssue,
    TakenTimestamps, TimeWindow, free_ids_needed, named_issue_ids, plan_imports,
};
use caseload_model::issue_query::IssueView;
use caseload_model::record::{ChunkRecords, PreparedEntry};

use super::{ImportStore, free_ids, replace};
use crate::checksum;
use crate::dry_run::DryRunState;
use crate::idempotency::CommandStore as _;
use crate::sql::{Row, Sql};
use crate::{ChunkEntries, ChunkWork, StoreError, values};

/// Above this number of windows, one window around all of them is read, unless it is much longer
/// than all of them together.
const WINDOWS_APART_MAX: usize = 16;
const SCAN_STRETCH_MAX: i64 = 4;

/// The import of one chunk.
#[derive(Debug, Default)]
pub struct Import {
    mode: ImportMode,
    /// Of a dry run: the state that its earlier entries would have left.
    pub(crate) dry_run: Option<DryRunState>,
    /// Whether the entries are those of a file.
    is_file: bool,
    /// Of a file that is imported for real: the issues that its entries have changed.
    pub(crate) changed: Option<DryRunState>,
    /// The state of the domain. It is read once per chunk and updated after each plan.
    context: Option<ImportContext>,
    /// As [`Import::bytes`], so far.
    bytes: i64,
}

impl Import {
    /// `changed` is the state of a file.
    pub(crate) fn new(upsert: bool, changed: Option<DryRunState>) -> Self {
        let mode = ImportMode { dry_run: false, upsert };
        Self { mode, is_file: changed.is_some(), changed, ..Self::default() }
    }

    /// Of a dry run.
    pub(crate) fn of_dry_run(upsert: bool, is_file: bool, state: DryRunState) -> Self {
        let mode = ImportMode { dry_run: true, upsert };
        Self { mode, is_file, dry_run: Some(state), ..Self::default() }
    }

    /// Bytes of the issues that were imported, less those of the issues that they replaced.
    pub const fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Imports some entries of a block and returns their records.
    pub fn apply(
        &mut self,
        store: &mut impl ImportStore,
        part: &ChunkEntries,
        slice: Range<usize>,
    ) -> Result<ChunkRecords, StoreError> {
        let entries = entries_of(&part.work, &slice)?;
        let named = named_issue_ids(entries);
        if self.mode.upsert && !self.mode.dry_run && self.context.is_none() {
            replace::lock(&store.domain(), &named)?;
        }
        self.read(store, &named, entries.len())?;
        let context = self.context.as_mut().expect("it was read");
        let mut plan = loop {
            match plan_imports(context, &part.block.bytes, entries, self.mode) {
                Ok(plan) => break plan,
                Err(need) => {
                    let windows = joined(need.windows().collect());
                    let taken = store.taken(&windows)?;
                    if let Some(earlier) = &mut self.dry_run {
                        earlier.lay_over_instants(&store.domain(), &windows, context)?;
                    }
                    for (window, taken) in windows.into_iter().zip(taken) {
                        context.taken_timestamps.add_window(window, taken);
                    }
                }
            }
        };
        let mut records = std::mem::take(&mut plan.records);
        if let Some(earlier) = &mut self.dry_run {
            let (freed, newest) = (plan.freed.clone(), plan.max_created_at);
            let planned = context.go_on(entries, plan);
            earlier.note_issues(&freed, planned, (newest, context));
        } else {
            let of_issue = |issue: &IssueRow| {
                let body = entries[issue.source].item.as_ref().ok().map(|entry| &entry.body);
                body.map_or(0, |body| IssueFragments::new(&issue.head, body).bytes() as i64)
            };
            self.bytes += plan.issues.iter().map(of_issue).sum::<i64>();
            if let Some(changed) = &mut self.changed {
                let ids = plan.issues.iter().map(|issue| issue.columns.id);
                changed.note_changed_ids(ids)?;
            }
            let removed = replace::remove(store, &plan, entries, &mut records.effects)?;
            self.bytes -= removed.bytes;
            store.insert(part, slice, &mut plan, removed.rows)?;
            context.apps.append(&mut plan.apps);
            context.next_publish_number = plan.next_publish_number;
            context.last_issue_id = plan.last_issue_id;
            context.taken_timestamps = TakenTimestamps::new(plan.max_created_at);
        }
        Ok(records)
    }

    /// Reads the state that the plan of so many entries with these ids needs.
    fn read(
        &mut self,
        store: &mut impl ImportStore,
        named: &[u64],
        entries: usize,
    ) -> Result<(), StoreError> {
        let context = if let Some(context) = &mut self.context {
            context
        } else {
            let context = self.context.insert(read_context(store)?);
            if let Some(earlier) = &mut self.dry_run {
                earlier.lay_over_domain(&store.domain(), context)?;
            }
            if let Some(earlier) = &mut self.changed {
                // New issues get ids from here on.
                earlier.changed_ids(&store.domain(), [context.last_issue_id].into_iter())?;
            }
            context
        };
        // Ids above the last one are free, except for those that do not count for the next one.
        let last_id = context.last_issue_id;
        let may_exist = |id: &u64| *id <= last_id || *id > ISSUE_ID_COUNTED_MAX;
        let stored_ids = named.iter().copied().filter(may_exist);
        let ids: Vec<i64> = stored_ids.map(u64::cast_signed).collect();
        let stored = if ids.is_empty() { Vec::new() } else { store.stored(&ids)? };
        context.stored = stored.into_iter().collect();
        let needed = free_ids_needed(last_id, entries);
        context.free_ids = free_ids(&store.domain(), last_id + 1, needed)?;
        if let Some(earlier) = &mut self.dry_run {
            earlier.lay_over_issues(&store.domain(), named, context)?;
            let changed = self.is_file.then(|| context.earlier.keys().copied().collect());
            context.changed = changed;
        } else if let Some(earlier) = &mut self.changed {
            let named = ids.iter().map(|id| id.cast_unsigned());
            let named = named.chain(context.free_ids.iter().copied());
            context.changed = Some(earlier.changed_ids(&store.domain(), named)?);
        }
        Ok(())
    }

    /// The state of the domain after the import; `None` if nothing was imported.
    pub fn imported(&self) -> Option<&ImportContext> {
        self.context.as_ref().filter(|_| !self.mode.dry_run)
    }
}

/// The state of the domain before the first plan.
fn read_context(store: &mut impl ImportStore) -> Result<ImportContext, StoreError> {
    let (last_issue_id, last_app_number) = store.clock()?;
    let domain = store.domain();
    // This comes after the lock of the clock, so it sees all commits under an earlier lock.
    let newest = "SELECT max(created_at) FROM issues WHERE domain_id = ?1";
    let newest = domain.find(newest, values![domain.domain()], |row| row.get(0))?.flatten();
    let mut default_app = None;
    let apps = domain.list(
        "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d
         JOIN apps a ON a.domain_id = d.id WHERE d.id = ?1 AND a.domain_id = ?1
         ORDER BY a.created_at, a.id",
        values![domain.domain()],
        |row| {
            let app = App { app_id: row.get(0)?, publish_id: row.get(1)? };
            if row.get(2)? {
                default_app = Some(app.clone());
            }
            Ok(app)
        },
    )?;
    Ok(ImportContext {
        default_app: default_app
            .ok_or_else(|| StoreError::Corrupt("a domain without default app".to_owned()))?,
        apps,
        next_publish_number: last_app_number + 1,
        last_issue_id,
        free_ids: Vec::new(),
        stored: HashMap::new(),
        earlier: HashMap::new(),
        changed: None,
        taken_timestamps: TakenTimestamps::new(newest),
    })
}

/// An issue and its id, from a row of its fragments with their checksums, its id, and its two times
/// of creation.
pub fn stored_issue(row: &dyn Row) -> Result<(u64, StoredIssue), StoreError> {
    let (created_at, original_created_at) = (row.get(12)?, row.get(13)?);
    let (head, body) = record_fragments(row)?;
    let issue = StoredIssue { head, body, created_at, original_created_at };
    Ok((row.get(11)?, issue))
}

/// The head and the other fragments, from a row that begins with all fragments and their checksums.
/// Damage is reported: the fragments that are read here are written again, with a new checksum.
pub fn record_fragments(row: &dyn Row) -> Result<(Vec<u8>, IssueBody), StoreError> {
    let (head, body) = (row.get::<Vec<u8>>(0)?, body(row)?);
    let sums: &[u8] = row.get(10)?;
    checksum::require_fragments(&IssueFragments::new(&head, &body), &IssueView::FULL, sums)?;
    Ok((head, body))
}

fn body(row: &dyn Row) -> Result<IssueBody, StoreError> {
    Ok(IssueBody {
        messages: row.get(1)?,
        meta: row.get(2)?,
        custom_fields: row.get(3)?,
        feedback: row.get(4)?,
        queue: row.get(5)?,
        private_notes: row.get(6)?,
        predict_labels: row.get(7)?,
        sentiment_analysis: row.get(8)?,
        smart_intents: row.get(9)?,
    })
}

/// The windows, or one window around them if that saves questions without reading much more.
fn joined(windows: Vec<TimeWindow>) -> Vec<TimeWindow> {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return windows };
    let around = TimeWindow { from: first.from, until: last.until };
    let length = |window: &TimeWindow| window.until.0 - window.from.0 + 1;
    let together: i64 = windows.iter().map(length).sum();
    if windows.len() > WINDOWS_APART_MAX && length(&around) <= together * SCAN_STRETCH_MAX {
        return vec![around];
    }
    windows
}

/// The entries of a slice of issues.
pub fn entries_of<'w>(
    work: &'w ChunkWork,
    slice: &Range<usize>,
) -> Result<&'w [PreparedEntry<NewIssue>], StoreError> {
    match work {
        ChunkWork::ImportIssues(entries) => Ok(&entries[slice.clone()]),
        _ => Err(StoreError::Corrupt("entries of another action among issues".to_owned())),
    }
}
