//! Reading tasks, lists of them, and their payloads and records block by block, in the snapshot
//! that the connection is in.

use caseload_model::ids::DomainId;
use caseload_model::task::{Action, Family, Task, TaskStatus};
use caseload_store::tasks::kind_code;
use caseload_store::{
    HEADER_BYTES_MAX, ListTasks, RecordBlock, RecordBlockSize, RecordKind, StoreError, TaskPage,
    unpack_block, unpacked_size,
};
use tokio_postgres::Row;

use super::row::{COLUMNS, COLUMNS_COUNT, code, task};
use crate::engine::Client;
use crate::rows::count;

/// How many unfinished writing tasks of the domain come before a task that waits for its start.
/// Tasks that only read wait for none.
const POSITION: &str = "CASE WHEN t.status >= 3 THEN NULL WHEN NOT t.writes THEN 0
     ELSE (SELECT count(*) FROM task_queue b WHERE b.domain_id = t.domain_id
     AND b.domain_id = $1 AND b.writes AND b.seq < t.seq) END";

/// The tasks of a domain that the request asks for, on any page.
const CHOSEN: &str = "t.family = $2
                      AND ($3::smallint[] IS NULL OR t.status = ANY ($3))
                      AND ($4::smallint[] IS NULL OR t.action = ANY ($4))";

/// A page of tasks, newest first, and the exact number of all that match.
pub(crate) async fn list(client: &Client, request: &ListTasks) -> Result<TaskPage, StoreError> {
    let (domain, family) = (request.domain.0, code(request.family.code()));
    let statuses = codes(request.statuses.as_deref(), |status: TaskStatus| status.code());
    let actions = codes(request.actions.as_deref(), |action: Action| action.code());
    let count = format!("SELECT count(*) FROM tasks t WHERE t.domain_id = $1 AND {CHOSEN}");
    let counted = client.row(&count, &[&domain, &family, &statuses, &actions]).await?;
    let select = format!(
        "SELECT {COLUMNS}, {POSITION} FROM tasks t WHERE t.domain_id = $1 AND {CHOSEN}
         ORDER BY t.seq DESC LIMIT $5 OFFSET $6"
    );
    let (limit, offset) = (request.paging.page_size as i64, request.paging.offset() as i64);
    let rows =
        client.rows(&select, &[&domain, &family, &statuses, &actions, &limit, &offset]).await?;
    Ok(TaskPage {
        tasks: rows.iter().map(with_position).collect::<Result<_, _>>()?,
        total_hits: counted.get::<_, i64>(0).unsigned_abs(),
    })
}

/// The numbers of words.
fn codes<T: Copy>(words: Option<&[T]>, of: impl Fn(T) -> i64) -> Option<Vec<i16>> {
    words.map(|words| words.iter().map(|word| code(of(*word))).collect())
}

/// A task of the family.
pub(crate) async fn of_family(
    client: &Client,
    domain: DomainId,
    family: Family,
    id: &str,
) -> Result<Option<Task>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS}, {POSITION} FROM tasks t
         WHERE t.domain_id = $1 AND t.id = $2 AND t.family = $3"
    );
    let found = client.row_opt(&select, &[&domain.0, &id.as_bytes(), &code(family.code())]).await?;
    found.as_ref().map(with_position).transpose()
}

/// A task, from a row of [`COLUMNS`] and [`POSITION`].
fn with_position(row: &Row) -> Result<Task, StoreError> {
    let position: Option<i64> = row.get(COLUMNS_COUNT);
    Ok(Task { position: position.map(|tasks| tasks as u32), ..task(row)? })
}

/// Bytes of the database, and [`unfinished_by_lease`].
pub(crate) async fn sizes(client: &Client) -> Result<(u64, (u64, u64)), StoreError> {
    let size: i64 = client.row("SELECT pg_database_size(current_database())", &[]).await?.get(0);
    Ok((size.unsigned_abs(), unfinished_by_lease(client).await?))
}

/// Unfinished tasks of all domains: those without a lease, and those with one.
async fn unfinished_by_lease(client: &Client) -> Result<(u64, u64), StoreError> {
    let counts = client
        .row(
            "SELECT count(*) - count(lease_server), count(lease_server) FROM task_queue
             WHERE domain_id IN (SELECT id FROM domains)",
            &[],
        )
        .await?;
    Ok((counts.get::<_, i64>(0).unsigned_abs(), counts.get::<_, i64>(1).unsigned_abs()))
}

/// The first payload block with an entry at or after `from_index`, unpacked.
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

/// The first block of records that begins at or after `from_index`.
pub(crate) async fn record_block(
    client: &Client,
    domain: DomainId,
    task_id: &str,
    kind: RecordKind,
    from_index: u32,
) -> Result<Option<RecordBlock>, StoreError> {
    let found = client
        .row_opt(
            "SELECT next_index, bytes FROM record_blocks
             WHERE domain_id = $1 AND task_id = $2 AND kind = $3 AND first_index >= $4
             ORDER BY first_index LIMIT 1",
            &[&domain.0, &task_id.as_bytes(), &code(kind_code(kind)), &(from_index as i32)],
        )
        .await?;
    let Some(row) = found else { return Ok(None) };
    Ok(Some(RecordBlock { lines: unpack_block(row.get(1))?, next_index: count(&row, 0) }))
}

/// The unpacked sizes of all blocks of records.
pub(crate) async fn record_sizes(
    client: &Client,
    domain: DomainId,
    task_id: &str,
    kind: RecordKind,
) -> Result<Vec<RecordBlockSize>, StoreError> {
    let blocks = client
        .rows(
            "SELECT first_index, substring(bytes FROM 1 FOR $4) FROM record_blocks
             WHERE domain_id = $1 AND task_id = $2 AND kind = $3 ORDER BY first_index",
            &[&domain.0, &task_id.as_bytes(), &code(kind_code(kind)), &(HEADER_BYTES_MAX as i32)],
        )
        .await?;
    let size = |row: &Row| {
        Ok(RecordBlockSize { first_index: count(row, 0), bytes: unpacked_size(row.get(1))? })
    };
    blocks.iter().map(size).collect()
}
