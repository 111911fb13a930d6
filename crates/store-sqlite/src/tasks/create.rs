//! Accepting a task: its row, its whole payload and the answer to repeats of the request in one
//! transaction, so that an answered task is there with everything it needs, or not at all.

use caseload_model::ids::DomainId;
use caseload_model::task::{Task, TaskStatus};
use rusqlite::{Connection, params};

use super::super::{domains, idempotency};
use super::stage;
use crate::Fault;
use caseload_store::{CreateTask, Idempotent, StoreError};

pub(crate) fn create(conn: &Connection, command: &CreateTask) -> Result<Idempotent<Task>, Fault> {
    domains::demand(conn, command.domain)?;
    // First of all: a repeat is answered however full the queue is by now.
    if let Some((key, answer)) = &command.idempotency {
        if let Some(first) = idempotency::repeated(conn, command.domain, key, command.now)? {
            return Ok(Idempotent::Replayed(first));
        }
        idempotency::keep(conn, command.domain, key, answer)?;
    }
    let unfinished = unfinished(conn, command.domain)?;
    if unfinished >= command.unfinished_max {
        return Err(StoreError::QueueFull { unfinished, limit: command.unfinished_max }.into());
    }
    keep_task(conn, command)?;
    stage::keep_blocks(conn, command.domain, &command.id, &command.blocks)?;
    Ok(Idempotent::Done(command.accepted()))
}

fn keep_task(conn: &Connection, command: &CreateTask) -> Result<(), Fault> {
    let first = match stage::take(conn, command)? {
        None => command.blocks.first().map(|block| block.first_index),
        staged => staged,
    };
    let Some(first_index) = first.filter(|_| command.total > 0) else {
        return Err(StoreError::Corrupt("a task without entries".to_owned()).into());
    };
    let added = conn
        .prepare_cached(
            "INSERT INTO tasks (domain_id, id, family, action, writes, dry_run, status, total,
             unprocessed, next_index, created_at, expires_at, parent_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            command.domain.0,
            command.id,
            command.action.family().code(),
            command.action.code(),
            command.action.writes(),
            command.dry_run,
            TaskStatus::Created.code(),
            command.total,
            first_index,
            command.now.0,
            command.expires_at.0,
            command.parent_id,
        ])?;
    if added == 0 {
        return Err(StoreError::AlreadyExists { what: format!("task {}", command.id) }.into());
    }
    Ok(())
}

fn unfinished(conn: &Connection, domain: DomainId) -> Result<u32, Fault> {
    Ok(conn
        .prepare_cached("SELECT count(*) FROM tasks WHERE domain_id = ?1 AND status < 4")?
        .query_row([domain.0], |row| row.get(0))?)
}
