//! API keys, stored under the hash of their text. Revoked and expired keys stay listed; the caller
//! decides with `KeyGrant::works_at` whether a key still works. A key is looked up before its
//! domain is known, so that a distributed database has this small table on every node.

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;

use super::logged::{log_created, log_effects};
use crate::idempotency::CommandStore;
use crate::sql::{Query, Row};
use crate::{AdminOrigin, CreateKey, Key, KeyGrant, RotateKey, StoreError, values, views};

/// The column of a key that administers its domain; of others it is null.
const ADMIN: u32 = 1;

/// The columns of the key `k` that [`key`] reads, and their number: further ones begin there.
pub(super) const COLUMNS: &str = "k.domain_id, k.id, k.name, k.write_access, k.admin_access, \
     k.created_at, k.expires_at, k.last_used_at, k.revoked_at";
pub(super) const COLUMNS_COUNT: usize = 9;

pub fn create_key(store: &impl CommandStore, command: &CreateKey) -> Result<(), StoreError> {
    store.require_domain()?;
    insert(store, command)?;
    log_created(store, &command.origin, Resource::Key, &command.id)
}

fn insert(store: &impl CommandStore, command: &CreateKey) -> Result<(), StoreError> {
    let CreateKey { domain, id, hash, name, access, origin, expires_at } = command;
    let writes = *access >= Access::Write;
    let admin = (*access == Access::Admin).then_some(ADMIN);
    let added = store.change(
        "INSERT INTO keys (domain_id, id, hash, name, write_access, created_at, expires_at,
         admin_access) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        values![domain, id, hash, name, writes, origin.now, expires_at, admin],
    )?;
    if added == 0 { Err(StoreError::exists("key", id)) } else { Ok(()) }
}

pub fn keys(store: &impl CommandStore) -> Result<Vec<Key>, StoreError> {
    let select =
        format!("SELECT {COLUMNS} FROM keys k WHERE k.domain_id = ?1 ORDER BY k.created_at, k.id");
    store.list(&select, values![store.domain()], key)
}

/// Returns false if the domain has no such key. A second revocation changes nothing.
pub fn revoke_key(
    store: &impl CommandStore,
    id: &str,
    origin: &AdminOrigin,
) -> Result<bool, StoreError> {
    let domain = store.domain();
    let revoke = "UPDATE keys SET revoked_at = ?3
                  WHERE domain_id = ?1 AND id = ?2 AND revoked_at IS NULL";
    if store.change(revoke, values![domain, id, origin.now])? > 0 {
        let revoked = Effect::new(Resource::Key, id, ChangeAction::Revoked);
        views::delete_of_key(store, id)?;
        log_effects(store, origin, vec![revoked])?;
        return Ok(true);
    }
    let exists = "SELECT 1 FROM keys WHERE domain_id = ?1 AND id = ?2";
    Ok(store.find(exists, values![domain, id], |_| Ok(()))?.is_some())
}

/// The update decides whether the old key still works: of two replacements at once that revoke it,
/// the second waits for the first and finds no working key.
pub fn rotate_key(store: &impl CommandStore, command: &RotateKey) -> Result<(), StoreError> {
    let RotateKey { domain, id, new_id, new_hash, origin, old_expires_at } = command;
    let now = origin.now;
    let select = format!("SELECT {COLUMNS} FROM keys k WHERE k.domain_id = ?1 AND k.id = ?2");
    let missing = || StoreError::NotFound { what: format!("the key {id}") };
    let old = store.find(&select, values![domain, id], key)?.ok_or_else(missing)?;
    let revoked_at = old_expires_at.is_none().then_some(now);
    let ends = old_expires_at.iter().copied().chain(old.expires_at).min();
    let end = "UPDATE keys SET revoked_at = ?4, expires_at = ?5 WHERE domain_id = ?1 AND id = ?2
               AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)";
    if store.change(end, values![domain, id, now, revoked_at, ends])? == 0 {
        return Err(StoreError::KeyEnded);
    }
    let mut effects = vec![Effect::new(Resource::Key, &**new_id, ChangeAction::Created)];
    if revoked_at.is_some() {
        effects.insert(0, Effect::new(Resource::Key, &**id, ChangeAction::Revoked));
    } else if ends != old.expires_at {
        let updated = Effect::new(Resource::Key, &**id, ChangeAction::Updated);
        effects.insert(0, updated.of_fields(["expires_at".into()]));
    }
    let new = CreateKey {
        domain: *domain,
        id: new_id.clone(),
        hash: *new_hash,
        name: old.name,
        access: old.access,
        origin: origin.clone(),
        expires_at: old.expires_at,
    };
    store.require_domain()?;
    insert(store, &new)?;
    views::move_to_key(store, id, new_id)?;
    log_effects(store, origin, effects)
}

pub fn key_by_hash(hash: [u8; 32]) -> Query<KeyGrant> {
    let select = format!(
        "SELECT {COLUMNS}, d.name, d.rate_limit FROM keys k JOIN domains d ON d.id = k.domain_id
         WHERE k.hash = ?1"
    );
    Query::new(select, [hash.into()], |row| {
        Ok(KeyGrant {
            domain: row.get(0)?,
            domain_name: row.get(COLUMNS_COUNT)?,
            domain_rate_limit: row.get(COLUMNS_COUNT + 1)?,
            key: key(row)?,
        })
    })
}

pub fn touch_key(store: &impl CommandStore, id: &str, at: UnixMillis) -> Result<(), StoreError> {
    let touch = "UPDATE keys SET last_used_at = greatest(coalesce(last_used_at, ?3), ?3)
                 WHERE domain_id = ?1 AND id = ?2";
    store.change(touch, values![store.domain(), id, at]).map(drop)
}

/// A key, from a row that begins with [`COLUMNS`].
pub(super) fn key(row: &dyn Row) -> Result<Key, StoreError> {
    let access = match (row.get(3)?, row.get::<Option<u32>>(4)?) {
        (true, Some(ADMIN)) => Access::Admin,
        (true, _) => Access::Write,
        (false, _) => Access::Read,
    };
    Ok(Key {
        id: row.get(1)?,
        name: row.get(2)?,
        access,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
        last_used_at: row.get(7)?,
        revoked_at: row.get(8)?,
    })
}
