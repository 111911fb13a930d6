//! Applying a chunk: effects, records, counts and position in one transaction, and the completion
//! if no entry is left. Entries are applied in slices; between two slices the chunk may end. A get
//! action and a dry run are planned from a snapshot, and only their records are written, of a dry
//! run also the state that it would have left. Invariant:
//! a chunk commits only under its task's current lease, and each entry has one record.

use std::ops::Range;
use std::time::Duration;

use caseload_model::change::{Author, Batch, Effect};
use caseload_model::erasure::Erasure;
use caseload_model::issue::ImportContext;
use caseload_model::record::ChunkRecords;
use caseload_model::task::{Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;

use super::chunk_blocks::{ChunkBlocks, misfit};
use super::end::{complete, save};
use super::records::{PackedRecords, Records};
use super::statements::{LockedTask, TaskStore};
use crate::changes::log;
use crate::dry_run::{self, DryRunState, StateChanges, StateStore};
use crate::erasure::{self, Searched, Step};
use crate::failpoint::{self, Failpoint};
use crate::idempotency::CommandStore as _;
use crate::issues::{Deletions, Import, ImportStore, IssueStore};
use crate::profiles::{self, ProfileChanges, ProfileClock, ProfileStore};
use crate::query::SetStore;
use crate::{ApplyChunk, ChunkApplied, ChunkEntries, ChunkWork, StoreError, values};

/// How long a chunk may have the writer of SQLite, or its locks on PostgreSQL, for itself. A chunk
/// that takes longer is undone, and its task is tried again with fewer entries: callers who cancel,
/// and operators who revoke a key or delete a domain, wait for it.
pub const CHUNK_WORK_MAX: Duration = Duration::from_secs(4);
/// Bytes of records after which a chunk ends.
pub const READ_BYTES_MAX: usize = 16 << 20;
/// Entries of a get action that are read at a time: each may cost a read of the disk.
const READ_SLICE_ENTRIES: usize = 200;
/// Entries of a dry run that are planned at a time.
const DRY_RUN_SLICE_ENTRIES: usize = 1000;

/// The transaction of a chunk.
pub trait ChunkStore {
    type Statements: TaskStore + ProfileStore + IssueStore + StateStore + SetStore + Copy;
    type Import: ImportStore;

    /// Entries that are applied between two looks at whether the chunk is to end.
    const SLICE_ENTRIES: usize;

    fn statements(&self) -> Self::Statements;
    fn import(&mut self) -> &mut Self::Import;

    /// Locks the task, holds off a removal of its domain, and reads the clock of profiles; `None`
    /// if the task or its domain is gone.
    fn begin(&mut self, id: &str) -> Result<Option<ChunkStart>, StoreError>;
    /// Whether the chunk is to end after the present slice.
    fn should_end(&mut self) -> Result<bool, StoreError>;
    /// Whether the chunk is to end instead of waiting for its next block.
    fn should_not_wait(&self) -> bool;
    /// Writes the end of the chunk.
    fn finish(&mut self, end: &ChunkEnd<'_>) -> Result<(), StoreError>;
}

/// The stored state at the beginning of a chunk.
#[derive(Debug)]
pub struct ChunkStart {
    pub task: LockedTask,
    pub clock: ProfileClock,
}

/// The rows that a chunk writes once, at its end.
#[derive(Debug)]
pub struct ChunkEnd<'c> {
    pub task: &'c LockedTask,
    pub records: &'c [PackedRecords],
    /// The clock after changes of profiles.
    pub clock: Option<ProfileClock>,
    /// The state of the domain after an import.
    pub imported: Option<&'c ImportContext>,
}

/// A chunk that was planned from a snapshot: its records are not stored yet.
#[derive(Debug)]
pub struct PlannedChunk {
    pub records: Records,
    /// How many entries the records are about.
    pub done: usize,
    /// The block that has entries left.
    pub rest: Option<ChunkEntries>,
    /// All blocks of the chunk. To drop their thousands of entries takes time.
    pub taken: Vec<ChunkEntries>,
    /// The state that the chunk of a dry run changed.
    pub state: Vec<StateChanges>,
}

impl PlannedChunk {
    pub fn new(mut records: Records, entries: ChunkBlocks) -> Result<Self, StoreError> {
        records.close_block()?;
        let (done, rest, taken) = entries.end();
        Ok(Self { records, done, rest, taken, state: Vec::new() })
    }
}

/// The effects of a chunk, which all its slices share.
struct Effects {
    profiles: ProfileChanges,
    issues: Import,
    deletions: Deletions,
    /// The effects of the entries.
    logged: Vec<Effect>,
}

impl Effects {
    fn new(command: &ApplyChunk, clock: ProfileClock, file_since: Option<UnixMillis>) -> Self {
        let changed = command.import_id.as_ref().map(|_| state_of(command));
        Self {
            profiles: ProfileChanges::new(clock, file_since, command.clock.now()),
            issues: Import::new(command.upsert, changed),
            deletions: Deletions::default(),
            logged: Vec::new(),
        }
    }

    fn of_dry_run(command: &ApplyChunk) -> Self {
        let file_since = command.import_id.as_ref().map(|_| UnixMillis(0));
        let state = || state_of(command);
        Self {
            profiles: ProfileChanges::of_dry_run(command.clock.now(), file_since, state()),
            issues: Import::of_dry_run(command.upsert, file_since.is_some(), state()),
            deletions: Deletions::of_dry_run(state()),
            logged: Vec::new(),
        }
    }

    /// The states of the run; only one has changes, because a task has one action.
    fn take_states(&mut self) -> impl Iterator<Item = StateChanges> {
        let Self { profiles, issues, deletions, .. } = self;
        let states = [
            profiles.dry_run.take(),
            issues.dry_run.take(),
            issues.changed.take(),
            deletions.dry_run.take(),
        ];
        states.into_iter().flatten().map(DryRunState::into_changes)
    }

    /// Bytes of the state that the chunk of a dry run changed.
    fn state_bytes(&self) -> usize {
        let states = [&self.profiles.dry_run, &self.issues.dry_run, &self.deletions.dry_run];
        states.into_iter().flatten().map(DryRunState::bytes).sum()
    }

    /// Applies entries of a block, or only plans them in a dry run.
    fn apply(
        &mut self,
        store: &(impl ProfileStore + IssueStore),
        import: &mut impl ImportStore,
        part: &ChunkEntries,
        slice: Range<usize>,
    ) -> Result<ChunkRecords, StoreError> {
        let (count, payload) = (slice.len(), &part.block.bytes);
        let profiles = &mut self.profiles;
        let mut records = match &*part.work {
            ChunkWork::CreateCoreProfiles(all) => {
                profiles::create(store, profiles, payload, &all[slice])
            }
            ChunkWork::UpdateCoreProfiles(all) | ChunkWork::UpsertCoreProfiles(all) => {
                let of_action = (part.work.action(), &**payload);
                profiles::patch_core(store, profiles, of_action, &all[slice])
            }
            ChunkWork::DeleteCoreProfiles(all) => {
                profiles::delete_core(store, profiles, payload, &all[slice])
            }
            ChunkWork::DeleteAppProfiles(all) => {
                profiles::delete_app(store, profiles, payload, &all[slice])
            }
            ChunkWork::UpdateAppProfiles(all) => {
                profiles::update_app(store, profiles, payload, &all[slice])
            }
            ChunkWork::ImportIssues(_) => self.issues.apply(import, part, slice),
            ChunkWork::DeleteIssues(all) => self.deletions.apply(store, payload, &all[slice]),
            ChunkWork::ErasePerson(all) => erasure::refused(payload, &all[slice]),
            ChunkWork::GetCoreProfiles(_) | ChunkWork::GetAppProfiles(_) => {
                Err(StoreError::Corrupt("a get action that writes".to_owned()))
            }
        }?;
        assert_each_entry_has_a_record(records.succeeded + records.failed, count);
        self.logged.append(&mut records.effects);
        Ok(records)
    }
}

/// Applies the next step of an erasure, whose entry is done with the last one.
fn erase<S: ChunkStore>(
    store: &mut S,
    command: &ApplyChunk,
    (mut task, entries): (LockedTask, &mut ChunkBlocks),
    (erasure, searched): (&Erasure, Option<&Searched>),
) -> Result<LockedTask, StoreError> {
    let (statements, now) = (store.statements(), command.clock.now());
    match erasure::step(&statements, (&task.task.id, erasure), searched, now)? {
        Step::Went(effects) => {
            failpoint::reached(Failpoint::ChunkAfterEffects);
            task.task.deaths = 0;
            save(&statements, &task)?;
            log(&statements, &batch(command, now, effects))?;
            failpoint::reached(Failpoint::ChunkBeforeCommit);
            Ok(task)
        }
        Step::Ended(records) => {
            let mut all = Records::new(entries.next_index());
            entries.slice(1);
            all.add(records, entries.next_index())?;
            all.close_block()?;
            finish(store, command, task, &all, None)
        }
    }
}

/// The state of the command's run.
fn state_of(command: &ApplyChunk) -> DryRunState {
    let run = command.import_id.as_deref().unwrap_or(&command.task_id);
    DryRunState::new(run, command.entries.next_index() > 0)
}

/// Applies a chunk of a writing action. Also returns all blocks that it took: the next try begins
/// with them if the database undoes this one, and to drop their thousands of entries takes time.
/// An erasure is given the search before its step, if there was one.
pub fn write_chunk(
    store: &mut impl ChunkStore,
    command: &ApplyChunk,
    mut entries: ChunkBlocks,
    searched: Option<&Searched>,
) -> (Result<ChunkApplied, StoreError>, Vec<ChunkEntries>) {
    let task = write(store, command, &mut entries, searched);
    let (done, rest, taken) = entries.end();
    (task.map(|locked| applied(locked, done, rest)), taken)
}

fn write<S: ChunkStore>(
    store: &mut S,
    command: &ApplyChunk,
    entries: &mut ChunkBlocks,
    searched: Option<&Searched>,
) -> Result<LockedTask, StoreError> {
    let ChunkStart { mut task, clock } = begin(store, command)?;
    if task.cancel_requested {
        return stop(store, command, task);
    }
    let work = entries.part().1.work.clone();
    if let ChunkWork::ErasePerson(all) = &*work
        && let Ok(erasure) = &all[entries.part().1.from].item
    {
        return erase(store, command, (task, entries), (erasure, searched));
    }
    let file_since = file_since(&store.statements(), &mut task, clock.last_change)?;
    let mut records = Records::new(entries.next_index());
    let mut effects = Effects::new(command, clock, file_since);
    loop {
        let (statements, slice) = (store.statements(), entries.slice(S::SLICE_ENTRIES));
        let added = effects.apply(&statements, store.import(), entries.part().1, slice)?;
        records.add(added, entries.next_index())?;
        if store.should_end()? || !entries.more(|| store.should_not_wait())? {
            break;
        }
    }
    records.close_block()?;
    let locked = finish(store, command, task, &records, Some(&mut effects))?;
    let (task, store) = (&locked.task, store.statements());
    for state in effects.take_states() {
        state.save(&store)?;
        if task.status == TaskStatus::Completed {
            let run = (&*task.id, task.import_id.as_deref());
            dry_run::end(&store, run, command.clock.now())?;
        }
    }
    Ok(locked)
}

/// Plans a dry run from the snapshot of the transaction. Each slice is planned on the state that
/// the earlier entries of the run would have left, those of earlier chunks included.
pub fn plan_dry_run(
    store: &(impl ProfileStore + IssueStore),
    import: &mut impl ImportStore,
    command: &ApplyChunk,
) -> Result<PlannedChunk, StoreError> {
    let mut entries = ChunkBlocks::begin(command)?;
    let mut records = Records::new(entries.next_index());
    let mut effects = Effects::of_dry_run(command);
    loop {
        let slice = entries.slice(DRY_RUN_SLICE_ENTRIES);
        let added = effects.apply(store, import, entries.part().1, slice)?;
        records.add(added, entries.next_index())?;
        let is_full = records.line_bytes() + effects.state_bytes() >= READ_BYTES_MAX;
        if is_full || !entries.more(|| false)? {
            break;
        }
    }
    let state = effects.take_states().collect();
    Ok(PlannedChunk { state, ..PlannedChunk::new(records, entries)? })
}

/// Reads the records of a get action, as many as a chunk may have.
pub fn read_chunk(
    store: &impl ProfileStore,
    command: &ApplyChunk,
) -> Result<PlannedChunk, StoreError> {
    let mut entries = ChunkBlocks::begin(command)?;
    let mut records = Records::new(entries.next_index());
    loop {
        let slice = entries.slice(READ_SLICE_ENTRIES);
        read_slice(store, entries.part().1, slice, &mut records)?;
        if records.line_bytes() >= READ_BYTES_MAX || !entries.more(|| false)? {
            break;
        }
    }
    PlannedChunk::new(records, entries)
}

/// Adds the records of some entries of a get action.
pub fn read_slice(
    store: &impl ProfileStore,
    part: &ChunkEntries,
    slice: Range<usize>,
    records: &mut Records,
) -> Result<(), StoreError> {
    let (count, behind, payload) = (slice.len(), slice.end, &part.block.bytes);
    let open = records.open();
    let before = open.succeeded + open.failed;
    match &*part.work {
        ChunkWork::GetCoreProfiles(all) => store.get_core(payload, &all[slice], open)?,
        ChunkWork::GetAppProfiles(all) => profiles::get_app(store, payload, &all[slice], open)?,
        _ => return Err(StoreError::Corrupt("a writing action among gets".to_owned())),
    }
    assert_each_entry_has_a_record(open.succeeded + open.failed - before, count);
    records.added(part.index_before(behind))
}

/// Stores the records of a planned chunk.
pub fn store_planned(
    store: &mut impl ChunkStore,
    command: &ApplyChunk,
    planned: &PlannedChunk,
) -> Result<ChunkApplied, StoreError> {
    let ChunkStart { task, .. } = begin(store, command)?;
    if task.cancel_requested {
        let task = stop(store, command, task)?;
        return Ok(applied(task, planned.done, planned.rest.clone()));
    }
    // Nothing reads the state of a task alone after its last entry.
    let is_last = task.task.counts.unprocessed as usize == planned.done;
    let is_last = is_last && command.import_id.is_none();
    for state in planned.state.iter().filter(|_| !is_last) {
        state.save(&store.statements())?;
    }
    let task = finish(store, command, task, &planned.records, None)?;
    Ok(applied(task, planned.done, planned.rest.clone()))
}

/// Locks the task if this chunk is its next one and comes from the holder of its lease.
fn begin(store: &mut impl ChunkStore, command: &ApplyChunk) -> Result<ChunkStart, StoreError> {
    let start = store
        .begin(&command.task_id)?
        .filter(|start| start.task.is_leased(command.lease_epoch))
        .ok_or(StoreError::LeaseLost)?;
    let LockedTask { task, next_index, .. } = &start.task;
    let of_task = (task.action, task.dry_run, task.upsert);
    if of_task != (command.action, command.dry_run, command.upsert) {
        return Err(misfit(&command.task_id));
    }
    if command.entries.next_index() < *next_index {
        // These entries were applied before: the sender works from an old state.
        return Err(StoreError::LeaseLost);
    }
    Ok(start)
}

/// Of an import: the domain's last change before the first entry of the file. A profile that
/// changed later was changed by an earlier entry, because the writing tasks of a domain run one
/// after another.
fn file_since(
    store: &impl TaskStore,
    locked: &mut LockedTask,
    last_change: UnixMillis,
) -> Result<Option<UnixMillis>, StoreError> {
    let Some(import) = locked.task.import_id.as_ref().filter(|_| locked.task.action.patches())
    else {
        return Ok(None);
    };
    let own = *locked.changes_before.get_or_insert(last_change);
    let first = "SELECT min(changes_before) FROM tasks WHERE domain_id = ?1 AND import_id = ?2";
    let first: Option<Option<UnixMillis>> =
        store.find(first, values![store.domain(), import], |row| row.get(0))?;
    Ok(Some(first.flatten().map_or(own, |first| own.min(first))))
}

/// Ends a task that a caller cancelled, instead of applying more of it.
fn stop(
    store: &impl ChunkStore,
    command: &ApplyChunk,
    mut locked: LockedTask,
) -> Result<LockedTask, StoreError> {
    let now = command.clock.now();
    let ended = complete(&store.statements(), &mut locked, Outcome::Cancelled, now, &[])?;
    save(&store.statements(), &locked)?;
    log(&store.statements(), &batch(command, now, vec![ended]))?;
    Ok(locked)
}

/// Stores records, counts and position, and completes the task if nothing is left of it. A request
/// to cancel is looked at before each chunk: no chunk is undone for it.
fn finish(
    store: &mut impl ChunkStore,
    command: &ApplyChunk,
    mut locked: LockedTask,
    records: &Records,
    mut effects: Option<&mut Effects>,
) -> Result<LockedTask, StoreError> {
    let (succeeded, failed) = records.counts();
    let counts = locked.task.counts.after_chunk(succeeded, failed);
    locked.task.counts = counts;
    locked.task.warnings += records.warnings();
    locked.next_index = records.next_index();
    locked.task.deaths = 0;
    let records = records.packed();
    let now = command.clock.now();
    let mut ended = None;
    if counts.unprocessed == 0 {
        let outcome = Task::outcome_by_counts(&counts);
        ended = Some(complete(&store.statements(), &mut locked, outcome, now, records)?);
    }
    locked.task.assert_lawful();
    let packed: usize = records.iter().map(|block| block.bytes.len()).sum();
    let imported = effects.as_ref().map_or(0, |effects| effects.issues.bytes());
    store.statements().store_bytes(packed as i64 + imported)?;
    if let Some(effects) = &mut effects {
        effects.profiles.write_sets(&store.statements())?;
        effects.deletions.note_change(&store.statements(), command.clock.now())?;
    }
    failpoint::reached(Failpoint::ChunkAfterEffects);
    store.finish(&ChunkEnd {
        task: &locked,
        records,
        clock: effects.as_ref().and_then(|effects| effects.profiles.clock()),
        imported: effects.as_ref().and_then(|effects| effects.issues.imported()),
    })?;
    let mut logged = effects.map(|effects| std::mem::take(&mut effects.logged)).unwrap_or_default();
    logged.extend(store.import().take_created());
    logged.extend(ended);
    log(&store.statements(), &batch(command, now, logged))?;
    failpoint::reached(Failpoint::ChunkBeforeCommit);
    Ok(locked)
}

/// The effects of a chunk, for the log.
fn batch(command: &ApplyChunk, at: UnixMillis, effects: Vec<Effect>) -> Batch {
    Batch::new(at, Author::Task { id: command.task_id.clone() }, effects)
}

/// The answer to a chunk, from the task after it, the number of its entries and the block that has
/// entries left.
fn applied(locked: LockedTask, done: usize, rest: Option<ChunkEntries>) -> ChunkApplied {
    let LockedTask { task, next_index, .. } = locked;
    match task.outcome {
        // A caller cancelled it before the chunk: no entry was applied.
        Some(Outcome::Cancelled) => ChunkApplied { task, done: 0, next_index, rest: None },
        _ => ChunkApplied { task, done, next_index, rest },
    }
}

fn assert_each_entry_has_a_record(records: u32, entries: usize) {
    assert_eq!(records as usize, entries, "a plan does not answer each entry once");
}
