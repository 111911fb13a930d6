//! Answers kept under the idempotency keys of callers. Invariant: a kept answer and the effect it
//! tells of commit together, so that a repeat after a crash finds both or neither. A key that has
//! expired is as good as absent, whether or not it was removed yet.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Fault;
use caseload_store::{IdempotencyKey, StoreError, StoredAnswer};

/// The first answer, where the request is a repeat; a fault where the key stands for another one.
pub(super) fn repeated(
    conn: &Connection,
    domain: DomainId,
    key: &IdempotencyKey,
    now: UnixMillis,
) -> Result<Option<StoredAnswer>, Fault> {
    match stored_answer(conn, domain, &key.text, now)? {
        Some((content, answer)) if content == key.content => Ok(Some(answer)),
        Some(_) => Err(StoreError::IdempotencyKeyReused.into()),
        None => Ok(None),
    }
}

/// Keeps the first answer; called in the transaction of the effect, after [`repeated`].
pub(super) fn keep(
    conn: &Connection,
    domain: DomainId,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO idempotency_keys
         (domain_id, key, content, location, answer, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        domain.0,
        key.text,
        key.content,
        answer.location,
        answer.body,
        key.expires_at.0
    ])?;
    Ok(())
}

/// Removes at most `rows` expired keys; how many there were.
pub(super) fn purge(conn: &Connection, now: UnixMillis, rows: u32) -> Result<usize, Fault> {
    Ok(conn
        .prepare_cached(
            "DELETE FROM idempotency_keys WHERE (domain_id, key) IN
             (SELECT domain_id, key FROM idempotency_keys WHERE expires_at <= ?1 LIMIT ?2)",
        )?
        .execute(params![now.0, rows])?)
}

/// The answer kept under a key, with the hash of what was asked for.
pub(super) fn stored_answer(
    conn: &Connection,
    domain: DomainId,
    text: &str,
    now: UnixMillis,
) -> Result<Option<([u8; 32], StoredAnswer)>, Fault> {
    Ok(conn
        .prepare_cached(
            "SELECT content, location, answer FROM idempotency_keys
             WHERE domain_id = ?1 AND key = ?2 AND expires_at > ?3",
        )?
        .query_row(params![domain.0, text, now.0], |row| {
            Ok((row.get(0)?, StoredAnswer { location: row.get(1)?, body: row.get(2)? }))
        })
        .optional()?)
}
