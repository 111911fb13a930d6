//! The records of tasks: compressed blocks in, compressed blocks out. How they are cut and packed
//! is said by [`Records`]; here they are stored, and read block by block.

use caseload_model::ids::DomainId;

use super::super::engine::{Client, CopyRows};
use super::super::rows::count;
use super::row::code;
use crate::engine::store_error;
use caseload_store::records::{Packed, Records, kind_code};
use caseload_store::{HEADER_BYTES_MAX, unpacked_size};
use caseload_store::{RecordBlock, RecordBlockSize, RecordKind, StoreError, unpack_block};

const BLOCKS: &str =
    "record_blocks (domain_id, task_id, kind, first_index, next_index, lines, bytes)";

/// Stores the blocks; all of them are closed.
pub(super) async fn keep(
    client: &Client,
    records: &Records,
    domain: DomainId,
    task_id: &str,
) -> Result<(), StoreError> {
    let mut rows = CopyRows::new();
    for Packed { kind, first_index, next_index, lines, bytes } in records.packed() {
        rows.row(7).add(domain.0).add(task_id).add(code(kind_code(*kind)));
        rows.add(*first_index as i32).add(*next_index as i32).add(*lines as i32).add(&bytes[..]);
    }
    let copy = client.prepare_copy(BLOCKS).await?;
    client.copy_rows(&copy, rows).await.map_err(store_error)?;
    Ok(())
}

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
    let size = |row: &tokio_postgres::Row| {
        Ok(RecordBlockSize { first_index: count(row, 0), bytes: unpacked_size(row.get(1))? })
    };
    blocks.iter().map(size).collect()
}
