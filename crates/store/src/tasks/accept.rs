//! Accepting a task. A long payload arrives in steps: its blocks are staged under the id that the
//! task will have, and a row in `uploads` marks them. Accepting the task removes that row and adds
//! the task, the rest of its payload and the answer to repeats of the request, all in one
//! transaction, and sets the time of the task. Invariants: blocks belong to a task or to an upload,
//! never to both; a task has at most one retry.

use caseload_model::task::Task;

use super::TaskStore;
use super::statements::Blocks;
use crate::failpoint::{self, Failpoint};
use crate::idempotency::{replace_answer, store_or_first};
use crate::{CreateTask, Idempotent, StagePayload, StoreError};

/// Blocks that one step removes of an upload that was given up: a few milliseconds.
const STEP_BLOCKS: u32 = 1;

/// Accepts a task.
pub fn accept(
    store: &impl TaskStore,
    command: &CreateTask,
) -> Result<Idempotent<Task>, StoreError> {
    store.require_domain()?;
    // First of all: a repeat gets its answer even if the queue is full by now.
    let expected = command.accepted(None);
    if let Some((key, answer)) = &command.idempotency
        && let Some(first) = store_or_first(store, key, &answer.of(&expected), command.now)?
    {
        return Ok(Idempotent::Replayed(first));
    }
    require_room(command, store.unfinished()?)?;
    if let Some(parent) = &command.parent_id
        && let Some(by) = store.note_retry(parent, &command.id)?
    {
        return Err(StoreError::AlreadyRetried { by });
    }
    let first_index = match take_staged(store, command)? {
        None => command.blocks.first().map(|block| block.first_index),
        staged => staged,
    };
    let Some(first_index) = first_index.filter(|_| command.total > 0) else {
        return Err(StoreError::Corrupt("a task without entries".to_owned()));
    };
    store.insert_payload(&command.id, &command.blocks)?;
    let Some(task) = store.insert(command, first_index)? else {
        return Err(already_exists(&command.id));
    };
    if let Some((key, answer)) = command.idempotency.as_ref().filter(|_| task != expected) {
        replace_answer(store, key, &answer.of(&task))?;
    }
    Ok(Idempotent::Done(task))
}

/// [`StoreError::QueueFull`] if the domain has as many unfinished tasks as it may have.
pub const fn require_room(command: &CreateTask, unfinished: u32) -> Result<(), StoreError> {
    if unfinished < command.unfinished_max {
        return Ok(());
    }
    Err(StoreError::QueueFull { unfinished, limit: command.unfinished_max })
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
    let is_whole = store.take_upload(&command.id)?;
    let staged = store.payload_ranges(&command.id)?;
    if !is_whole || staged.len() != command.staged as usize {
        return Err(StoreError::UploadLost);
    }
    Ok(staged.into_iter().map(|(first, _)| first).min())
}

/// Stores blocks of a payload whose task is not accepted yet.
pub fn stage(store: &impl TaskStore, command: &StagePayload) -> Result<(), StoreError> {
    store.require_domain()?;
    store.touch_upload(&command.task_id, command.now)?;
    // Looked for while the upload's row is locked: accepting the task removes that row.
    if store.read(&command.task_id)?.is_some() {
        return Err(already_exists(&command.task_id));
    }
    store.insert_payload(&command.task_id, &command.blocks)?;
    failpoint::reached(Failpoint::StageBeforeCommit);
    Ok(())
}

/// Removes some blocks of an upload, or the upload itself once it has none left; false if there is
/// no such upload.
pub fn discard_step(store: &impl TaskStore, id: &str) -> Result<bool, StoreError> {
    if !store.give_up_upload(id)? {
        return Ok(false);
    }
    if store.delete_some(id, Blocks::Payload, STEP_BLOCKS)? == 0 {
        store.delete_upload(id)?;
    }
    failpoint::reached(Failpoint::DiscardBeforeCommit);
    Ok(true)
}
