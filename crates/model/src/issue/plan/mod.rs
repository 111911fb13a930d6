//! Plans an import: takes entries and the records that they refer to, and returns rows to insert
//! and result records. The backend reads those records first and writes the plan afterwards, both
//! under its own lock.
//!
//! Two laws hold. Planning a run of entries at once gives the same result as planning it in parts,
//! each after the one before was written or, in a dry run, noted.
//! An entry whose issue exists with equal content changes
//! nothing, so an interrupted import can simply be repeated. In an upsert, an entry whose issue
//! exists with other content replaces it: the plan is the same as if the old one had never been.

mod app_profile;
mod apps;
mod content;
mod context;
mod taken_timestamps;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::fragments::IssueFragments;
use super::reader::FAULTS_MAX;
use super::{IssueColumns, NewIssue};
use crate::change::{ChangeAction, Effect, Resource};
use crate::error_code::EntryErrorCode;
use crate::ids::{ISSUE_ID_COUNTED_MAX, ISSUE_ID_MAX};
use crate::json::Json;
use crate::payload::Entry;
use crate::record::{EntryFault, EntryWarning, PreparedEntry, Rejection};
use crate::task::Action;
use crate::time::UnixMillis;
use apps::Apps;
use content::differences;

pub use app_profile::AppProfileRow;
pub use apps::App;
pub use context::{ImportContext, ImportPlan, IssueRow, StoredIssue};
pub use taken_timestamps::{MissingWindows, TakenTimestamps, TimeWindow};

/// The ids in entries, ascending; those of rejected entries are among them. A context must contain
/// their issues, if they exist.
pub fn named_issue_ids(entries: &[PreparedEntry<NewIssue>]) -> Vec<u64> {
    let given = entries.iter().filter_map(|entry| match &entry.item {
        Ok(issue) => issue.id,
        Err(rejected) => rejected.named.as_deref()?.issue,
    });
    let mut ids: Vec<u64> = given.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// How many free ids beyond [`ISSUE_ID_COUNTED_MAX`] a plan of these entries may need: none, as
/// long as the generated ids are below.
pub fn free_ids_needed(last_issue_id: u64, entries: usize) -> usize {
    if last_issue_id + entries as u64 <= ISSUE_ID_COUNTED_MAX {
        return 0;
    }
    // Each entry takes at most one, by its own choice or the plan's.
    entries
}

/// How a run of entries is planned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportMode {
    pub dry_run: bool,
    /// Whether an entry replaces the issue that has its id, if their content differs.
    pub upsert: bool,
}

/// Plans a run of entries; `payload` is the buffer that they point into. If the plan depends on
/// whether a millisecond is taken and the context does not contain that, the result is the missing
/// windows: the caller adds them to the context and calls again.
pub fn plan_imports(
    context: &ImportContext,
    payload: &[u8],
    entries: &[PreparedEntry<NewIssue>],
    mode: ImportMode,
) -> Result<ImportPlan, MissingWindows> {
    let mut planner = Planner::new(context, entries, mode);
    for (source, prepared) in entries.iter().enumerate() {
        match &prepared.item {
            Err(rejected) => planner.reject(payload, &prepared.entry, rejected),
            Ok(issue) => planner.plan_entry(source, payload, &prepared.entry, issue),
        }
    }
    planner.finish()
}

struct Planner<'c> {
    context: &'c ImportContext,
    entries: &'c [PreparedEntry<NewIssue>],
    mode: ImportMode,
    apps: Apps,
    taken_timestamps: TakenTimestamps,
    need: MissingWindows,
    /// Indices of the issues of this plan, by id.
    placed: HashMap<u64, usize>,
    planned: PlannedIds,
    plan: ImportPlan,
}

/// Ids of the rows that the plan already has.
#[derive(Default)]
struct PlannedIds {
    queues: HashSet<String>,
    agents: HashSet<String>,
    app_profiles: HashSet<String>,
}

/// The issue that already has an entry's id.
struct TakenId<'e> {
    created_at: UnixMillis,
    original_created_at: Option<UnixMillis>,
    fragments: IssueFragments<'e>,
    /// The index of the entry that brought it, if that is in the same plan or dry run.
    brought_by: Option<u32>,
}

