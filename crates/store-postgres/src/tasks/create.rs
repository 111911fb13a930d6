//! Accepting a task: its row, its place in the queue, its whole payload and the answer to repeats
//! of the request in one transaction, so that an answered task is there with everything it needs,
//! or not at all. The order of acceptance is taken from the domain's clock row, last of all: it is
//! the order of the commits.

use caseload_model::ids::DomainId;
use caseload_model::task::{Task, TaskStatus};

use super::super::engine::Client;
use super::super::{domains, idempotency, notify};
use super::row::code;
use super::stage;
use caseload_store::{CreateTask, Idempotent, StoreError};

pub(crate) async fn create(
    client: &Client,
    command: &CreateTask,
) -> Result<Idempotent<Task>, StoreError> {
    domains::demand(client, command.domain).await?;
    // First of all: a repeat is answered however full the queue is by now.
    if let Some((key, answer)) = &command.idempotency {
        let kept = idempotency::keep_or_repeat(client, command.domain, key, answer, command.now);
        if let Some(first) = kept.await? {
            return Ok(Idempotent::Replayed(first));
        }
    }
    demand_room(client, command).await?;
    let staged = stage::take(client, command).await?;
    let first = staged.or_else(|| command.blocks.first().map(|block| block.first_index));
    let Some(first_index) = first.filter(|_| command.total > 0) else {
        return Err(StoreError::Corrupt("a task without entries".to_owned()));
    };
    stage::keep_blocks(client, command.domain, &command.id, &command.blocks).await?;
    notify::work(client).await?;
    let seq = next_seq(client, command.domain).await?;
    // Others that were accepted meanwhile are seen now, and nobody else can be before the commit.
    demand_room(client, command).await?;
    keep_task(client, command, seq, first_index).await?;
    Ok(Idempotent::Done(command.accepted()))
}

async fn demand_room(client: &Client, command: &CreateTask) -> Result<(), StoreError> {
    let count = "SELECT count(*) FROM task_queue WHERE domain_id = $1";
    let unfinished = client.row(count, &[&command.domain.0]).await?.get::<_, i64>(0) as u32;
    if unfinished >= command.unfinished_max {
        return Err(StoreError::QueueFull { unfinished, limit: command.unfinished_max });
    }
    Ok(())
}

/// The task's place in the order of acceptance. Locks the domain's clock.
async fn next_seq(client: &Client, domain: DomainId) -> Result<i64, StoreError> {
    let next = client
        .row(
            "UPDATE domain_clocks SET last_task_seq = last_task_seq + 1 WHERE domain_id = $1
             RETURNING last_task_seq",
            &[&domain.0],
        )
        .await?;
    Ok(next.get(0))
}

async fn keep_task(
    client: &Client,
    command: &CreateTask,
    seq: i64,
    first_index: u32,
) -> Result<(), StoreError> {
    let inserted = client
        .execute(
            "INSERT INTO tasks (domain_id, id, family, action, writes, dry_run, status,
             total, unprocessed, next_index, created_at, expires_at, parent_id, seq)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13)
             ON CONFLICT (domain_id, id) DO NOTHING",
            &[
                &command.domain.0,
                &command.id.as_bytes(),
                &code(command.action.family().code()),
                &code(command.action.code()),
                &command.action.writes(),
                &command.dry_run,
                &code(TaskStatus::Created.code()),
                &(command.total as i32),
                &(first_index as i32),
                &command.now.0,
                &command.expires_at.0,
                &command.parent_id.as_ref().map(String::as_bytes),
                &seq,
            ],
        )
        .await?;
    if inserted == 0 {
        return Err(stage::taken(&command.id));
    }
    client
        .execute(
            "INSERT INTO task_queue (domain_id, task_id, seq, writes) VALUES ($1, $2, $3, $4)",
            &[&command.domain.0, &command.id.as_bytes(), &seq, &command.action.writes()],
        )
        .await?;
    Ok(())
}
