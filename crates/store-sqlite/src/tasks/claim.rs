//! Leases: which server works on which task. A server claims runnable tasks and holds them until
//! its lease ends, is given back, or is void because the server was restarted. Each lease raises
//! the task's epoch; a chunk under an older epoch cannot commit. [`FairQueue`] chooses the next
//! tasks.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::task::TaskStatus;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, params};

use super::row::{self, COLUMNS, COLUMNS_COUNT};
use crate::Fault;
use caseload_store::tasks::{FairQueue, QueuedTask};
use caseload_store::{ClaimTasks, ClaimedTask, RenewLeases, StoreError};

/// Voids every lease, when a server opens the store alone.
pub(crate) fn void_leases(conn: &Connection) -> Result<(), Fault> {
    conn.execute(
        "UPDATE tasks SET lease_server = NULL, lease_until = 0 WHERE lease_server IS NOT NULL",
        [],
    )?;
    Ok(())
}

/// Voids every upload, when a server opens the store alone: no request adds blocks to them.
pub(crate) fn void_uploads(conn: &Connection) -> Result<(), Fault> {
    conn.execute("UPDATE uploads SET touched_at = 0", [])?;
    Ok(())
}

pub(crate) fn claim(conn: &Connection, command: &ClaimTasks) -> Result<Vec<ClaimedTask>, Fault> {
    conn.prepare_cached(
        "UPDATE tasks SET status = ?1, queued_at = max(?2, created_at) WHERE status = 1",
    )?
    .execute(params![TaskStatus::Queued.code(), command.now.0])?;
    let chosen = queue(conn, command.now)?.choose(command.tasks_max);
    chosen.into_iter().map(|seq| lease(conn, command, seq)).collect()
}

fn queue(conn: &Connection, now: UnixMillis) -> Result<FairQueue<i64>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT domain_id, seq, writes, not_before, lease_server IS NOT NULL AND lease_until > ?1
         FROM tasks WHERE status < 4 AND domain_id IN (SELECT id FROM domains)
         ORDER BY domain_id, writes, seq",
    )?;
    let mut rows = statement.query([now.0])?;
    let mut queue = FairQueue::default();
    while let Some(row) = rows.next()? {
        let task = QueuedTask {
            domain: row.get(0)?,
            writes: row.get(2)?,
            leased: row.get(4)?,
            due: row.get::<_, i64>(3)? <= now.0,
        };
        queue.add(task, row.get(1)?);
    }
    Ok(queue)
}

fn lease(conn: &Connection, command: &ClaimTasks, seq: i64) -> Result<ClaimedTask, Fault> {
    let sql = format!(
        "UPDATE tasks SET status = ?2, started_at = coalesce(started_at, max(?3, created_at)),
         lease_server = ?4, lease_until = ?5, lease_epoch = lease_epoch + 1 WHERE seq = ?1
         RETURNING {COLUMNS}, domain_id, lease_epoch, next_index,
         (SELECT name FROM domains WHERE domains.id = domain_id)"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        seq,
        TaskStatus::Processing.code(),
        command.now.0,
        command.server,
        command.lease_until.0
    ])?;
    let Some(row) = rows.next()? else {
        return Err(StoreError::Corrupt(format!("task {seq} vanished while it was leased")).into());
    };
    let name: String = row.get(COLUMNS_COUNT + 3)?;
    Ok(ClaimedTask {
        domain: DomainId(row.get(COLUMNS_COUNT)?),
        domain_name: DomainName::parse(&name).map_err(|e| StoreError::Corrupt(e.to_string()))?,
        task: row::task(row)?,
        lease_epoch: row.get(COLUMNS_COUNT + 1)?,
        next_index: row.get(COLUMNS_COUNT + 2)?,
    })
}

pub(crate) fn renew(conn: &Connection, command: &RenewLeases) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE tasks SET lease_until = max(lease_until, ?2) WHERE lease_server = ?1",
    )?
    .execute(params![command.server, command.lease_until.0])?;
    Ok(())
}

pub(crate) fn release(conn: &Connection, server: &str) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE tasks SET lease_server = NULL, lease_until = 0 WHERE lease_server = ?1",
    )?
    .execute([server])?;
    Ok(())
}