impl<'c> Planner<'c> {
    fn new(
        context: &'c ImportContext,
        entries: &'c [PreparedEntry<NewIssue>],
        mode: ImportMode,
    ) -> Self {
        let plan = ImportPlan {
            last_issue_id: context.last_issue_id,
            next_publish_number: context.next_publish_number,
            max_created_at: context.taken_timestamps.max_created_at(),
            ..ImportPlan::default()
        };
        Self {
            context,
            entries,
            mode,
            apps: Apps::new(&context.default_app, &context.apps, context.next_publish_number),
            taken_timestamps: context.taken_timestamps.clone(),
            need: MissingWindows::default(),
            placed: HashMap::new(),
            planned: PlannedIds::default(),
            plan,
        }
    }

    fn plan_entry(&mut self, source: usize, payload: &[u8], entry: &Entry, issue: &'c NewIssue) {
        let app = self.apps.resolve(issue.app_id.as_deref(), issue.app_publish_id.as_deref());
        let Some(id) = issue.id else {
            if let Some(id) = self.next_id() {
                self.plan.last_issue_id = id;
                self.create(source, issue, id, app);
            } else {
                let detail = format!("no id is left up to {ISSUE_ID_MAX}: give one that is free");
                let fault = EntryFault::new(EntryErrorCode::OutOfRange, "/id", detail);
                self.refuse(payload, entry, None, fault);
            }
            return;
        };
        let Some(existing) = self.existing(id) else {
            self.create(source, issue, id, app);
            return;
        };
        let (created_at, original) = (existing.created_at, existing.original_created_at);
        let head = issue.head.render(id, (&app.app_id, &app.publish_id), created_at, original);
        let mut differing = differences(
            &existing.fragments,
            &IssueFragments::new(&head, &issue.body),
            &issue.unaddressed,
            entry.of_row,
        );
        if !is_same_instant(issue, created_at, original) {
            differing.insert(0, "created_at".to_owned());
        }
        if differing.is_empty() {
            let repeat = self.repeat(id);
            let warnings = self.entries[source].warnings_and(repeat.as_slice());
            self.plan.records.outcome(entry, None, &warnings, |out| {
                write_id(id, out);
                write_shift(created_at, original, out);
            });
            return;
        }
        if self.mode.upsert {
            self.replace(source, issue, (id, differing), app);
            return;
        }
        let other = format!("other content ({})", differing.join(", "));
        let fault = self.id_conflict(id, existing.brought_by, &other);
        self.refuse(payload, entry, Some(id.to_string().as_bytes()), fault);
    }

    /// The next generated id. Beyond the greatest id that counts, an import may have taken it.
    fn next_id(&self) -> Option<u64> {
        let next = self.plan.last_issue_id + 1;
        if next <= ISSUE_ID_COUNTED_MAX {
            return Some(next);
        }
        let ImportContext { free_ids, earlier, .. } = self.context;
        let from = free_ids.partition_point(|id| *id < next);
        let is_free = |id: &u64| !self.placed.contains_key(id) && !earlier.contains_key(id);
        free_ids[from..].iter().copied().find(is_free)
    }

    fn id_conflict(&self, id: u64, brought_by: Option<u32>, other: &str) -> EntryFault {
        let holder = match brought_by.filter(|_| self.mode.dry_run) {
            Some(index) => format!("the entry with index {index} has this id"),
            None => "the domain has an issue with this id".to_owned(),
        };
        let detail = format!("{holder} and {other}; leave the id out to get a new one");
        EntryFault::new(EntryErrorCode::IdConflict, "/id", detail)
            .with_value(&Json::Number(&id.to_string()))
    }

