//! The clock of a domain: one row per domain that assigns ids and times. Both only increase, even
//! if the system's clock goes back: each is `max(now, last + 1)`. A chunk takes a block of ids and
//! one change time. Creation times of imports are none of the clock's: it only knows the latest.

use caseload_model::ids::DomainId;
use caseload_model::issue::INSTANT_MS_MAX;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Fault;
use crate::tx::DomainTx;
use caseload_store::issues::{IssueAllocation, free_instant, live_id, taken_instants};
use caseload_store::profiles::{CLOCK_AHEAD_MS_MAX, ChangeTimes, ProfileClock};
use caseload_store::rowset::row_number;
use caseload_store::sql::Sql;
use caseload_store::{StoreError, values};

/// The clock of the domain's profiles; `None` if there is no such domain. Rows are those of all
/// domains.
pub(super) fn profiles(tx: DomainTx<'_>) -> Result<Option<ProfileClock>, StoreError> {
    tx.find(
        "SELECT last_core_profile_id, last_change_at,
         coalesce((SELECT max(row) FROM core_profiles), 0) FROM domain_clocks WHERE domain_id = ?1",
        values![tx.domain],
        |row| {
            let (last_id, last_change) = (row.get(0)?, row.get(1)?);
            Ok(ProfileClock { last_id, last_change, last_row: row_number(row.get(2)?)? })
        },
    )
}

/// Writes the clock of profiles back.
pub(super) fn advance_profiles(tx: DomainTx<'_>, clock: ProfileClock) -> Result<(), StoreError> {
    let sql = "UPDATE domain_clocks SET last_core_profile_id = max(last_core_profile_id, ?2),
               last_change_at = max(last_change_at, ?3) WHERE domain_id = ?1";
    tx.change(sql, values![tx.domain, clock.last_id, clock.last_change]).map(drop)
}

/// The time of a change that commits now. It is later than every earlier change in the domain.
pub(super) fn change_time(
    conn: &Connection,
    domain: DomainId,
    now: UnixMillis,
) -> Result<UnixMillis, Fault> {
    let set = "UPDATE domain_clocks SET last_change_at = max(?2, last_change_at + 1)
               WHERE domain_id = ?1 RETURNING last_change_at";
    conn.prepare_cached(set)?
        .query_row(params![domain.0, now.0], |row| row.get(0))
        .optional()?
        .map(UnixMillis)
        .ok_or(StoreError::LeaseLost.into())
}

/// The id and the times of a new issue. The clock knows the latest creation time of all issues and
/// the latest one that was given out here, so that issues are looked at only if there is one of the
/// future: an import brought it, or the system's clock was ahead and came back.
pub(super) fn allocate_issue(tx: DomainTx<'_>, now: UnixMillis) -> Result<IssueAllocation, Fault> {
    let (conn, domain) = (tx.conn, tx.domain);
    let changed_at = change_time(conn, domain, now)?;
    let ChangeTimes { created_at, .. } = ChangeTimes::of(now, changed_at);
    let live = format!(
        "max(?2, iif(last_live_created_at > ?2 + {CLOCK_AHEAD_MS_MAX}, 0, \
         last_live_created_at + 1))"
    );
    let live = format!("{live} + ({live} = last_created_at)");
    let (id, created_at, latest): (i64, i64, i64) = conn
        .prepare_cached(&format!(
            "UPDATE domain_clocks SET last_issue_id = last_issue_id + 1,
             last_live_created_at = {live}, last_created_at = max(last_created_at, {live})
             WHERE domain_id = ?1 RETURNING last_issue_id, last_live_created_at, last_created_at"
        ))?
        .query_row(params![domain.0, created_at.0], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let id = live_id(&tx, id.unsigned_abs())?;
    let created_at = if created_at == latest && latest <= INSTANT_MS_MAX {
        UnixMillis(created_at)
    } else {
        let taken = |window| taken_instants(&tx, window);
        let free = free_instant(UnixMillis(created_at), UnixMillis(latest), taken)?;
        let set = "UPDATE domain_clocks SET last_created_at = min(max(last_created_at, ?2), ?3),
                   last_live_created_at = min(max(last_live_created_at, ?2), ?3)
                   WHERE domain_id = ?1";
        tx.change(set, values![domain, free, INSTANT_MS_MAX])?;
        free
    };
    Ok(IssueAllocation { id, created_at, changed_at, row: None })
}

/// Records the ids, creation times and app numbers that an import has used.
pub(super) fn advance_for_import(
    conn: &Connection,
    domain: DomainId,
    last_issue_id: u64,
    max_created_at: Option<UnixMillis>,
    next_app_number: u64,
) -> Result<(), Fault> {
    let set = "UPDATE domain_clocks SET last_issue_id = max(last_issue_id, ?2),
               last_created_at = max(last_created_at, ?3),
               last_app_number = max(last_app_number, ?4) WHERE domain_id = ?1";
    conn.prepare_cached(set)?.execute(params![
        domain.0,
        last_issue_id as i64,
        max_created_at.unwrap_or_default().0,
        next_app_number as i64 - 1
    ])?;
    Ok(())
}
