//! Payloads on their way in. Blocks of a long upload are kept before its task is accepted, under
//! the id that the task will have; a row in `uploads` marks them as nobody's. Accepting the task
//! removes that row in the task's own transaction. Invariant: blocks belong to a task or to an
//! upload, never to both, and those of an upload that ended otherwise go in small steps. Which
//! server an upload came to is not kept: one that dies leaves uploads that nobody adds to, and
//! those are given up after a while.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use super::super::domains;
use super::super::engine::{Client, CopyRows, constraint};
use crate::engine::store_error;
use caseload_store::{CreateTask, PackedBlock, StagePayload, StoreError};

/// Milliseconds after which an upload without a new block is given up.
const IDLE_MS: i64 = 3_600_000;
/// Blocks that one step removes.
const STEP_BLOCKS: i64 = 1;
const BLOCKS: &str = "payload_blocks (domain_id, task_id, first_index, last_index, bytes)";

pub(crate) async fn stage(client: &Client, command: &StagePayload) -> Result<(), StoreError> {
    domains::demand(client, command.domain).await?;
    let (domain, id) = (command.domain.0, command.task_id.as_bytes());
    client
        .execute(
            "INSERT INTO uploads AS u (domain_id, id, touched_at) VALUES ($1, $2, $3)
             ON CONFLICT (domain_id, id) DO UPDATE SET touched_at = excluded.touched_at
             WHERE u.domain_id = $1",
            &[&domain, &id, &command.now.0],
        )
        .await?;
    // Looked for with the upload's row locked: accepting the task takes that row away.
    let accepted = "SELECT 1 FROM tasks WHERE domain_id = $1 AND id = $2";
    if client.row_opt(accepted, &[&domain, &id]).await?.is_some() {
        return Err(taken(&command.task_id));
    }
    keep_blocks(client, command.domain, &command.task_id, &command.blocks).await
}

pub(super) fn taken(task_id: &str) -> StoreError {
    StoreError::AlreadyExists { what: format!("task {task_id}") }
}

/// Makes the staged blocks the task's; the index of their first entry, where there are any.
pub(super) async fn take(client: &Client, command: &CreateTask) -> Result<Option<u32>, StoreError> {
    if command.staged == 0 {
        return Ok(None);
    }
    let (domain, id) = (command.domain.0, command.id.as_bytes());
    let delete = "DELETE FROM uploads WHERE domain_id = $1 AND id = $2 AND touched_at > 0";
    let uploads = client.execute(delete, &[&domain, &id]).await?;
    let staged = client
        .row(
            "SELECT count(*), min(first_index) FROM payload_blocks
             WHERE domain_id = $1 AND task_id = $2",
            &[&domain, &id],
        )
        .await?;
    if uploads == 0 || staged.get::<_, i64>(0) != i64::from(command.staged) {
        return Err(StoreError::UploadLost);
    }
    Ok(staged.get::<_, Option<i32>>(1).map(i32::unsigned_abs))
}

pub(super) async fn keep_blocks(
    client: &Client,
    domain: DomainId,
    task_id: &str,
    blocks: &[PackedBlock],
) -> Result<(), StoreError> {
    if blocks.is_empty() {
        return Ok(());
    }
    let mut rows = CopyRows::new();
    for PackedBlock { first_index, last_index, bytes } in blocks {
        assert!(first_index <= last_index, "a payload block ends before it begins");
        rows.row(5).add(domain.0).add(task_id);
        rows.add(*first_index as i32).add(*last_index as i32).add(&bytes[..]);
    }
    let copy = client.prepare_copy(BLOCKS).await?;
    let copied = client.copy_rows(&copy, rows).await;
    copied.map_err(|e| match constraint(&e) {
        Some(_) => taken(task_id),
        None => store_error(e),
    })
}

/// One step of removing an upload; false where nothing is left of it.
pub(crate) async fn discard(
    client: &Client,
    domain: DomainId,
    task_id: &str,
) -> Result<bool, StoreError> {
    let id = task_id.as_bytes();
    let give_up = "UPDATE uploads SET touched_at = 0 WHERE domain_id = $1 AND id = $2";
    if client.execute(give_up, &[&domain.0, &id]).await? == 0 {
        return Ok(false);
    }
    remove_step(client, domain, id).await?;
    Ok(true)
}

/// One step of removing the uploads of a domain that were given up; false where there are none, or
/// another server removes them.
pub(super) async fn purge(
    client: &Client,
    domain: DomainId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let given_up = client
        .row_opt(
            "SELECT id FROM uploads WHERE domain_id = $1 AND touched_at <= $2 LIMIT 1
             FOR UPDATE SKIP LOCKED",
            &[&domain.0, &now.0.saturating_sub(IDLE_MS)],
        )
        .await?;
    let Some(row) = given_up else { return Ok(false) };
    let id: &[u8] = row.get(0);
    let give_up = "UPDATE uploads SET touched_at = 0 WHERE domain_id = $1 AND id = $2";
    client.execute(give_up, &[&domain.0, &id]).await?;
    remove_step(client, domain, id).await?;
    Ok(true)
}

/// Removes some blocks, or with none left the upload itself.
async fn remove_step(client: &Client, domain: DomainId, id: &[u8]) -> Result<(), StoreError> {
    let removed = client
        .execute(
            "DELETE FROM payload_blocks WHERE domain_id = $1 AND task_id = $2 AND last_index IN
         (SELECT last_index FROM payload_blocks WHERE domain_id = $1 AND task_id = $2 LIMIT $3)",
            &[&domain.0, &id, &STEP_BLOCKS],
        )
        .await?;
    if removed == 0 {
        let delete = "DELETE FROM uploads WHERE domain_id = $1 AND id = $2";
        client.execute(delete, &[&domain.0, &id]).await?;
    }
    Ok(())
}
