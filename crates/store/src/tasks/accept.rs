//! Accepting a task. A long payload arrives in steps: its blocks are staged under the id that the
//! task will have, and a row in `uploads` marks them. Accepting the task removes that row and adds
//! the task, the rest of its payload and the answer to repeats of the request, all in one
//! transaction, and sets the time of the task. Invariants: blocks belong to a task or to an upload,
//! never to both; a task has at most one retry, and a dry run at most one run.

use caseload_model::change::{Author, Batch, ChangeAction, Effect, Resource};
use caseload_model::task::Task;
use caseload_model::time::UnixMillis;

use super::statements::{PAYLOAD, TaskStore, TaskTables, delete_some};
use super::task_limits::TaskLimits;
use crate::changes::log;
use crate::failpoint::{self, Failpoint};
use crate::idempotency::{CommandStore, replace_answer, store_or_first};
use crate::{CreateTask, Idempotent, PackedBlock, StagePayload, StoreError, values};

/// Blocks that one step removes of an upload that was given up: a few milliseconds.
const STEP_BLOCKS: u32 = 1;

/// Accepts a task.
pub fn accept(
    store: &impl TaskStore,
    command: &CreateTask,
) -> Result<Idempotent<Task>, StoreError> {
    let by = store.require_caller(command.key.as_deref(), command.now)?;
    // First of all: a repeat gets its answer even if the queue is full by now.
    let expected = command.accepted(None);
    if let Some((key, answer)) = &command.idempotency
        && let Some(first) = store_or_first(store, key, &answer.of(&expected))?
    {
        return Ok(Idempotent::Replayed(first));
    }
    let task = add_one(store, command)?;
    if let Some((key, answer)) = command.idempotency.as_ref().filter(|_| task != expected) {
        replace_answer(store, key, &answer.of(&task))?;
    }
    log_created(store, (by, &command.request_id), std::slice::from_ref(&task))?;
    Ok(Idempotent::Done(task))
}

/// Adds a task within a transaction that has other effects, too. The caller logs it.
pub(crate) fn add_one(store: &impl TaskStore, command: &CreateTask) -> Result<Task, StoreError> {
    let limits = limits(store, command.unfinished_max)?;
    let first_index = take_payload(store, command)?;
    let (place, last) = store.next_places(1, command.action.family(), limits)?;
    add(store, command, first_index, place, last)
}

/// Logs that these tasks were created.
pub(super) fn log_created(
    store: &impl TaskStore,
    (by, request_id): (Author, &Option<String>),
    tasks: &[Task],
) -> Result<(), StoreError> {
    let at = tasks.first().map(|task| task.created_at).unwrap_or_default();
    let created = |task: &Task| Effect::new(Resource::Task, &*task.id, ChangeAction::Created);
    let effects = tasks.iter().map(created).collect();
    log(store, &Batch { request_id: request_id.clone(), ..Batch::new(at, by, effects) })
}

/// Notes the task in its parent and makes its payload whole; the index of its first entry.
pub(super) fn take_payload(
    store: &impl TaskStore,
    command: &CreateTask,
) -> Result<u32, StoreError> {
    if let Some(parent) = &command.parent_id {
        note_child(store, "tasks", parent, &command.id, command.runs_parent)?;
    }
    let first_index = match take_staged(store, command)? {
        None => command.blocks.first().map(|block| block.first_index),
        staged => staged,
    };
    let Some(first_index) = first_index.filter(|_| command.total > 0) else {
        return Err(StoreError::Corrupt("a task without entries".to_owned()));
    };
    store.insert_payload(&command.id, &command.blocks)?;
    store.store_bytes(packed_bytes(&command.blocks))?;
    Ok(first_index)
}

/// Adds a task whose payload is whole, and its place in the queue.
pub(super) fn add(
    store: &impl TaskStore,
    command: &CreateTask,
    first_index: u32,
    place: Option<i64>,
    last: Option<UnixMillis>,
) -> Result<Task, StoreError> {
    let task = command.accepted(last);
    insert(store, &task, first_index, place)?;
    store.enqueue(command, place)?;
    Ok(task)
}

/// Notes in the row `parent` of the table of tasks or of imports that `child` retries or runs it,
/// unless another one does so already.
pub(super) fn note_child(
    store: &impl TaskStore,
    table: &str,
    parent: &str,
    child: &str,
    runs: bool,
) -> Result<(), StoreError> {
    let column = if runs { "run_by" } else { "retried_by" };
    // If another transaction notes its own, this waits for its end and then finds that one.
    let note = format!(
        "UPDATE {table} SET {column} = ?3 WHERE domain_id = ?1 AND id = ?2 AND {column} IS NULL"
    );
    if store.change(&note, values![store.domain(), parent, child])? > 0 {
        return Ok(());
    }
    let select = format!("SELECT {column} FROM {table} WHERE domain_id = ?1 AND id = ?2");
    match store.find(&select, values![store.domain(), parent], |row| row.get(0))? {
        Some(by) if runs => Err(StoreError::AlreadyRun { by }),
        Some(by) => Err(StoreError::AlreadyRetried { by }),
        None => Ok(()),
    }
}

/// How many tasks of the domain are not completed.
pub fn unfinished<S: CommandStore + TaskTables>(store: &S) -> Result<u32, StoreError> {
    let count = format!("SELECT count(*) FROM {} q WHERE q.domain_id = ?1", S::QUEUE);
    let counted = store.find(&count, values![store.domain()], |row| row.get(0))?;
    Ok(counted.unwrap_or_default())
}

