//! Reading tasks, lists of them, and their payloads and records block by block, all in the snapshot
//! of one transaction.

use caseload_model::ids::DomainId;
use caseload_model::task::{Family, Task};

use super::records::kind_code;
use super::statements::{COLUMNS, COLUMNS_COUNT, TaskStore, TaskTables, task};
use crate::checksum::{PAYLOAD_BLOCKS, RECORD_BLOCKS};
use crate::sql::{Query, Row, Sql};
use crate::{
    HEADER_BYTES_MAX, ListTasks, RecordBlock, RecordBlockSize, RecordKind, StoreError, TaskPage,
    unpack_block, unpacked_size, values,
};

/// The columns of a task and how many unfinished writing tasks of its domain `?1` come before it,
/// if it waits for its start. Tasks that only read wait for none.
fn select<S: TaskTables>() -> String {
    format!(
        "SELECT {COLUMNS}, CASE WHEN t.status >= 3 THEN NULL WHEN NOT t.writes THEN 0 ELSE
         (SELECT count(*) FROM {} b WHERE b.domain_id = t.domain_id AND b.domain_id = ?1
         AND b.writes = TRUE AND b.seq < t.seq) END FROM tasks t",
        S::QUEUE
    )
}

/// A task, from a row of [`select`].
fn with_position(row: &dyn Row) -> Result<Task, StoreError> {
    Ok(Task { position: row.get(COLUMNS_COUNT)?, ..task(row)? })
}

/// A task of the family.
pub fn of_family<S: TaskTables>(domain: DomainId, family: Family, id: &str) -> Query<Task> {
    let select =
        format!("{} WHERE t.domain_id = ?1 AND t.id = ?2 AND t.family = ?3", select::<S>());
    Query::new(select, [domain.into(), id.into(), family.code().into()], with_position)
}

/// A page of tasks, newest first, and the exact number of all that match.
pub fn page<S: TaskStore>(store: &S, request: &ListTasks) -> Result<TaskPage, StoreError> {
    // The numbers of words are small: a set of them is the bits of one number.
    let chosen = "t.domain_id = ?1 AND t.family = ?2
                  AND ((1 << t.status) & ?3) <> 0 AND ((1 << t.action) & ?4) <> 0";
    let (domain, family) = (store.domain(), request.family.code());
    let statuses = bits(request.statuses.as_deref().map(|all| all.iter().map(|one| one.code())));
    let actions = bits(request.actions.as_deref().map(|all| all.iter().map(|one| one.code())));
    let total_hits = store.find(
        &format!("SELECT count(*) FROM tasks t WHERE {chosen}"),
        values![domain, family, statuses, actions],
        |row| row.get(0),
    )?;
    let (size, offset) = (request.paging.page_size, request.paging.offset());
    let tasks = store.list(
        &format!("{} WHERE {chosen} ORDER BY t.seq DESC LIMIT ?5 OFFSET ?6", select::<S>()),
        values![domain, family, statuses, actions, size, offset],
        with_position,
    )?;
    Ok(TaskPage { tasks, total_hits: total_hits.unwrap_or_default() })
}

/// One bit for each number, or all bits.
fn bits(codes: Option<impl Iterator<Item = i64>>) -> i64 {
    codes.map_or(i32::MAX.into(), |codes| codes.map(|code| 1 << code).sum())
}

/// Unfinished tasks of all domains: those without a lease, and those with one.
pub fn unfinished_by_lease<S: TaskTables + Sql>(store: &S) -> Result<(u64, u64), StoreError> {
    let count = format!(
        "SELECT count(*) - count(lease_server), count(lease_server) FROM {} q
         WHERE domain_id IN (SELECT id FROM domains)",
        S::QUEUE
    );
    let counts = store.find(&count, &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(counts.unwrap_or_default())
}

/// The first payload block with an entry at or after `from_index`, unpacked.
pub fn payload_block(domain: DomainId, id: &str, from_index: u32) -> Query<Vec<u8>> {
    let select = format!(
        "SELECT {} FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2
         AND last_index >= ?3 ORDER BY last_index LIMIT 1",
        PAYLOAD_BLOCKS.select()
    );
    Query::new(select, [domain.into(), id.into(), from_index.into()], |row| {
        PAYLOAD_BLOCKS.require(row)?;
        unpack_block(row.get(4)?)
    })
}

/// The first block of records that begins at or after `from_index`.
pub fn record_block(
    domain: DomainId,
    id: &str,
    kind: RecordKind,
    from_index: u32,
) -> Query<RecordBlock> {
    let select = format!(
        "SELECT {} FROM record_blocks WHERE domain_id = ?1 AND task_id = ?2
         AND kind = ?3 AND first_index >= ?4 ORDER BY first_index LIMIT 1",
        RECORD_BLOCKS.select()
    );
    let values = [domain.into(), id.into(), kind_code(kind).into(), from_index.into()];
    Query::new(select, values, |row| {
        RECORD_BLOCKS.require(row)?;
        Ok(RecordBlock { lines: unpack_block(row.get(6)?)?, next_index: row.get(4)? })
    })
}

/// The unpacked sizes of all blocks of records.
pub fn record_sizes(domain: DomainId, id: &str, kind: RecordKind) -> Query<RecordBlockSize> {
    Query::new(
        "SELECT first_index, substr(bytes, 1, ?4) FROM record_blocks
         WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 ORDER BY first_index",
        [domain.into(), id.into(), kind_code(kind).into(), (HEADER_BYTES_MAX as u32).into()],
        |row| Ok(RecordBlockSize { first_index: row.get(0)?, bytes: unpacked_size(row.get(1)?)? }),
    )
}
