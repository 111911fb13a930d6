//! Takes the titles of erased issues out of the log. The index names the batches that can have one.
//! Invariant: positions, times and the index stay as they are.

use std::collections::BTreeSet;

use caseload_model::change::Resource;

use super::read::{BATCH_COLUMNS, StoredBatch, stored_batch};
use super::records::SPAN;
use super::write::packed;
use crate::checksum::{self, CHANGES};
use crate::idempotency::CommandStore;
use crate::{StoreError, values};

/// Batches that one step reads.
const STEP_BATCHES: u64 = 20;

/// Removes the titles of these issues from the next batches after a position. Returns the position
/// of the last one; `None` if there are no more.
pub(crate) fn erase_titles(
    store: &impl CommandStore,
    issues: &BTreeSet<u64>,
    after: u64,
) -> Result<Option<u64>, StoreError> {
    let (Some(first), Some(last)) = (issues.first(), issues.last()) else { return Ok(None) };
    let (domain, ids) = (store.domain(), issues.iter().map(|id| id.cast_signed()));
    let ids: Vec<i64> = ids.collect();
    let select = format!(
        "SELECT DISTINCT last_position FROM change_records
         WHERE domain_id = ?1 AND resource = ?2 AND last_position > ?3
         AND (id = ANY (?4) OR id = {SPAN} AND lowest <= ?5 AND highest >= ?6)
         ORDER BY last_position LIMIT ?7"
    );
    let of = Resource::Issue.code();
    let positions: Vec<i64> =
        store.list(&select, values![domain, of, after, ids, last, first, STEP_BATCHES], |row| {
            row.get(0)
        })?;
    let Some(end) = positions.last() else { return Ok(None) };
    let select = format!(
        "SELECT {}, {BATCH_COLUMNS} FROM changes WHERE domain_id = ?1 AND last_position = ANY (?2)",
        CHANGES.select()
    );
    for StoredBatch { first, mut batch } in
        store.list(&select, values![domain, positions], stored_batch)?
    {
        if !batch.erase_titles(issues) {
            continue;
        }
        let last = first + batch.effects.len() as u64 - 1;
        let logged = packed(&batch)?;
        let sum = checksum::of(values![domain, logged.at, logged.bytes]);
        let update = "UPDATE changes SET bytes = ?3, checksum = ?4
                      WHERE domain_id = ?1 AND last_position = ?2";
        store.change(update, values![domain, last, logged.bytes, sum])?;
    }
    Ok(Some(end.cast_unsigned()))
}