    /// Adds the error record of an entry that failed validation. An id that is taken is a fault,
    /// too, because no issue has the content of such an entry.
    fn reject(&mut self, payload: &[u8], entry: &Entry, rejected: &Rejection) {
        let taken = rejected.named.as_deref().and_then(|named| {
            let id = named.issue.filter(|_| !self.mode.upsert)?;
            Some(self.id_conflict(id, self.existing(id)?.brought_by, "other content"))
        });
        let own = FAULTS_MAX - usize::from(taken.is_some());
        let faults: Vec<EntryFault> =
            rejected.faults.iter().take(own).cloned().chain(taken).collect();
        let id = rejected.id.as_deref();
        let records = &mut self.plan.records;
        records.error(Action::ImportIssues, payload, entry, id, &faults, rejected.readable);
    }

    fn existing(&self, id: u64) -> Option<TakenId<'_>> {
        if let Some(placed) = self.placed.get(&id) {
            let row = &self.plan.issues[*placed];
            let prepared = &self.entries[row.source];
            let body = &prepared.item.as_ref().ok()?.body;
            return Some(TakenId {
                created_at: row.columns.created_at,
                original_created_at: row.columns.original_created_at,
                fragments: IssueFragments::new(&row.head, body),
                brought_by: Some(prepared.entry.index),
            });
        }
        // Of an upsert, the stored one may have been replaced by an earlier entry.
        let earlier = self.context.earlier.get(&id).map(|(index, issue)| (Some(*index), issue));
        let stored = || self.context.stored.get(&id).map(|issue| (None, issue));
        let (brought_by, issue) = earlier.or_else(stored)?;
        Some(TakenId {
            created_at: issue.created_at,
            original_created_at: issue.original_created_at,
            fragments: IssueFragments::new(&issue.head, &issue.body),
            brought_by,
        })
    }

    fn create(&mut self, source: usize, issue: &'c NewIssue, id: u64, app: App) {
        let at = self.take_instant(issue);
        let tell_id = !self.mode.dry_run || issue.id.is_some();
        self.add(source, issue, (id, at), app);
        let effect = Effect::new(Resource::Issue, id, ChangeAction::Created);
        self.record(source, effect, (id, at), tell_id, &[]);
    }

    /// The warning about an entry whose issue an earlier entry of the file has changed.
    fn repeat(&self, id: u64) -> Option<EntryWarning> {
        let changed = self.context.changed.as_ref()?;
        let is_repeat = self.placed.contains_key(&id) || changed.contains(&id);
        let value = id.to_string();
        let (value, issue) = (Json::Number(&value), format!("issue {id}"));
        let advice = "give each issue one entry";
        is_repeat.then(|| EntryWarning::repeated("id", &value, &issue, advice))
    }

    /// Plans the issue in the place of the one that has its id and differs from it in some fields.
    fn replace(
        &mut self,
        source: usize,
        issue: &'c NewIssue,
        (id, differing): (u64, Vec<String>),
        app: App,
    ) {
        let Some(existing) = self.existing(id) else { return };
        let (created_at, original) = (existing.created_at, existing.original_created_at);
        let at = if is_same_instant(issue, created_at, original) {
            (created_at, moved_from(issue, created_at))
        } else {
            self.taken_timestamps.free(created_at);
            self.plan.freed.push(created_at);
            self.take_instant(issue)
        };
        let repeat = self.repeat(id);
        if !self.placed.contains_key(&id) {
            self.plan.replaced.push(id);
        }
        self.add(source, issue, (id, at), app);
        let effect = Effect::new(Resource::Issue, id, ChangeAction::Updated);
        let effect = effect.of_fields(differing.into_iter().map(Cow::Owned));
        self.record(source, effect, (id, at), true, repeat.as_slice());
    }

    /// The time of creation that a new issue gets, and the one that it was to have if that is
    /// another one.
    fn take_instant(&mut self, issue: &NewIssue) -> (UnixMillis, Option<UnixMillis>) {
        let created_at = self.taken_timestamps.take(issue.created_at, &mut self.need);
        (created_at, moved_from(issue, created_at))
    }

    fn record(
        &mut self,
        source: usize,
        effect: Effect,
        (id, (created_at, original)): (u64, (UnixMillis, Option<UnixMillis>)),
        tell_id: bool,
        further: &[EntryWarning],
    ) {
        let prepared = &self.entries[source];
        let warnings = prepared.warnings_and(further);
        self.plan.records.outcome(&prepared.entry, Some(effect), &warnings, |out| {
            if tell_id {
                write_id(id, out);
            }
            write_shift(created_at, original, out);
        });
    }

    /// Adds an issue with this id and these times of creation, in the place of the one that an
    /// earlier entry of the plan brought under this id.
    fn add(
        &mut self,
        source: usize,
        issue: &'c NewIssue,
        (id, (created_at, original)): (u64, (UnixMillis, Option<UnixMillis>)),
        app: App,
    ) {
        let app_ids = (app.app_id.as_str(), app.publish_id.as_str());
        let row = IssueRow {
            head: issue.head.render(id, app_ids, created_at, original),
            columns: IssueColumns {
                id,
                created_at,
                original_created_at: original,
                app_id: app.app_id.clone(),
                app_publish_id: app.publish_id.clone(),
                facts: issue.facts.clone(),
            },
            source,
        };
        self.add_people(issue, &app.app_id);
        self.apps.register(app);
        if let Some(place) = self.placed.get(&id) {
            self.plan.issues[*place] = row;
        } else {
            self.placed.insert(id, self.plan.issues.len());
            self.plan.issues.push(row);
        }
        if id <= ISSUE_ID_COUNTED_MAX {
            self.plan.last_issue_id = self.plan.last_issue_id.max(id);
        }
        self.plan.max_created_at = self.plan.max_created_at.max(Some(created_at));
    }

    fn add_people(&mut self, issue: &NewIssue, app_id: &str) {
        if let Some(queue) = &issue.facts.queue
            && self.planned.queues.insert(queue.id.clone())
        {
            self.plan.queues.push(queue.clone());
        }
        for agent in &issue.agents {
            if self.planned.agents.insert(agent.id.clone()) {
                self.plan.agents.push(agent.clone());
            }
        }
        for profile in &issue.app_profiles {
            if self.planned.app_profiles.insert(profile.pid.clone()) {
                self.plan.app_profiles.push(AppProfileRow {
                    pid: profile.pid.clone(),
                    app_id: app_id.to_owned(),
                    name: profile.name.clone(),
                    emails: profile.emails.clone(),
                    identifier: None,
                });
            }
        }
    }

    fn refuse(&mut self, payload: &[u8], entry: &Entry, id: Option<&[u8]>, fault: EntryFault) {
        let records = &mut self.plan.records;
        records.error(Action::ImportIssues, payload, entry, id, &[fault], true);
    }

    fn finish(self) -> Result<ImportPlan, MissingWindows> {
        if !self.need.is_empty() {
            return Err(self.need);
        }
        let mut plan = self.plan;
        (plan.apps, plan.next_publish_number) = self.apps.into_new();
        Ok(plan)
    }
}

/// The instant that an issue which is created at `created_at` was to have, if that is another one.
fn moved_from(issue: &NewIssue, created_at: UnixMillis) -> Option<UnixMillis> {
    let shifted = created_at != issue.created_at;
    // An instant that an earlier import recorded is older than the one that this import moves.
    let original = issue.original_created_at.or(Some(issue.created_at).filter(|_| shifted));
    original.filter(|original| *original != created_at)
}

/// Whether an entry may be the issue created at `created_at`: the instants are equal, or equal to
/// the original one, or both were moved from the same original.
fn is_same_instant(issue: &NewIssue, created_at: UnixMillis, original: Option<UnixMillis>) -> bool {
    match issue.original_created_at {
        Some(given) => Some(given) == original,
        None => issue.created_at == created_at || Some(issue.created_at) == original,
    }
}

fn write_id(id: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"id\":{id}").as_bytes());
}

/// The members that report a moved `created_at`.
fn write_shift(created_at: UnixMillis, original: Option<UnixMillis>, out: &mut Vec<u8>) {
    if let Some(original) = original {
        let (at, from) = (created_at.0, original.0);
        out.extend_from_slice(
            format!(",\"created_at\":{at},\"original_created_at\":{from}").as_bytes(),
        );
    }
}
