//! Reading the log. A read takes batches in steps until its page is full. The first step has about
//! as many changes as the page, and each following one twice as many as the one before it, so that
//! a read unpacks little that its page has no room for. It gives up after many batches in which
//! nothing matches: a filter for something rare is answered in portions.

use caseload_model::change::{BATCH_CHANGES_MAX, Batch};
use caseload_model::time::UnixMillis;

use crate::checksum::CHANGES;
use crate::idempotency::CommandStore;
use crate::pack::{unpack_block, unpacked_size};
use crate::sql::Row;
use crate::{ChangePage, ReadChanges, StoreError, values};

/// The most batches, about the most changes, and about the most stored bytes of a step.
const STEP_BATCHES: i64 = 500;
const STEP_CHANGES: usize = BATCH_CHANGES_MAX;
pub(super) const STEP_BYTES: i64 = 1 << 20;
/// How many batches one read looks at.
const READ_BATCHES_MAX: usize = 10_000;
/// The most bytes of an unpacked batch.
const BATCH_BYTES_MAX: u64 = 64 << 20;
/// The first byte of a compressed batch; one that is not compressed begins with another.
const COMPRESSED: u8 = 0x28;

/// The columns that [`stored_batch`] reads, after those of the checksum.
pub(crate) const BATCH_COLUMNS: &str = "first_position, last_position";

/// A batch of the log with the position of its first change.
#[derive(Debug)]
pub(crate) struct StoredBatch {
    pub(crate) first: u64,
    pub(crate) batch: Batch,
}

/// A batch, from a row of the columns of [`CHANGES`] and [`BATCH_COLUMNS`].
pub(crate) fn stored_batch(row: &dyn Row) -> Result<StoredBatch, StoreError> {
    CHANGES.require(row)?;
    let bytes: &[u8] = row.get(2)?;
    let corrupt = |fault: String| StoreError::Corrupt(fault);
    let unpacked;
    let packed = if bytes.first() == Some(&COMPRESSED) {
        if unpacked_size(bytes)? > BATCH_BYTES_MAX {
            return Err(corrupt("a batch of changes would be too long".to_owned()));
        }
        unpacked = unpack_block(bytes)?;
        &unpacked
    } else {
        bytes
    };
    let batch = Batch::unpack(packed).map_err(|fault| corrupt(fault.to_string()))?;
    let width = CHANGES.width();
    let (first, last) = (row.get::<u64>(width)?, row.get::<u64>(width + 1)?);
    if last.checked_sub(first) != (batch.effects.len() as u64).checked_sub(1) {
        let count = batch.effects.len();
        return Err(corrupt(format!("positions {first} to {last} have {count} changes")));
    }
    Ok(StoredBatch { first, batch })
}

/// The changes after a position that match, oldest first, from one snapshot.
pub fn read_changes(
    store: &impl CommandStore,
    request: &ReadChanges,
) -> Result<ChangePage, StoreError> {
    let (_, dropped) = positions(store)?;
    if request.after < dropped {
        return Err(StoreError::ChangesDropped { dropped });
    }
    let mut page = ChangePage { changes: Vec::new(), next: request.after };
    let (mut looked_at, mut step_changes) = (0, request.changes_max.clamp(1, STEP_CHANGES));
    while looked_at < READ_BATCHES_MAX {
        let batches = step(store, page.next, step_changes)?;
        if batches.is_empty() {
            break;
        }
        looked_at += batches.len();
        step_changes = STEP_CHANGES.min(step_changes * 2);
        for StoredBatch { first, batch, .. } in batches {
            for change in batch.into_changes(first) {
                if change.position <= page.next {
                    continue;
                }
                if page.changes.len() == request.changes_max {
                    return Ok(page);
                }
                page.next = change.position;
                if request.filter.matches(&change) {
                    page.changes.push(change);
                }
            }
        }
    }
    Ok(page)
}

/// The batches that follow a position, of about so many changes.
fn step(
    store: &impl CommandStore,
    after: u64,
    changes: usize,
) -> Result<Vec<StoredBatch>, StoreError> {
    // A position in a request may be any number.
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let (domain, changes) = (store.domain(), changes as i64);
    let select = select_batches("last_position > ?2", "ASC", " AND changes_before < ?5");
    let values = values![domain, after, STEP_BATCHES, STEP_BYTES, changes];
    store.list(&select, values, stored_batch)
}

/// Reads the first of the batches of the domain `?1` for which a condition holds, in this order: at
/// most `?3`, about `?4` stored bytes, and as many as a limit on `changes_before` has.
pub(super) fn select_batches(condition: &str, order: &str, limit: &str) -> String {
    let columns = format!("{}, {BATCH_COLUMNS}", CHANGES.select());
    let order = format!("ORDER BY last_position {order}");
    format!(
        "SELECT {columns} FROM (
             SELECT {columns}, sum(size) OVER so_far - size AS bytes_before,
                 sum(count) OVER so_far - count AS changes_before
             FROM (SELECT {columns}, octet_length(bytes) AS size,
                     CAST(last_position - first_position + 1 AS INTEGER) AS count
                 FROM changes WHERE domain_id = ?1 AND {condition}
                 {order} LIMIT ?3) AS t WINDOW so_far AS ({order})) AS measured
         WHERE bytes_before < ?4{limit} {order}"
    )
}

/// The position of the domain's last change; 0 before the first.
pub fn last_position(store: &impl CommandStore) -> Result<u64, StoreError> {
    positions(store).map(|(last, _)| last)
}

/// The last position that the clock of the domain gave out, and the last one that was dropped.
pub(crate) fn positions(store: &impl CommandStore) -> Result<(u64, u64), StoreError> {
    let select = "SELECT last_position, dropped_position FROM domain_clocks WHERE domain_id = ?1";
    let found =
        store.find(select, values![store.domain()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.ok_or_else(StoreError::unknown_domain)
}

/// The position before the first change at a time or later; the last one if there is none. Times
/// grow with positions, so that the log is halved until one batch is left.
pub fn position_before(store: &impl CommandStore, at: UnixMillis) -> Result<u64, StoreError> {
    let following = |position: u64| {
        let select = "SELECT first_position, last_position, at FROM changes
             WHERE domain_id = ?1 AND last_position > ?2 ORDER BY last_position LIMIT 1";
        store.find(select, values![store.domain(), position as i64], |row| {
            Ok((row.get::<u64>(0)?, row.get::<u64>(1)?, row.get::<UnixMillis>(2)?))
        })
    };
    // All changes up to `low` are earlier or no longer stored, and all after `high` are not.
    let (mut high, mut low) = positions(store)?;
    while low < high {
        match following(low + (high - low) / 2)? {
            Some((_, last, of_batch)) if of_batch < at => low = last,
            Some((first, ..)) => high = first.saturating_sub(1).max(low),
            None => high = low + (high - low) / 2,
        }
    }
    Ok(low)
}
