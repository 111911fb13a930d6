//! Payloads of tasks: compressed blocks of entries. While a task runs they are as they were
//! accepted. When it completes, only the entries that failed or were not processed stay, with their
//! places and exactly as they were sent, so that a retry can run them again; which those are is
//! said by [`Left`].

use caseload_model::ids::DomainId;
use caseload_model::task::{Outcome, TaskStatus};

use super::super::engine::Client;
use super::super::rows::count;
use super::row::{self, Held, code};
use super::stage::keep_blocks;
use caseload_store::left::{Among, Left};
use caseload_store::records::kind_code;
use caseload_store::{PackedBlock, RecordKind, StoreError, unpack_block};

pub(crate) async fn payload_block(
    client: &Client,
    domain: DomainId,
    task_id: &str,
    from_index: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let found = client
        .row_opt(
            "SELECT bytes FROM payload_blocks
             WHERE domain_id = $1 AND task_id = $2 AND last_index >= $3
             ORDER BY last_index LIMIT 1",
            &[&domain.0, &task_id.as_bytes(), &(from_index as i32)],
        )
        .await?;
    found.map(|row| unpack_block(row.get(0))).transpose()
}

/// Leaves of a completed task's payload what a retry needs. Where a fault of the server's ended the
/// task, all of it stays: the payload itself may be what is at fault.
pub(super) async fn keep_left(client: &Client, held: &Held) -> Result<(), StoreError> {
    if held.task.outcome == Some(Outcome::Failed) {
        return Ok(());
    }
    let left = left_of(client, held).await?;
    let (domain, id) = (held.domain.0, held.task.id.as_bytes());
    let blocks = client
        .rows(
            "SELECT first_index, last_index FROM payload_blocks
             WHERE domain_id = $1 AND task_id = $2",
            &[&domain, &id],
        )
        .await?;
    let mut spent: Vec<i32> = Vec::new();
    let mut kept = Vec::new();
    for row in blocks {
        let last: i32 = row.get(1);
        match left.among(count(&row, 0), last.unsigned_abs()) {
            Among::All => continue,
            Among::None => {}
            Among::Some => {
                let block = client
                    .row(
                        "SELECT bytes FROM payload_blocks
                         WHERE domain_id = $1 AND task_id = $2 AND last_index = $3",
                        &[&domain, &id, &last],
                    )
                    .await?;
                kept.extend(left.of_block(block.get(0))?);
            }
        }
        spent.push(last);
    }
    if spent.is_empty() {
        return Ok(());
    }
    // A block's key may change with what is left of it: it is taken out before that is put in.
    let delete = "DELETE FROM payload_blocks
                  WHERE domain_id = $1 AND task_id = $2 AND last_index = ANY ($3)";
    client.execute(delete, &[&domain, &id, &spent]).await?;
    keep_blocks(client, held.domain, &held.task.id, &kept).await
}

/// The entries of a completed task that a retry runs again.
pub(crate) async fn retry_payload(
    client: &Client,
    domain: DomainId,
    task_id: &str,
) -> Result<Vec<PackedBlock>, StoreError> {
    let held = row::of_id(client, domain, task_id)
        .await?
        .filter(|held| held.task.status == TaskStatus::Completed)
        .ok_or_else(|| StoreError::NotFound { what: format!("a completed task {task_id}") })?;
    let left = left_of(client, &held).await?;
    let stored = client
        .rows(
            "SELECT first_index, last_index, bytes FROM payload_blocks
             WHERE domain_id = $1 AND task_id = $2 ORDER BY last_index",
            &[&domain.0, &task_id.as_bytes()],
        )
        .await?;
    let mut blocks = Vec::new();
    for row in stored {
        let (first_index, last_index) = (count(&row, 0), count(&row, 1));
        match left.among(first_index, last_index) {
            Among::All => {
                blocks.push(PackedBlock { first_index, last_index, bytes: row.get(2) });
            }
            Among::None => {}
            Among::Some => blocks.extend(left.of_block(row.get(2))?),
        }
    }
    Ok(blocks)
}

/// Which entries of a completed task are left.
async fn left_of(client: &Client, held: &Held) -> Result<Left, StoreError> {
    let mut left = Left::new(&held.task.counts, held.next_index);
    if held.task.counts.failed > 0 {
        let errors = code(kind_code(RecordKind::Errors));
        let blocks = client
            .rows(
                "SELECT bytes FROM record_blocks
                 WHERE domain_id = $1 AND task_id = $2 AND kind = $3",
                &[&held.domain.0, &held.task.id.as_bytes(), &errors],
            )
            .await?;
        for row in blocks {
            left.add_failed(row.get(0))?;
        }
    }
    Ok(left)
}
