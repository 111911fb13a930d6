//! Domains: creating and listing them, the desk that writes in their name, and their quotas.

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;

use super::apps::{self, DEFAULT_APP_NUMBER, default_app};
use super::logged::{batch, log_effects};
use crate::changes::{add_batch, packed};
use crate::idempotency::CommandStore;
use crate::sql::{Row, Sql};
use crate::tasks::{TaskTables, delayed, unfinished};
use crate::{AdminOrigin, CreateDomain, Domain, DomainLimits, DomainUsage, StoreError, values};

/// The columns that [`domain`] reads.
const COLUMNS: &str = "id, name, created_at, desk_name, desk_email, quota_bytes, quota_tasks, \
                       rate_limit, placeholders";

/// Creates a domain with its clock and its default app.
pub fn create_domain(store: &impl Sql, command: &CreateDomain) -> Result<Domain, StoreError> {
    let (CreateDomain { name, origin, .. }, app) = (command, default_app(command));
    let made = store.find(
        "INSERT INTO domains (name, default_app_id, created_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO NOTHING RETURNING id",
        values![name.as_str(), app.id, origin.now],
        |row| row.get(0),
    )?;
    let id: DomainId = made.ok_or_else(|| StoreError::exists("domain", name.as_str()))?;
    let clock = "INSERT INTO domain_clocks (domain_id, last_app_number) VALUES (?1, ?2)";
    store.change(clock, values![id, DEFAULT_APP_NUMBER])?;
    let columns = values![id, app.id, app.publish_id, app.title, app.created_at];
    store.change(apps::INSERT, columns)?;
    let records = [(Resource::Domain, name.as_str()), (Resource::App, &*app.id)];
    let created = records.map(|(of, id)| Effect::new(of, id, ChangeAction::Created));
    add_batch(store, id, &packed(&batch(origin, created.into()))?)?;
    Ok(Domain {
        id,
        name: name.clone(),
        created_at: origin.now,
        desk: Desk::default(),
        limits: DomainLimits::default(),
        placeholders: None,
    })
}

/// All domains by name.
pub fn domains(store: &impl Sql) -> Result<Vec<Domain>, StoreError> {
    store.list(&format!("SELECT {COLUMNS} FROM domains ORDER BY name"), &[], domain)
}

pub fn domain_by_name(store: &impl Sql, name: &DomainName) -> Result<Option<Domain>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM domains WHERE name = ?1");
    store.find(&select, values![name.as_str()], domain)
}

fn domain(row: &dyn Row) -> Result<Domain, StoreError> {
    Ok(Domain {
        id: row.get(0)?,
        name: row.get(1)?,
        created_at: row.get(2)?,
        desk: Desk { name: row.get(3)?, email: row.get(4)? },
        limits: DomainLimits {
            quota_bytes: row.get(5)?,
            quota_tasks: row.get(6)?,
            rate_limit: row.get(7)?,
        },
        placeholders: row.get(8)?,
    })
}

/// Edits the desk, the quotas and the placeholders of the domain. Of two edits at once, the second
/// waits for the first and reads its result.
pub fn edit_domain(
    store: &impl CommandStore,
    origin: &AdminOrigin,
    edit: &impl Fn(&mut Domain),
) -> Result<(), StoreError> {
    let id = store.domain();
    store.change("UPDATE domains SET name = name WHERE id = ?1", values![id])?;
    let select = format!("SELECT {COLUMNS} FROM domains WHERE id = ?1");
    let found = store.find(&select, values![id], domain)?;
    let before = found.ok_or_else(StoreError::unknown_domain)?;
    let mut after = before.clone();
    edit(&mut after);
    let fields = changed_fields(&before, &after);
    if fields.is_empty() {
        return Ok(());
    }
    let Domain { name, desk, limits, placeholders, .. } = after;
    let DomainLimits { quota_bytes, quota_tasks, rate_limit } = limits;
    store.change(
        "UPDATE domains SET desk_name = ?2, desk_email = ?3, quota_bytes = ?4, quota_tasks = ?5,
         rate_limit = ?6, placeholders = ?7 WHERE id = ?1",
        values![id, desk.name, desk.email, quota_bytes, quota_tasks, rate_limit, placeholders],
    )?;
    let updated = Effect::new(Resource::Domain, name.as_str(), ChangeAction::Updated);
    log_effects(store, origin, vec![updated.of_fields(fields.into_iter().map(Into::into))])
}

/// The names of the fields that differ.
fn changed_fields(before: &Domain, after: &Domain) -> Vec<&'static str> {
    let (was, is) = (&before.limits, &after.limits);
    let fields = [
        ("desk_name", before.desk.name != after.desk.name),
        ("desk_email", before.desk.email != after.desk.email),
        ("quota_bytes", was.quota_bytes != is.quota_bytes),
        ("quota_tasks", was.quota_tasks != is.quota_tasks),
        ("rate_limit", was.rate_limit != is.rate_limit),
        ("placeholders", before.placeholders != after.placeholders),
    ];
    fields.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}

/// Adds `?2` to the bytes that the domain `?1` stores; the answer is the new number. The clock of a
/// domain that is being removed is gone.
pub const ADD_BYTES: &str = "UPDATE domain_clocks SET stored_bytes = stored_bytes + ?2
     WHERE domain_id = ?1 RETURNING stored_bytes";

/// How many bytes the domain `?1` may store.
pub const QUOTA_BYTES: &str = "SELECT quota_bytes FROM domains WHERE id = ?1";

/// Adds to the bytes that the domain stores, or takes from them.
pub fn add_bytes(store: &impl CommandStore, more: i64) -> Result<(), StoreError> {
    if more == 0 {
        return Ok(());
    }
    let stored = store.find(ADD_BYTES, values![store.domain(), more], |row| row.get(0))?;
    let quota = store.find(QUOTA_BYTES, values![store.domain()], |row| row.get(0))?;
    require_room(more, stored, quota.flatten())
}

/// [`StoreError::QuotaExceeded`] if a write adds bytes and the domain then stores more than its
/// quota.
pub fn require_room(more: i64, stored: Option<i64>, quota: Option<i64>) -> Result<(), StoreError> {
    match (stored, quota) {
        (Some(bytes), Some(quota)) if more > 0 && bytes > quota => {
            Err(StoreError::QuotaExceeded(format!(
                "it would store {bytes} bytes and may store {quota}, and expired results make room \
                 by themselves"
            )))
        }
        _ => Ok(()),
    }
}

/// The present usage of the domain.
pub fn usage<S: CommandStore + TaskTables>(store: &S) -> Result<DomainUsage, StoreError> {
    let select = "SELECT stored_bytes FROM domain_clocks WHERE domain_id = ?1";
    let bytes: Option<i64> = store.find(select, values![store.domain()], |row| row.get(0))?;
    let bytes = bytes.ok_or_else(StoreError::unknown_domain)?.max(0).unsigned_abs();
    Ok(DomainUsage { bytes, tasks: unfinished(store)?, delayed: delayed(store)? })
}
