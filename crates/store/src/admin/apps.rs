//! Apps, the sources of issues. A new app gets the domain's next publish id. An imported app has
//! the publish id of its entry, even if another app has the same one.

use caseload_model::change::Resource;
use caseload_model::ids::timed_id;

use super::logged::log_created;
use crate::idempotency::CommandStore;
use crate::{App, CreateApp, CreateDomain, StoreError, values};

/// The publish id of the first app of every domain.
pub(super) const DEFAULT_APP_NUMBER: i64 = 1;

/// Inserts an app.
pub(super) const INSERT: &str = "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5)";

/// The first app of a new domain.
pub(super) fn default_app(command: &CreateDomain) -> App {
    App {
        id: timed_id(&command.name, "app", command.origin.now, command.random),
        publish_id: DEFAULT_APP_NUMBER.to_string(),
        title: "Web".to_owned(),
        created_at: command.origin.now,
    }
}

pub fn create_app(store: &impl CommandStore, command: &CreateApp) -> Result<App, StoreError> {
    store.require_domain()?;
    let CreateApp { domain, id, title, origin } = command;
    let publish_id = next_publish_id(store)?;
    let added = store.change(
        &format!("{INSERT} ON CONFLICT DO NOTHING"),
        values![domain, id, publish_id, title, origin.now],
    )?;
    if added == 0 {
        return Err(StoreError::exists("app", id));
    }
    log_created(store, origin, Resource::App, id)?;
    Ok(App { id: id.clone(), publish_id, title: title.clone(), created_at: origin.now })
}

/// The next number that no app of the domain has, including imported apps.
fn next_publish_id(store: &impl CommandStore) -> Result<String, StoreError> {
    let domain = store.domain();
    loop {
        let next = "UPDATE domain_clocks SET last_app_number = last_app_number + 1
                    WHERE domain_id = ?1 RETURNING last_app_number";
        let next: Option<i64> = store.find(next, values![domain], |row| row.get(0))?;
        let publish_id = next.ok_or_else(StoreError::unknown_domain)?.to_string();
        let taken = "SELECT 1 FROM apps WHERE domain_id = ?1 AND publish_id = ?2 LIMIT 1";
        if store.find(taken, values![domain, publish_id], |_| Ok(()))?.is_none() {
            return Ok(publish_id);
        }
    }
}

/// Oldest first.
pub fn apps(store: &impl CommandStore) -> Result<Vec<App>, StoreError> {
    store.list(
        "SELECT id, publish_id, title, created_at FROM apps WHERE domain_id = ?1
         ORDER BY created_at, id",
        values![store.domain()],
        |row| {
            let (id, publish_id, title) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(App { id, publish_id, title, created_at: row.get(3)? })
        },
    )
}
