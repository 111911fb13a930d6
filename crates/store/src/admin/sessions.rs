//! Sessions of the console, and the codes that begin one. A session opens the domain of its key,
//! and ends with it. The store has the hash of its text, not the text. Like the keys, sessions are
//! looked up before their domain is known.

use caseload_model::time::UnixMillis;

use super::keys::key;
use crate::checksum::{KEYS, SESSIONS, sealed};
use crate::idempotency::CommandStore;
use crate::sql::Query;
use crate::{CreateSession, KeyGrant, SessionKind, StoreError, values};

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
    let expired = "DELETE FROM sessions WHERE domain_id = ?1 AND expires_at <= ?2";
    store.change(expired, values![domain, now])?;
    let added = store.change(
        &format!(
            "INSERT INTO sessions ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            SESSIONS.select()
        ),
        &sealed(values![domain, hash, key_id, number(*kind), expires_at]),
    )?;
    if added == 0 { Err(StoreError::exists("session", key_id)) } else { Ok(()) }
}

pub fn key_by_session(hash: [u8; 32], kind: SessionKind) -> Query<KeyGrant> {
    let select = format!(
        "SELECT {}, {}, d.name, d.rate_limit FROM sessions s
         JOIN keys k ON k.domain_id = s.domain_id AND k.id = s.key_id
         JOIN domains d ON d.id = k.domain_id WHERE s.hash = ?1 AND s.kind = ?2",
        KEYS.select_of("k"),
        SESSIONS.select_of("s")
    );
    Query::new(select, [hash.into(), number(kind).into()], |row| {
        let first = KEYS.width();
        SESSIONS.require_at(row, first)?;
        let ends: UnixMillis = row.get(first + 4)?;
        let mut key = key(row)?;
        key.expires_at = Some(key.expires_at.map_or(ends, |own| own.min(ends)));
        let next = first + SESSIONS.width();
        let (domain_name, domain_rate_limit) = (row.get(next)?, row.get(next + 1)?);
        Ok(KeyGrant { domain: row.get(0)?, domain_name, domain_rate_limit, key })
    })
}

pub fn end_session(store: &impl CommandStore, hash: [u8; 32]) -> Result<bool, StoreError> {
    let end = "DELETE FROM sessions WHERE domain_id = ?1 AND hash = ?2";
    Ok(store.change(end, values![store.domain(), hash])? > 0)
}
