//! Purging the log: drops its oldest batches in small steps, with their rows in the index of
//! records. The clock of the domain gets the last position that was dropped, in the same
//! transaction, so that a reader that comes too late gets an error. Invariant: only the oldest
//! batches are dropped, and only those that are older than the limit. A batch with a time in the
//! future, from a wrong clock, holds those that follow it until then.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use super::read::{BATCH_COLUMNS, stored_batch};
use super::records::{INDEXED, index_rows};
use crate::checksum::CHANGES;
use crate::failpoint::{self, Failpoint};
use crate::idempotency::CommandStore;
use crate::sql::Sql;
use crate::{StoreError, values};

/// The most batches that one step drops.
const STEP_BATCHES: u64 = 500;
/// About the most changes that one step drops; a batch is dropped whole.
const STEP_CHANGES: u64 = 10_000;

/// One step in the first domain that has batches from before this time; false if none has.
pub fn purge_step<S: CommandStore>(
    store: &impl Sql,
    before: UnixMillis,
    in_domain: impl Fn(DomainId) -> S,
) -> Result<bool, StoreError> {
    let domains = store.list("SELECT id FROM domains ORDER BY id", &[], |row| row.get(0))?;
    for domain in domains {
        let store = in_domain(domain);
        if let Some(through) = expired(&store, before)? {
            drop_through(&store, through)?;
            failpoint::reached(Failpoint::PurgeBeforeCommit);
            return Ok(true);
        }
    }
    Ok(false)
}

/// The last position that the next step drops.
fn expired(store: &impl CommandStore, before: UnixMillis) -> Result<Option<i64>, StoreError> {
    let oldest = "SELECT first_position, last_position, at FROM changes WHERE domain_id = ?1
                  ORDER BY last_position LIMIT ?2";
    let batches = store.list(oldest, values![store.domain(), STEP_BATCHES], |row| {
        Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<UnixMillis>(2)?))
    })?;
    let Some((begin, ..)) = batches.first().copied() else { return Ok(None) };
    let expired = batches.into_iter().take_while(|(_, _, at)| *at < before);
    let is_small = |first: i64| first - begin < STEP_CHANGES.cast_signed();
    Ok(expired.take_while(|(first, ..)| is_small(*first)).map(|(_, last, _)| last).last())
}

/// Drops the batches up to this position. The clock comes last, because other transactions lock it
/// last.
pub fn drop_through(store: &impl CommandStore, through: i64) -> Result<(), StoreError> {
    delete_index(store, through)?;
    let delete = "DELETE FROM changes WHERE domain_id = ?1 AND last_position <= ?2";
    store.change(delete, values![store.domain(), through])?;
    let note = "UPDATE domain_clocks SET dropped_position = greatest(dropped_position, ?2)
                WHERE domain_id = ?1";
    store.change(note, values![store.domain(), through]).map(drop)
}

/// Deletes the rows of the batches up to a position.
fn delete_index(store: &impl CommandStore, through: i64) -> Result<(), StoreError> {
    let domain = store.domain();
    let select = format!(
        "SELECT {}, {BATCH_COLUMNS} FROM changes
         WHERE domain_id = ?1 AND last_position <= ?2 ORDER BY last_position",
        CHANGES.select()
    );
    let mut dropped = Vec::new();
    store.each(&select, values![domain, through], &mut |row| {
        let last: i64 = row.get(CHANGES.width() + 1)?;
        let rows = match stored_batch(row) {
            Ok(stored) => Some(index_rows(&stored.batch.effects)),
            // A damaged batch does not say which rows it has.
            Err(StoreError::Corrupt(_)) => None,
            Err(other) => return Err(other),
        };
        dropped.push((last, rows));
        Ok(())
    })?;
    for (last, rows) in dropped {
        let Some(rows) = rows else {
            let all = "DELETE FROM change_records WHERE domain_id = ?1 AND last_position = ?2";
            store.change(all, values![domain, last])?;
            continue;
        };
        for resource in INDEXED {
            let of_kind = rows.iter().filter(|row| row.resource == resource);
            let ids: Vec<i64> = of_kind.map(|row| row.id).collect();
            if !ids.is_empty() {
                let one = "DELETE FROM change_records WHERE domain_id = ?1 AND resource = ?2
                           AND id = ANY (?3) AND last_position = ?4";
                store.change(one, values![domain, resource.code(), ids, last])?;
            }
        }
    }
    Ok(())
}
