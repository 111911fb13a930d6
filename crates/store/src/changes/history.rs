//! The history of one record, newest first. The index names the batches that can have it; only
//! these are read.

use std::sync::Arc;

use caseload_model::change::{Batch, Change, Effect, RecordId, Resource};
use caseload_model::time::UnixMillis;

use super::read::{BATCH_COLUMNS, STEP_BYTES, StoredBatch, select_batches, stored_batch};
use super::records::SPAN;
use crate::checksum::CHANGES;
use crate::idempotency::CommandStore;
use crate::{HistoryPage, ReadHistory, StoreError, values};

/// The most batches that one statement reads.
const STEP_BATCHES: i64 = 50;
/// How many batches one read looks at. Most of them have the record, except in a domain whose tasks
/// have changed records far apart.
const READ_BATCHES_MAX: usize = 250;
/// About the most bytes of old and new values on a page.
const PAGE_BYTES: usize = 1 << 20;

/// The changes of a record before a position, newest first, from one snapshot.
pub fn history(
    store: &impl CommandStore,
    request: &ReadHistory,
) -> Result<HistoryPage, StoreError> {
    // Without a clock there is no domain.
    super::last_position(store)?;
    let mut page = HistoryPage::default();
    let mut before = request.before.unwrap_or(u64::MAX);
    let (mut looked_at, mut bytes) = (0, 0);
    while looked_at < READ_BATCHES_MAX {
        let found = step(store, request, before)?;
        if found.is_empty() {
            return Ok(page);
        }
        looked_at += found.len();
        for stored in found {
            let first = stored.first;
            for change in of_record(stored, request, before) {
                if page.changes.len() >= request.changes_max || bytes >= PAGE_BYTES {
                    page.next = Some(before);
                    return Ok(page);
                }
                before = change.position;
                bytes += change.effect.values.len();
                page.changes.push(change);
            }
            before = first;
        }
    }
    page.next = Some(before);
    Ok(page)
}

/// The effects of the transaction at this time that changed the record, all of them.
pub(crate) fn effects_at(
    store: &impl CommandStore,
    (resource, id): (Resource, u64),
    at: UnixMillis,
) -> Result<Option<Vec<Effect>>, StoreError> {
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    let select = format!(
        "SELECT {}, {BATCH_COLUMNS} FROM changes WHERE domain_id = ?1 AND at = ?2
         AND last_position IN (SELECT r.last_position FROM change_records r
             WHERE r.domain_id = ?1 AND r.resource = ?3 AND (r.id = ?4
                 OR r.id = {SPAN} AND r.lowest <= ?4 AND r.highest >= ?4))",
        CHANGES.select()
    );
    let (domain, resource) = (store.domain(), resource.code());
    let found = store.find(&select, values![domain, at, resource, id], stored_batch)?;
    Ok(found.map(|stored| stored.batch.effects))
}

/// The changes of a batch that are of the record and before the position, newest first.
fn of_record(stored: StoredBatch, request: &ReadHistory, before: u64) -> Vec<Change> {
    let StoredBatch { first, batch } = stored;
    let Batch { at, by, request_id, effects } = batch;
    let (id, by) = (RecordId::from(request.id), Arc::new(by));
    let wanted = effects.into_iter().zip(first..).filter(|(effect, position)| {
        *position < before && effect.resource == request.resource && effect.id == id
    });
    let mut changes: Vec<Change> = wanted
        .map(|(effect, position)| {
            let (by, request_id) = (by.clone(), request_id.clone());
            Change { position, at, effect, by, request_id }
        })
        .collect();
    changes.reverse();
    changes
}

/// The next batches that can have the record, newest first.
fn step(
    store: &impl CommandStore,
    request: &ReadHistory,
    before: u64,
) -> Result<Vec<StoredBatch>, StoreError> {
    let Ok(id) = i64::try_from(request.id) else { return Ok(Vec::new()) };
    let domain = store.domain();
    // A position in a request may be any number.
    let before = i64::try_from(before).unwrap_or(i64::MAX);
    let rows = |which: &str| {
        format!(
            "SELECT last_position FROM (SELECT last_position FROM change_records
                 WHERE domain_id = ?1 AND resource = ?5 AND {which} AND last_position < ?7
                 ORDER BY last_position DESC LIMIT ?3)"
        )
    };
    let indexed = format!(
        "last_position IN ({} AS single UNION ALL {} AS spans)",
        rows("id = ?6"),
        rows(&format!("id = {SPAN} AND lowest <= ?6 AND highest >= ?6")),
    );
    // The batch in which the position is may have changes before it.
    let select = "SELECT last_position FROM changes WHERE domain_id = ?1 AND last_position >= ?2
                  ORDER BY last_position LIMIT 1";
    let within: Option<i64> = store.find(select, values![domain, before], |row| row.get(0))?;
    let end = within.map_or(i64::MAX, |last| last.saturating_add(1));
    let (condition, kind) = (format!("first_position < ?2 AND {indexed}"), request.resource.code());
    let values = values![domain, before, STEP_BATCHES, STEP_BYTES, kind, id, end];
    store.list(&select_batches(&condition, "DESC", ""), values, stored_batch)
}
