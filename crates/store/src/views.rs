//! Named views. The row of a view has the key that it belongs to, or an empty text if it belongs to
//! the domain. Commands that give a name take turns in a domain, so that limits and names hold for
//! commands at once. A key's views go with its revocation and move with its rotation; those of a
//! key that has expired are invisible, and the next new view of the domain sweeps them.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::ParameterFault;
use caseload_model::named_view::{
    DOMAIN_VIEWS_MAX, KEY_VIEWS_MAX, NewView, ViewEdit, ViewList, ViewScope,
};
use caseload_model::time::UnixMillis;

use crate::idempotency::CommandStore;
use crate::sql::Row;
use crate::{CreateView, NamedView, OfView, StoreError, values};

/// In place of the key of a view that belongs to the domain.
const NO_KEY: &str = "";
/// The columns that [`read`] reads.
const COLUMNS: &str = "id, key_id, list, name, query, created_at, updated_at";

/// Makes a view.
pub fn create_view(
    store: &impl CommandStore,
    command: &CreateView,
) -> Result<NamedView, StoreError> {
    let CreateView { of: OfView { domain, key_id, id, now }, view } = command;
    take_turn(store)?;
    lock_key(store, key_id, *now)?;
    sweep(store, *now)?;
    let NewView { name, list, query, scope } = view;
    let owner = owner(*scope, key_id);
    let mut faults = Vec::from_iter(taken_name(store, owner, (*list, name), id)?);
    faults.extend(too_many(store, owner, *scope)?);
    if !faults.is_empty() {
        return Err(StoreError::Refused(faults));
    }
    let added = store.change(
        "INSERT INTO views (domain_id, id, key_id, list, name, query, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT DO NOTHING",
        values![domain, id, owner, list.code(), name, query, now],
    )?;
    if added == 0 {
        return Err(StoreError::exists("view", id));
    }
    Ok(NamedView {
        id: id.clone(),
        name: name.clone(),
        list: *list,
        query: query.clone(),
        scope: *scope,
        created_at: *now,
        updated_at: *now,
    })
}

/// The views of the domain and those of the key, by name.
pub fn views(store: &impl CommandStore, key_id: &str) -> Result<Vec<NamedView>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS} FROM views WHERE domain_id = ?1 AND key_id = ANY (?2)
         ORDER BY name, list, key_id"
    );
    store.list(&select, values![store.domain(), vec![NO_KEY, key_id]], read)
}

/// The view of an id, if the key sees it.
pub fn view(
    store: &impl CommandStore,
    key_id: &str,
    id: &str,
) -> Result<Option<NamedView>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS} FROM views WHERE domain_id = ?1 AND key_id = ANY (?2) AND id = ?3"
    );
    store.find(&select, values![store.domain(), vec![NO_KEY, key_id], id], read)
}

pub fn edit_view(
    store: &impl CommandStore,
    of: &OfView,
    edit: &ViewEdit,
) -> Result<NamedView, StoreError> {
    let OfView { domain, key_id, id, now } = of;
    take_turn(store)?;
    store.require_caller(Some(key_id), *now)?;
    let before = view(store, key_id, id)?.ok_or_else(|| missing(id))?;
    let ViewEdit { name, query } = edit.clone();
    let after = NamedView {
        name: name.unwrap_or_else(|| before.name.clone()),
        query: query.unwrap_or_else(|| before.query.clone()),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    let owner = owner(after.scope, key_id);
    if let Some(fault) = taken_name(store, owner, (after.list, &after.name), id)? {
        return Err(StoreError::Refused(vec![fault]));
    }
    let update = "UPDATE views SET name = ?3, query = ?4, updated_at = ?5
                  WHERE domain_id = ?1 AND id = ?2";
    if store.change(update, values![domain, id, after.name, after.query, now])? == 0 {
        return Err(missing(id));
    }
    Ok(NamedView { updated_at: *now, ..after })
}

pub fn delete_view(store: &impl CommandStore, of: &OfView) -> Result<(), StoreError> {
    let OfView { domain, key_id, id, now } = of;
    store.require_caller(Some(key_id), *now)?;
    let delete = "DELETE FROM views WHERE domain_id = ?1 AND id = ?2 AND key_id = ANY (?3)";
    let deleted = store.change(delete, values![domain, id, vec![NO_KEY, key_id]])?;
    if deleted == 0 { Err(missing(id)) } else { Ok(()) }
}

/// Removes the views of a key that was revoked.
pub(crate) fn delete_of_key(store: &impl CommandStore, key_id: &str) -> Result<(), StoreError> {
    let delete = "DELETE FROM views WHERE domain_id = ?1 AND key_id = ?2";
    store.change(delete, values![store.domain(), key_id]).map(drop)
}

/// Gives the views of a key to the key that replaces it.
pub(crate) fn move_to_key(
    store: &impl CommandStore,
    old: &str,
    new: &str,
) -> Result<(), StoreError> {
    let update = "UPDATE views SET key_id = ?3 WHERE domain_id = ?1 AND key_id = ?2";
    store.change(update, values![store.domain(), old, new]).map(drop)
}

/// Waits until no other transaction gives a name to a view of the domain.
fn take_turn(store: &impl CommandStore) -> Result<(), StoreError> {
    let turn = "UPDATE domains SET name = name WHERE id = ?1";
    let found = store.change(turn, values![store.domain()])?;
    if found == 0 { Err(StoreError::unknown_domain()) } else { Ok(()) }
}

/// Locks the key: a revocation waits for the new view, and then removes it.
fn lock_key(store: &impl CommandStore, id: &str, now: UnixMillis) -> Result<(), StoreError> {
    let lock = "UPDATE keys SET name = name WHERE domain_id = ?1 AND id = ?2
                AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)";
    let found = store.change(lock, values![store.domain(), id, now])?;
    if found == 0 { Err(StoreError::KeyEnded) } else { Ok(()) }
}

