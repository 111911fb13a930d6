//! Sessions of the console, and the codes that begin one. A session opens the domain of its key,
//! and ends with it. The store has the hash of its text, not the text. Like the keys, sessions are
//! looked up before their domain is known. A key has at most [`SESSIONS_MAX`] of them: another one
//! ends the oldest.

use caseload_model::time::UnixMillis;

use super::keys::{COLUMNS, COLUMNS_COUNT, key};
use crate::idempotency::CommandStore;
use crate::sql::Query;
use crate::{CreateSession, KeyGrant, SessionKind, StoreError, values};

/// The most sessions of a key.
const SESSIONS_MAX: u32 = 20;

const fn number(kind: SessionKind) -> u32 {
    match kind {
        SessionKind::Code => 0,
        SessionKind::Session => 1,
    }
}

pub fn create_session(
    store: &impl CommandStore,
    command: &CreateSession,
) -> Result<(), StoreError> {
    store.require_domain()?;
    let CreateSession { domain, hash, key_id, kind, now, expires_at } = command;
    // Two sign-ins of one key take turns, so that neither overlooks the session of the other.
    let lock = "UPDATE keys SET name = name WHERE domain_id = ?1 AND id = ?2";
    store.change(lock, values![domain, key_id])?;
    let ended = format!(
        "DELETE FROM sessions WHERE domain_id = ?1 AND (expires_at <= ?2
         OR key_id = ?3 AND kind = ?4 AND (expires_at, hash) <=
             (SELECT expires_at, hash FROM sessions
              WHERE domain_id = ?1 AND key_id = ?3 AND kind = ?4
              ORDER BY expires_at DESC, hash DESC LIMIT 1 OFFSET {}))",
        SESSIONS_MAX - 1
    );
    store.change(&ended, values![domain, now, key_id, number(*kind)])?;
    let added = store.change(
        "INSERT INTO sessions (domain_id, hash, key_id, kind, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        values![domain, hash, key_id, number(*kind), expires_at],
    )?;
    if added == 0 { Err(StoreError::exists("session", key_id)) } else { Ok(()) }
}

pub fn key_by_session(hash: [u8; 32], kind: SessionKind) -> Query<KeyGrant> {
    let select = format!(
        "SELECT {COLUMNS}, s.expires_at, d.name, d.rate_limit FROM sessions s
         JOIN keys k ON k.domain_id = s.domain_id AND k.id = s.key_id
         JOIN domains d ON d.id = k.domain_id WHERE s.hash = ?1 AND s.kind = ?2"
    );
    Query::new(select, [hash.into(), number(kind).into()], |row| {
        let ends: UnixMillis = row.get(COLUMNS_COUNT)?;
        let mut key = key(row)?;
        key.expires_at = Some(key.expires_at.map_or(ends, |own| own.min(ends)));
        let (domain_name, domain_rate_limit) =
            (row.get(COLUMNS_COUNT + 1)?, row.get(COLUMNS_COUNT + 2)?);
        Ok(KeyGrant { domain: row.get(0)?, domain_name, domain_rate_limit, key })
    })
}

pub fn end_session(store: &impl CommandStore, hash: [u8; 32]) -> Result<bool, StoreError> {
    let end = "DELETE FROM sessions WHERE domain_id = ?1 AND hash = ?2";
    Ok(store.change(end, values![store.domain(), hash])? > 0)
}