/// The limits of the domain's unfinished tasks. Fails if it has as many now, before the payload is
/// stored for nothing.
pub(super) fn limits<S: TaskStore>(
    store: &S,
    unfinished_max: u32,
) -> Result<TaskLimits, StoreError> {
    let select = format!(
        "SELECT d.quota_tasks, (SELECT count(*) FROM {} q WHERE q.domain_id = ?1)
         FROM domains d WHERE d.id = ?1",
        S::QUEUE
    );
    let found =
        store.find(&select, values![store.domain()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (quota, unfinished) = found.unwrap_or_default();
    let limits = TaskLimits::new(unfinished_max, quota);
    limits.require(unfinished)?;
    Ok(limits)
}

fn insert(
    store: &impl TaskStore,
    task: &Task,
    first_index: u32,
    place: Option<i64>,
) -> Result<(), StoreError> {
    let Task { id, action, status, dry_run, counts, created_at, .. } = task;
    let (family, code, writes) = (action.family().code(), action.code(), action.writes());
    let by = task.origin.submitted_by.as_ref();
    let inserted = store.change(
        "INSERT INTO tasks (domain_id, id, family, action, writes, dry_run, status, total,
         unprocessed, next_index, created_at, expires_at, parent_id, seq, file_name,
         content_length, submitted_key, submitted_key_name, upsert, import_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
         ?18, ?19)
         ON CONFLICT (domain_id, id) DO NOTHING",
        values![
            store.domain(),
            id,
            family,
            code,
            writes,
            dry_run,
            status.code(),
            counts.total,
            first_index,
            created_at,
            task.expires_at,
            task.parent_id,
            place,
            task.origin.file_name,
            task.origin.content_length,
            by.map(|by| by.key_id.as_str()),
            by.map(|by| by.key_name.as_str()),
            task.upsert.then_some(1_i64),
            task.import_id,
        ],
    )?;
    if inserted == 1 { Ok(()) } else { Err(already_exists(id)) }
}

/// Bytes of packed blocks.
pub(super) fn packed_bytes(blocks: &[PackedBlock]) -> i64 {
    blocks.iter().map(|block| block.bytes.len() as i64).sum()
}

/// The fault of an id that a task has.
pub fn already_exists(id: &str) -> StoreError {
    StoreError::AlreadyExists { what: format!("task {id}") }
}

/// Makes the staged blocks the task's; the index of their first entry, if any are staged.
fn take_staged(store: &impl TaskStore, command: &CreateTask) -> Result<Option<u32>, StoreError> {
    if command.staged == 0 {
        return Ok(None);
    }
    // Without its row, the blocks belong to the task.
    let take = "DELETE FROM uploads WHERE domain_id = ?1 AND id = ?2 AND touched_at > 0";
    let is_whole = store.change(take, values![store.domain(), command.id])? > 0;
    let staged = payload_ranges(store, &command.id)?;
    if !is_whole || staged.len() != command.staged as usize {
        return Err(StoreError::UploadLost);
    }
    Ok(staged.into_iter().map(|(first, _)| first).min())
}

/// First and last index of each payload block.
pub(super) fn payload_ranges(
    store: &impl TaskStore,
    id: &str,
) -> Result<Vec<(u32, u32)>, StoreError> {
    store.list(
        "SELECT first_index, last_index FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2",
        values![store.domain(), id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Stores blocks of a payload whose task is not accepted yet.
pub fn stage(store: &impl TaskStore, command: &StagePayload) -> Result<(), StoreError> {
    store.require_caller(command.key.as_deref(), command.now)?;
    let StagePayload { task_id, blocks, now, .. } = command;
    // This locks the row.
    store.change(
        "INSERT INTO uploads AS u (domain_id, id, touched_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (domain_id, id) DO UPDATE SET touched_at = excluded.touched_at
         WHERE u.domain_id = ?1",
        values![store.domain(), task_id, now],
    )?;
    // Looked for while the upload's row is locked: accepting the task removes that row.
    if store.read(task_id)?.is_some() {
        return Err(already_exists(task_id));
    }
    store.insert_payload(task_id, blocks)?;
    store.store_bytes(packed_bytes(blocks))?;
    failpoint::reached(Failpoint::StageBeforeCommit);
    Ok(())
}

/// Notes that the upload of these tasks continues.
pub fn extend(store: &impl TaskStore, ids: &[String], now: UnixMillis) -> Result<(), StoreError> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let touch = "UPDATE uploads SET touched_at = ?3
                 WHERE domain_id = ?1 AND id = ANY (?2) AND touched_at > 0";
    let changed = store.change(touch, values![store.domain(), ids, now])?;
    if changed < ids.len() as u64 { Err(StoreError::UploadLost) } else { Ok(()) }
}

/// Removes some blocks of an upload, or the upload itself once it has none left; false if there is
/// no such upload.
pub fn discard_step(store: &impl TaskStore, id: &str) -> Result<bool, StoreError> {
    let give_up = "UPDATE uploads SET touched_at = 0 WHERE domain_id = ?1 AND id = ?2";
    if store.change(give_up, values![store.domain(), id])? == 0 {
        return Ok(false);
    }
    if delete_some(store, id, PAYLOAD, STEP_BLOCKS)? == 0 {
        let delete = "DELETE FROM uploads WHERE domain_id = ?1 AND id = ?2";
        store.change(delete, values![store.domain(), id])?;
    }
    failpoint::reached(Failpoint::DiscardBeforeCommit);
    Ok(true)
}