/// Removes the views of keys that have expired. Such a key never works again.
fn sweep(store: &impl CommandStore, now: UnixMillis) -> Result<(), StoreError> {
    let domain = store.domain();
    let expired = "SELECT id FROM keys WHERE domain_id = ?1 AND expires_at <= ?2";
    let expired: Vec<String> = store.list(expired, values![domain, now], |row| row.get(0))?;
    if expired.is_empty() {
        return Ok(());
    }
    let expired: Vec<&str> = expired.iter().map(String::as_str).collect();
    let delete = "DELETE FROM views WHERE domain_id = ?1 AND key_id = ANY (?2)";
    store.change(delete, values![domain, expired]).map(drop)
}

const fn owner(scope: ViewScope, key_id: &str) -> &str {
    match scope {
        ViewScope::Domain => NO_KEY,
        ViewScope::Key => key_id,
    }
}

/// The fault of a name that another view of the list and the owner has.
fn taken_name(
    store: &impl CommandStore,
    owner: &str,
    (list, name): (ViewList, &str),
    id: &str,
) -> Result<Option<ParameterFault>, StoreError> {
    let select = "SELECT 1 FROM views WHERE domain_id = ?1 AND key_id = ?2 AND list = ?3
                  AND name = ?4 AND id <> ?5";
    let (domain, code) = (store.domain(), list.code());
    let found = store.find(select, values![domain, owner, code, name, id], |_| Ok(()))?;
    Ok(found.map(|()| ParameterFault {
        parameter: "name".to_owned(),
        code: ErrorCode::NameTaken,
        detail: format!("a view of {} has the name {name:?}; send another one", list.as_str()),
    }))
}

/// The fault of an owner that has as many views as it may.
fn too_many(
    store: &impl CommandStore,
    owner: &str,
    scope: ViewScope,
) -> Result<Option<ParameterFault>, StoreError> {
    let count = "SELECT count(*) FROM views WHERE domain_id = ?1 AND key_id = ?2";
    let count: Option<u64> = store.find(count, values![store.domain(), owner], |row| row.get(0))?;
    let (most, owner) = match scope {
        ViewScope::Domain => (DOMAIN_VIEWS_MAX, "domain"),
        ViewScope::Key => (KEY_VIEWS_MAX, "key"),
    };
    Ok((count.unwrap_or_default() >= most).then(|| ParameterFault {
        parameter: "scope".to_owned(),
        code: ErrorCode::LimitReached,
        detail: format!("the {owner} has {most} views, as many as it may have; delete one first"),
    }))
}

fn missing(id: &str) -> StoreError {
    StoreError::NotFound { what: format!("the view {id}") }
}

/// A view, from a row of [`COLUMNS`].
fn read(row: &dyn Row) -> Result<NamedView, StoreError> {
    let (key_id, list): (&[u8], u64) = (row.get(1)?, row.get(2)?);
    let unknown = || StoreError::Corrupt(format!("{list} is not a list of the console"));
    let scope = if key_id.is_empty() { ViewScope::Domain } else { ViewScope::Key };
    Ok(NamedView {
        id: row.get(0)?,
        name: row.get(3)?,
        list: ViewList::from_code(list).ok_or_else(unknown)?,
        query: row.get(4)?,
        scope,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}
