//! Domains: creating and listing them, the desk that writes in their name, and their quotas.
//! The row of a domain is small and seldom written, so that each write writes all of it.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;

use super::apps::{DEFAULT_APP_NUMBER, default_app};
use crate::checksum::{self, APPS, DOMAINS, sealed, set_clock};
use crate::idempotency::CommandStore;
use crate::sql::{Row, Sql};
use crate::tasks::{TaskTables, delayed, unfinished};
use crate::{CreateDomain, Domain, DomainLimits, DomainUsage, StoreError, values};

/// Creates a domain with its clock and its default app.
pub fn create_domain(store: &impl Sql, command: &CreateDomain) -> Result<Domain, StoreError> {
    let (CreateDomain { name, now, .. }, app) = (command, default_app(command));
    // The checksum covers the id, which this statement returns: `save` writes it.
    let made = store.find(
        "INSERT INTO domains (name, default_app_id, created_at, checksum) VALUES (?1, ?2, ?3, 0)
         ON CONFLICT DO NOTHING RETURNING id",
        values![name.as_str(), app.id, now],
        |row| row.get(0),
    )?;
    let id: DomainId = made.ok_or_else(|| StoreError::exists("domain", name.as_str()))?;
    let clock =
        "INSERT INTO domain_clocks (domain_id, last_app_number, checksum) VALUES (?1, ?2, ?3)";
    store.change(clock, values![id, DEFAULT_APP_NUMBER, id.0 + DEFAULT_APP_NUMBER])?;
    store.change(
        &format!("INSERT INTO apps ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", APPS.select()),
        &sealed(values![id, app.id, app.publish_id, app.title, app.created_at]),
    )?;
    let (name, created_at) = (name.clone(), *now);
    let domain =
        Domain { id, name, created_at, desk: Desk::default(), limits: DomainLimits::default() };
    save(store, &domain, &app.id)?;
    Ok(domain)
}

/// All domains by name.
pub fn domains(store: &impl Sql) -> Result<Vec<Domain>, StoreError> {
    let select = format!("SELECT {} FROM domains ORDER BY name", DOMAINS.select());
    store.list(&select, &[], |row| Ok(domain(row)?.0))
}

pub fn domain_by_name(store: &impl Sql, name: &DomainName) -> Result<Option<Domain>, StoreError> {
    let select = format!("SELECT {} FROM domains WHERE name = ?1", DOMAINS.select());
    store.find(&select, values![name.as_str()], |row| Ok(domain(row)?.0))
}

/// A domain and the id of its default app, from a row of [`DOMAINS`].
fn domain(row: &dyn Row) -> Result<(Domain, String), StoreError> {
    DOMAINS.require(row)?;
    let domain = Domain {
        id: row.get(0)?,
        name: row.get(1)?,
        created_at: row.get(3)?,
        desk: Desk { name: row.get(4)?, email: row.get(5)? },
        limits: DomainLimits {
            quota_bytes: row.get(6)?,
            quota_tasks: row.get(7)?,
            rate_limit: row.get(8)?,
        },
    };
    Ok((domain, row.get(2)?))
}

/// Sets the author of messages and notes that no agent signs.
pub fn set_desk(store: &impl CommandStore, desk: &Desk) -> Result<(), StoreError> {
    change(store, |domain| domain.desk = desk.clone())
}

/// Sets the quotas of the domain.
pub fn set_limits(store: &impl CommandStore, limits: DomainLimits) -> Result<(), StoreError> {
    change(store, |domain| domain.limits = limits)
}

fn change(store: &impl CommandStore, change: impl FnOnce(&mut Domain)) -> Result<(), StoreError> {
    store.require_domain()?;
    let select = format!("SELECT {} FROM domains WHERE id = ?1", DOMAINS.select());
    let found = store.find(&select, values![store.domain()], domain)?;
    let (mut domain, default_app) = found.ok_or_else(StoreError::unknown_domain)?;
    change(&mut domain);
    save(store, &domain, &default_app)
}

fn save(store: &impl Sql, domain: &Domain, default_app: &str) -> Result<(), StoreError> {
    let Domain { id, name, created_at, desk, limits } = domain;
    let DomainLimits { quota_bytes, quota_tasks, rate_limit } = limits;
    let name = name.as_str();
    let row = values![
        id,
        name,
        default_app,
        created_at,
        desk.name,
        desk.email,
        quota_bytes,
        quota_tasks,
        rate_limit,
    ];
    store.change(
        "UPDATE domains SET desk_name = ?2, desk_email = ?3, quota_bytes = ?4, quota_tasks = ?5,
         rate_limit = ?6, checksum = ?7 WHERE id = ?1",
        values![id, desk.name, desk.email, quota_bytes, quota_tasks, rate_limit, checksum::of(row)],
    )?;
    Ok(())
}

/// Adds `?2` to the bytes that the domain `?1` stores; the answer is the new number. The clock of a
/// domain that is being removed is gone.
pub fn add_bytes_statement() -> String {
    let set = set_clock(&[("stored_bytes", "stored_bytes + ?2")]);
    format!("{set} WHERE domain_id = ?1 RETURNING stored_bytes")
}

/// How many bytes the domain `?1` may store.
pub const QUOTA_BYTES: &str = "SELECT quota_bytes FROM domains WHERE id = ?1";

/// Adds to the bytes that the domain stores, or takes from them.
pub fn add_bytes(store: &impl CommandStore, more: i64) -> Result<(), StoreError> {
    if more == 0 {
        return Ok(());
    }
    let stored =
        store.find(&add_bytes_statement(), values![store.domain(), more], |row| row.get(0));
    let stored = stored?;
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
