//! Removing what has expired, in steps so small that no writer waits for one: some blocks of a
//! completed task or of an upload that nobody goes on with, or some idempotency keys. The rows of
//! tasks stay. Blocks go some time after
//! their task's `expires_at`, so that a download that began before it is not cut short; from
//! `expires_at` on nobody begins one.

use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::idempotency;
use super::stage;
use crate::Fault;
use caseload_store::failpoint::{self, Failpoint};

/// Milliseconds that a download may go on after its records have expired.
const GRACE_MS: i64 = 3_600_000;
/// Blocks, each of about a megabyte before compression, that one step removes of payload and of
/// records: a few milliseconds.
const STEP_BLOCKS: u32 = 1;
/// Idempotency keys that one step removes.
const STEP_KEYS: u32 = 200;

/// One step; false where nothing was left to do.
pub(crate) fn purge(conn: &Connection, now: UnixMillis) -> Result<bool, Fault> {
    let expired: Option<(i64, i64, String)> = conn
        .prepare_cached(
            "SELECT seq, domain_id, id FROM tasks
             WHERE status = 4 AND purge < 2 AND expires_at <= ?1 ORDER BY expires_at LIMIT 1",
        )?
        .query_row([now.0.saturating_sub(GRACE_MS)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((seq, domain, id)) = expired else {
        if stage::purge(conn, now)? {
            return Ok(true);
        }
        return Ok(idempotency::purge(conn, now, STEP_KEYS)? > 0);
    };
    let mut removed = 0;
    for table in ["record_blocks", "payload_blocks"] {
        removed += conn
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE seq IN
                 (SELECT seq FROM {table} WHERE domain_id = ?1 AND task_id = ?2 LIMIT ?3)"
            ))?
            .execute(params![domain, id, STEP_BLOCKS])?;
    }
    let state = if removed > 0 { 1 } else { 2 };
    conn.prepare_cached("UPDATE tasks SET purge = ?2 WHERE seq = ?1")?.execute([seq, state])?;
    failpoint::reached(Failpoint::PurgeBeforeCommit);
    Ok(true)
}
