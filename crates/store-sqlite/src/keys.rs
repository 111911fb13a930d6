//! API keys, stored under the hash of their text. Revoked and expired keys stay listed; the caller
//! decides with `KeyGrant::works_at` whether a key still works.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::domains;
use crate::Fault;
use caseload_store::admin::already_exists;
use caseload_store::{CreateKey, Key, KeyGrant, StoreError};

const COLUMNS: &str =
    "k.id, k.name, k.write_access, k.created_at, k.last_used_at, k.expires_at, k.revoked_at";

pub(super) fn create(conn: &Connection, command: &CreateKey) -> Result<(), Fault> {
    domains::demand(conn, command.domain)?;
    let taken = conn
        .prepare_cached("SELECT 1 FROM keys WHERE (domain_id = ?1 AND id = ?2) OR hash = ?3")?
        .exists(params![command.domain.0, command.id, command.hash])?;
    if taken {
        return Err(already_exists("key", &command.id).into());
    }
    conn.prepare_cached(
        "INSERT INTO keys (domain_id, id, hash, name, write_access, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        command.domain.0,
        command.id,
        command.hash,
        command.name,
        command.access == Access::Write,
        command.now.0,
        command.expires_at.map(|at| at.0),
    ])?;
    Ok(())
}

pub(super) fn of_domain(conn: &Connection, domain: DomainId) -> Result<Vec<Key>, Fault> {
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM keys k WHERE domain_id = ?1 ORDER BY created_at, id"
    ))?;
    let keys = statement.query_map([domain.0], key)?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// Returns false if the domain has no such key. A second revocation does not change the time.
pub(super) fn revoke(
    conn: &Connection,
    domain: DomainId,
    id: &str,
    at: UnixMillis,
) -> Result<bool, Fault> {
    let changed = conn
        .prepare_cached(
            "UPDATE keys SET revoked_at = coalesce(revoked_at, ?3)
             WHERE domain_id = ?1 AND id = ?2",
        )?
        .execute(params![domain.0, id, at.0])?;
    Ok(changed > 0)
}

pub(super) fn by_hash(conn: &Connection, hash: [u8; 32]) -> Result<Option<KeyGrant>, Fault> {
    let found = conn
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, d.id, d.name FROM keys k JOIN domains d ON d.id = k.domain_id
             WHERE k.hash = ?1"
        ))?
        .query_row([hash], |row| Ok((key(row)?, row.get(7)?, row.get::<_, String>(8)?)))
        .optional()?;
    let Some((key, domain, name)) = found else { return Ok(None) };
    let domain_name = DomainName::parse(&name).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Ok(Some(KeyGrant { domain: DomainId(domain), domain_name, key }))
}

pub(super) fn touch(
    conn: &Connection,
    domain: DomainId,
    id: &str,
    at: UnixMillis,
) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE keys SET last_used_at = max(coalesce(last_used_at, ?3), ?3)
         WHERE domain_id = ?1 AND id = ?2",
    )?
    .execute(params![domain.0, id, at.0])?;
    Ok(())
}

fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
    let access = if row.get(2)? { Access::Write } else { Access::Read };
    let time = |column| row.get::<_, Option<i64>>(column).map(|at| at.map(UnixMillis));
    Ok(Key {
        id: row.get(0)?,
        name: row.get(1)?,
        access,
        created_at: UnixMillis(row.get(3)?),
        last_used_at: time(4)?,
        expires_at: time(5)?,
        revoked_at: time(6)?,
    })
}
