//! API keys, stored under the hash of their text. Revoked and expired keys stay listed; the caller
//! decides with `KeyGrant::works_at` whether a key still works. A key is looked up before its
//! domain is known, so that a distributed database has this small table on every node.

use caseload_model::key::Access;
use caseload_model::time::UnixMillis;

use crate::idempotency::CommandStore;
use crate::sql::{Query, Row};
use crate::{CreateKey, Key, KeyGrant, StoreError, values};

const COLUMNS: &str =
    "k.id, k.name, k.write_access, k.created_at, k.last_used_at, k.expires_at, k.revoked_at";
/// How many there are: further columns of a query begin here.
const COLUMNS_COUNT: usize = 7;

pub fn create_key(store: &impl CommandStore, command: &CreateKey) -> Result<(), StoreError> {
    store.require_domain()?;
    let CreateKey { domain, id, hash, name, access, now, expires_at } = command;
    let writes = *access == Access::Write;
    let added = store.change(
        "INSERT INTO keys (domain_id, id, hash, name, write_access, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        values![domain, id, hash, name, writes, now, expires_at],
    )?;
    if added == 0 { Err(StoreError::exists("key", id)) } else { Ok(()) }
}

pub fn keys(store: &impl CommandStore) -> Result<Vec<Key>, StoreError> {
    let select =
        format!("SELECT {COLUMNS} FROM keys k WHERE k.domain_id = ?1 ORDER BY created_at, id");
    store.list(&select, values![store.domain()], key)
}

/// Returns false if the domain has no such key. A second revocation does not change the time.
pub fn revoke_key(store: &impl CommandStore, id: &str, at: UnixMillis) -> Result<bool, StoreError> {
    let revoke = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?3)
                  WHERE domain_id = ?1 AND id = ?2";
    Ok(store.change(revoke, values![store.domain(), id, at])? > 0)
}

pub fn key_by_hash(hash: [u8; 32]) -> Query<KeyGrant> {
    let select = format!(
        "SELECT {COLUMNS}, d.id, d.name FROM keys k JOIN domains d ON d.id = k.domain_id
         WHERE k.hash = ?1"
    );
    Query::new(select, [hash.into()], |row| {
        let (domain, domain_name) = (row.get(COLUMNS_COUNT)?, row.get(COLUMNS_COUNT + 1)?);
        Ok(KeyGrant { domain, domain_name, key: key(row)? })
    })
}

pub fn touch_key(store: &impl CommandStore, id: &str, at: UnixMillis) -> Result<(), StoreError> {
    let touch = "UPDATE keys SET last_used_at = greatest(coalesce(last_used_at, ?3), ?3)
                 WHERE domain_id = ?1 AND id = ?2";
    store.change(touch, values![store.domain(), id, at]).map(drop)
}

fn key(row: &dyn Row) -> Result<Key, StoreError> {
    Ok(Key {
        id: row.get(0)?,
        name: row.get(1)?,
        access: if row.get(2)? { Access::Write } else { Access::Read },
        created_at: row.get(3)?,
        last_used_at: row.get(4)?,
        expires_at: row.get(5)?,
        revoked_at: row.get(6)?,
    })
}
