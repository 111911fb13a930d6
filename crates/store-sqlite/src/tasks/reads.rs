//! Reading tasks, lists of them, and their payloads and records block by block, in the snapshot
//! that the connection is in.

use caseload_model::task::{Action, Family, Task, TaskStatus};
use caseload_store::tasks::kind_code;
use caseload_store::{
    HEADER_BYTES_MAX, ListTasks, RecordBlock, RecordBlockSize, RecordKind, StoreError, TaskPage,
    unpack_block, unpacked_size,
};
use rusqlite::{Connection, Row, params};

use super::row::{self, COLUMNS, COLUMNS_COUNT};
use crate::Fault;
use crate::tx::DomainTx;

/// How many unfinished writing tasks of the domain come before a task that waits for its start.
/// Tasks that only read wait for none.
const POSITION: &str = "CASE WHEN status >= 3 THEN NULL WHEN writes = 0 THEN 0 ELSE
     (SELECT count(*) FROM tasks b WHERE b.domain_id = tasks.domain_id AND b.status < 4
      AND b.writes = 1 AND b.seq < tasks.seq) END";

impl DomainTx<'_> {
    /// A task of the family.
    pub(crate) fn task(&self, family: Family, id: &str) -> Result<Option<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {POSITION} FROM tasks
             WHERE domain_id = ?1 AND id = ?2 AND family = ?3"
        );
        self.row(&sql, params![self.domain.0, id, family.code()], with_position)
    }

    /// A page of tasks, newest first, and the exact number of all that match.
    pub(crate) fn task_page(&self, request: &ListTasks) -> Result<TaskPage, StoreError> {
        let chosen = [
            one_of("status", request.statuses.as_deref(), |status: TaskStatus| status.code()),
            one_of("action", request.actions.as_deref(), |action: Action| action.code()),
        ]
        .concat();
        let family = request.family.code();
        let count =
            format!("SELECT count(*) FROM tasks WHERE domain_id = ?1 AND family = ?2{chosen}");
        let total_hits: Option<u32> =
            self.row(&count, [self.domain.0, family], |row| Ok(row.get(0)?))?;
        let select = format!(
            "SELECT {COLUMNS}, {POSITION} FROM tasks
             WHERE domain_id = ?1 AND family = ?2{chosen} ORDER BY seq DESC LIMIT ?3 OFFSET ?4"
        );
        let (limit, offset) = (request.paging.page_size as i64, request.paging.offset() as i64);
        Ok(TaskPage {
            tasks: self.rows(&select, [self.domain.0, family, limit, offset], with_position)?,
            total_hits: total_hits.unwrap_or_default().into(),
        })
    }

    /// The first payload block with an entry at or after `from_index`, unpacked.
    pub(crate) fn payload_block(
        &self,
        task_id: &str,
        from_index: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.row(
            "SELECT bytes FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND last_index >= ?3
             ORDER BY last_index LIMIT 1",
            params![self.domain.0, task_id, from_index],
            |row| Ok(unpack_block(blob(row, 0)?)?),
        )
    }

    /// The first block of records that begins at or after `from_index`.
    pub(crate) fn record_block(
        &self,
        task_id: &str,
        kind: RecordKind,
        from_index: u32,
    ) -> Result<Option<RecordBlock>, StoreError> {
        self.row(
            "SELECT next_index, bytes FROM record_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 AND first_index >= ?4
             ORDER BY first_index LIMIT 1",
            params![self.domain.0, task_id, kind_code(kind), from_index],
            |row| Ok(RecordBlock { lines: unpack_block(blob(row, 1)?)?, next_index: row.get(0)? }),
        )
    }

    /// The unpacked sizes of all blocks of records.
    pub(crate) fn record_sizes(
        &self,
        task_id: &str,
        kind: RecordKind,
    ) -> Result<Vec<RecordBlockSize>, StoreError> {
        self.rows(
            "SELECT first_index, substr(bytes, 1, ?4) FROM record_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 ORDER BY first_index",
            params![self.domain.0, task_id, kind_code(kind), HEADER_BYTES_MAX as i64],
            |row| {
                let bytes = unpacked_size(blob(row, 1)?)?;
                Ok(RecordBlockSize { first_index: row.get(0)?, bytes })
            },
        )
    }
}

fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], Fault> {
    Ok(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?)
}

fn with_position(row: &Row<'_>) -> Result<Task, Fault> {
    Ok(Task { position: row.get(COLUMNS_COUNT)?, ..row::task(row)? })
}

/// The condition that a column holds the number of one of the values.
fn one_of<T: Copy>(column: &str, values: Option<&[T]>, code: impl Fn(T) -> i64) -> String {
    let Some(values) = values else { return String::new() };
    let codes: Vec<_> = values.iter().map(|value| code(*value).to_string()).collect();
    format!(" AND {column} IN ({})", codes.join(", "))
}

/// Unfinished tasks of all domains: those without a lease, and those with one.
pub(crate) fn unfinished_by_lease(conn: &Connection) -> Result<(u64, u64), Fault> {
    // The planner cannot know that nearly all tasks are finished.
    let sql = "SELECT count(*) - count(lease_server), count(lease_server)
               FROM tasks INDEXED BY tasks_unfinished WHERE status < 4";
    let mut counts = conn.prepare_cached(sql)?;
    let (waiting, running): (u32, u32) =
        counts.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((waiting.into(), running.into()))
}
