//! The one row per domain that hands out ids and times. Both only go up, whatever the system's
//! clock does: `max(now, last + 1)`. A chunk takes its ids as a block and one time of change.

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use crate::StoreError;

/// Microseconds in a millisecond: core profile ids are times in microseconds.
const MICROS: i64 = 1000;

/// The first id of the block that the domain's next profiles get at `now`.
pub(super) fn first_core_profile_id(
    conn: &Connection,
    domain: DomainId,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let last: i64 = conn
        .prepare_cached("SELECT last_core_profile_id FROM domain_clocks WHERE domain_id = ?1")?
        .query_row([domain.0], |row| row.get(0))
        .optional()?
        .ok_or(StoreError::LeaseLost)?;
    Ok((now.0.max(0) * MICROS).max(last + 1).unsigned_abs())
}

/// Notes that ids below `next` are given away.
pub(super) fn keep_next_core_profile_id(
    conn: &Connection,
    domain: DomainId,
    next: CoreProfileId,
) -> Result<(), StoreError> {
    conn.prepare_cached(
        "UPDATE domain_clocks SET last_core_profile_id = max(last_core_profile_id, ?2)
         WHERE domain_id = ?1",
    )?
    .execute(params![domain.0, next.0 as i64 - 1])?;
    Ok(())
}

/// The time of a change that commits now; later than every change before it in the domain.
pub(super) fn change_time(
    conn: &Connection,
    domain: DomainId,
    now: UnixMillis,
) -> Result<UnixMillis, StoreError> {
    conn.prepare_cached(
        "UPDATE domain_clocks SET last_change_at = max(?2, last_change_at + 1)
         WHERE domain_id = ?1 RETURNING last_change_at",
    )?
    .query_row(params![domain.0, now.0], |row| row.get(0))
    .optional()?
    .map(UnixMillis)
    .ok_or(StoreError::LeaseLost)
}

/// Notes what an import used up: issue ids, instants of creation, numbers of apps.
pub(super) fn keep_import(
    conn: &Connection,
    domain: DomainId,
    last_issue_id: u64,
    max_created_at: Option<UnixMillis>,
    next_app_number: u64,
) -> Result<(), StoreError> {
    conn.prepare_cached(
        "UPDATE domain_clocks SET last_issue_id = max(last_issue_id, ?2),
         last_created_at = max(last_created_at, ?3), last_app_number = max(last_app_number, ?4)
         WHERE domain_id = ?1",
    )?
    .execute(params![
        domain.0,
        last_issue_id as i64,
        max_created_at.unwrap_or_default().0,
        next_app_number as i64 - 1
    ])?;
    Ok(())
}
