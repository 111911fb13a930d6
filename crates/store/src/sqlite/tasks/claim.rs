//! Leases: who works on which task. A server asks for runnable tasks and holds them until its lease
//! ends, is given back, or is void because the server was started anew. Each lease raises the
//! task's epoch; a chunk under an older one cannot commit. Per domain only the oldest unfinished
//! writing task is runnable, so writing tasks take effect in order of acceptance; reading tasks are
//! free. Domains take turns: the one with the fewest running tasks comes first.

use std::collections::BTreeMap;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::task::{Outcome, TASK_ATTEMPTS_MAX, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, params};

use super::end::complete;
use super::row::{self, COLUMNS, COLUMNS_COUNT};
use crate::{ClaimTasks, ClaimedTask, FailAttempt, RenewLeases, StoreError};

/// Voids every lease: for the one server that just got the store to itself.
pub(in crate::sqlite) fn void_leases(conn: &Connection) -> Result<(), StoreError> {
    conn.execute(
        "UPDATE tasks SET lease_server = NULL, lease_until = 0 WHERE lease_server IS NOT NULL",
        [],
    )?;
    Ok(())
}

pub(in crate::sqlite) fn claim(
    conn: &Connection,
    command: &ClaimTasks,
) -> Result<Vec<ClaimedTask>, StoreError> {
    conn.prepare_cached("UPDATE tasks SET status = ?1, queued_at = ?2 WHERE status = 1")?
        .execute(params![TaskStatus::Queued.code(), command.now.0])?;
    let chosen = choose(runnable(conn, command.now)?, command.tasks_max);
    chosen.into_iter().map(|seq| lease(conn, command, seq)).collect()
}

/// A domain's claim to a turn.
#[derive(Default)]
struct Turn {
    running: u32,
    /// Runnable tasks, oldest first.
    runnable: Vec<i64>,
}

fn runnable(conn: &Connection, now: UnixMillis) -> Result<Vec<Turn>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT domain_id, seq, writes, not_before, lease_server IS NOT NULL AND lease_until > ?1
         FROM tasks WHERE status < 4 AND domain_id IN (SELECT id FROM domains)
         ORDER BY domain_id, writes, seq",
    )?;
    let mut rows = statement.query([now.0])?;
    let mut turns: BTreeMap<i64, Turn> = BTreeMap::new();
    let mut domain_with_writer = None;
    while let Some(row) = rows.next()? {
        let (domain, writes, leased): (i64, bool, bool) = (row.get(0)?, row.get(2)?, row.get(4)?);
        let turn = turns.entry(domain).or_default();
        if writes && domain_with_writer.replace(domain) == Some(domain) {
            continue;
        }
        if leased {
            turn.running += 1;
        } else if row.get::<_, i64>(3)? <= now.0 {
            turn.runnable.push(row.get(1)?);
        }
    }
    Ok(turns.into_values().filter(|turn| !turn.runnable.is_empty()).collect())
}

/// At most `tasks_max` tasks: always one more of the domain that has the fewest so far.
fn choose(mut turns: Vec<Turn>, tasks_max: usize) -> Vec<i64> {
    for turn in &mut turns {
        turn.runnable.sort_unstable_by_key(|seq| std::cmp::Reverse(*seq));
    }
    let mut chosen = Vec::new();
    while chosen.len() < tasks_max {
        let open = turns.iter_mut().filter(|turn| !turn.runnable.is_empty());
        let next = open.min_by_key(|turn| (turn.running, turn.runnable.last().copied()));
        let Some(turn) = next else { break };
        chosen.extend(turn.runnable.pop());
        turn.running += 1;
    }
    chosen
}

fn lease(conn: &Connection, command: &ClaimTasks, seq: i64) -> Result<ClaimedTask, StoreError> {
    let sql = format!(
        "UPDATE tasks SET status = ?2, started_at = coalesce(started_at, ?3), lease_server = ?4,
         lease_until = ?5, lease_epoch = lease_epoch + 1 WHERE seq = ?1
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
        return Err(StoreError::Corrupt(format!("task {seq} vanished while it was leased")));
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

pub(in crate::sqlite) fn renew(conn: &Connection, command: &RenewLeases) -> Result<(), StoreError> {
    conn.prepare_cached(
        "UPDATE tasks SET lease_until = max(lease_until, ?2) WHERE lease_server = ?1",
    )?
    .execute(params![command.server, command.lease_until.0])?;
    Ok(())
}

pub(in crate::sqlite) fn release(conn: &Connection, server: &str) -> Result<(), StoreError> {
    conn.prepare_cached(
        "UPDATE tasks SET lease_server = NULL, lease_until = 0 WHERE lease_server = ?1",
    )?
    .execute([server])?;
    Ok(())
}

/// Counts a fault of the server's where it is the task's. The last one completes the task; its
/// unprocessed entries stay counted as such.
pub(in crate::sqlite) fn fail_attempt(
    conn: &Connection,
    command: &FailAttempt,
) -> Result<Task, StoreError> {
    let mut held = row::held(conn, command.domain, &command.task_id, command.lease_epoch)?;
    held.attempts += u32::from(command.counted);
    if held.attempts >= TASK_ATTEMPTS_MAX {
        complete(conn, &mut held, Outcome::Failed, command.now)?;
    } else if held.cancelled {
        complete(conn, &mut held, Outcome::Cancelled, command.now)?;
    }
    row::keep(conn, &held)?;
    conn.prepare_cached(
        "UPDATE tasks SET lease_server = NULL, lease_until = 0, not_before = ?2 WHERE seq = ?1",
    )?
    .execute(params![held.seq, command.retry_at.0])?;
    Ok(held.task)
}

#[cfg(test)]
mod tests {
    use super::{Turn, choose};

    #[test]
    fn domains_with_fewer_running_tasks_come_first_and_older_tasks_before_newer() {
        let turn = |running, runnable: &[i64]| Turn { running, runnable: runnable.to_vec() };
        let cases: [(Vec<Turn>, usize, &[i64]); 4] = [
            (vec![], 3, &[]),
            (vec![turn(0, &[1, 2, 3]), turn(0, &[4])], 3, &[1, 4, 2]),
            (vec![turn(2, &[1]), turn(0, &[9, 10])], 2, &[9, 10]),
            (vec![turn(0, &[5]), turn(0, &[3])], 9, &[3, 5]),
        ];
        for (turns, tasks_max, expected) in cases {
            assert_eq!(choose(turns, tasks_max), expected);
        }
    }
}
