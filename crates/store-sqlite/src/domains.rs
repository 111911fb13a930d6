//! Domains. The first transaction of a removal deletes the domain's name, keys, apps and agents, so
//! that no caller can reach it. Its records follow in bounded steps, so that other domains are not
//! blocked; then their remains in the file and in its log are cleared. If a crash interrupts a
//! removal, the next server or the next removal finishes it. Invariants: no table is missed,
//! because the schema itself names the tables: all that have a `domain_id`; a removal ends only
//! when the file has none of the domain's texts.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::engine::{Engine, Weight, WriteContext, empty_log};
use super::leftovers::{SecureDelete, clear_step};
use super::profiles::by_id::{MOVED, PLACED};
use crate::Fault;
use caseload_store::admin::{
    DEFAULT_APP_NUMBER, ENTRY_TABLES, already_exists, default_app, removal_step, unknown_domain,
};
use caseload_store::{CreateDomain, Domain, StoreError};

/// The table without an index by domain.
const CORE_PROFILES_TABLE: &str = "core_profiles";

pub(super) fn create(conn: &Connection, command: &CreateDomain) -> Result<Domain, Fault> {
    if by_name(conn, &command.name)?.is_some() {
        return Err(already_exists("domain", command.name.as_str()).into());
    }
    let app = default_app(command);
    conn.prepare_cached(
        "INSERT INTO domains (name, default_app_id, created_at) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![command.name.as_str(), app.id, command.now.0])?;
    let id = conn.last_insert_rowid();
    conn.prepare_cached("INSERT INTO domain_clocks (domain_id, last_app_number) VALUES (?1, ?2)")?
        .execute(params![id, DEFAULT_APP_NUMBER])?;
    conn.prepare_cached(
        "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![id, app.id, app.publish_id, app.title, app.created_at.0])?;
    Ok(Domain {
        id: DomainId(id),
        name: command.name.clone(),
        created_at: command.now,
        desk: Desk::default(),
    })
}

pub(super) fn all(conn: &Connection) -> Result<Vec<Domain>, Fault> {
    let mut statement =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM domains ORDER BY name"))?;
    let rows = statement.query_map([], columns)?;
    rows.map(|row| domain(row?)).collect()
}

pub(super) fn by_name(conn: &Connection, name: &DomainName) -> Result<Option<Domain>, Fault> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM domains WHERE name = ?1"))?
        .query_row([name.as_str()], columns)
        .optional()?
        .map(domain)
        .transpose()
}

/// Sets the author of messages and notes that no agent signs.
pub(super) fn set_desk(conn: &Connection, domain: DomainId, desk: &Desk) -> Result<(), Fault> {
    let changed = conn
        .prepare_cached("UPDATE domains SET desk_name = ?2, desk_email = ?3 WHERE id = ?1")?
        .execute(params![domain.0, desk.name, desk.email])?;
    if changed == 0 { Err(unknown_domain().into()) } else { Ok(()) }
}

/// The author of messages and notes that no agent signs.
pub(super) fn desk(conn: &Connection, domain: DomainId) -> Result<Desk, Fault> {
    conn.prepare_cached("SELECT desk_name, desk_email FROM domains WHERE id = ?1")?
        .query_row([domain.0], |row| Ok(Desk { name: row.get(0)?, email: row.get(1)? }))
        .optional()?
        .ok_or_else(|| unknown_domain().into())
}

/// Fails if the domain does not exist.
pub(super) fn demand(conn: &Connection, domain: DomainId) -> Result<(), Fault> {
    if conn.prepare_cached("SELECT 1 FROM domains WHERE id = ?1")?.exists([domain.0])? {
        Ok(())
    } else {
        Err(unknown_domain().into())
    }
}

/// The first step of a removal. Afterwards no caller can reach the domain.
pub(super) fn begin_removal(conn: &Connection, domain: DomainId) -> Result<(), Fault> {
    demand(conn, domain)?;
    let _secure = SecureDelete::begin(conn)?;
    conn.execute("INSERT INTO domain_removals (removed_id) VALUES (?1)", [domain.0])?;
    for table in ENTRY_TABLES {
        conn.execute(&format!("DELETE FROM {table} WHERE domain_id = ?1"), [domain.0])?;
    }
    conn.execute("DELETE FROM domains WHERE id = ?1", [domain.0])?;
    Ok(())
}

/// Ends all removals that have begun.
pub(super) async fn finish_removals(engine: &Engine) -> Result<(), Fault> {
    let emptied = loop {
        let step = engine.write_weighing(Weight::Long, |conn, _| removal_step_of_any(conn)).await?;
        if let Some(emptied) = step {
            break emptied;
        }
    };
    if emptied.is_empty() {
        return Ok(());
    }
    let mut next = Some(1);
    while let Some(from) = next {
        let clear = move |conn: &Connection, _: &WriteContext<'_>| clear_step(conn, from);
        next = engine.write_weighing(Weight::Long, clear).await?;
    }
    engine.empty_log().await?;
    engine.write(move |conn, _| forget_removals(conn, &emptied)).await
}

/// The same on the only connection to the file, which is in no transaction.
pub(super) fn finish_removals_alone(conn: &Connection) -> Result<(), Fault> {
    let in_transaction = || conn.unchecked_transaction();
    let emptied = loop {
        let tx = in_transaction()?;
        let step = removal_step_of_any(conn)?;
        tx.commit()?;
        if let Some(emptied) = step {
            break emptied;
        }
    };
    if emptied.is_empty() {
        return Ok(());
    }
    let mut next = Some(1);
    while let Some(from) = next {
        let tx = in_transaction()?;
        next = clear_step(conn, from)?;
        tx.commit()?;
    }
    if empty_log(conn)? {
        forget_removals(conn, &emptied)?;
    } else {
        tracing::warn!("another program reads the store; the next start ends a domain's removal");
    }
    Ok(())
}

/// The next step of a removal. If no records are left of any removed domain, the ids of these
/// domains.
fn removal_step_of_any(conn: &Connection) -> Result<Option<Vec<i64>>, Fault> {
    let mut statement = conn.prepare_cached("SELECT removed_id FROM domain_removals")?;
    let removed = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    let _secure = if removed.is_empty() { None } else { Some(SecureDelete::begin(conn)?) };
    for domain in &removed {
        if remove_some(conn, *domain)? {
            return Ok(None);
        }
    }
    Ok(Some(removed))
}

/// Deletes some records of a domain; false if none is left.
fn remove_some(conn: &Connection, removed: i64) -> Result<bool, Fault> {
    if remove_core_profiles(conn, removed)? {
        return Ok(true);
    }
    for table in domain_tables(conn)? {
        if table == CORE_PROFILES_TABLE {
            continue;
        }
        let key = primary_key(conn, &table)?;
        let records = removal_step(&table);
        let deleted = conn.execute(
            &format!(
                "DELETE FROM {table} WHERE ({key}) IN
                 (SELECT {key} FROM {table} WHERE domain_id = ?1 LIMIT {records})"
            ),
            [removed],
        )?;
        if deleted > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn forget_removals(conn: &Connection, domains: &[i64]) -> Result<(), Fault> {
    for domain in domains {
        conn.execute("DELETE FROM domain_removals WHERE removed_id = ?1", [domain])?;
    }
    Ok(())
}

/// Deletes some core profiles and the identities that lead to them; false if none is left.
fn remove_core_profiles(conn: &Connection, domain: i64) -> Result<bool, Fault> {
    let identities = conn
        .prepare_cached(
            "SELECT key, core_profile_id FROM identities WHERE domain_id = ?1 LIMIT ?2",
        )?
        .query_map(params![domain, removal_step(CORE_PROFILES_TABLE)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<Vec<(Vec<u8>, i64)>, _>>()?;
    let mut placed = conn.prepare_cached(&format!("DELETE FROM core_profiles WHERE {PLACED}"))?;
    let mut moved = conn.prepare_cached(&format!("DELETE FROM core_profiles WHERE {MOVED}"))?;
    let mut identity =
        conn.prepare_cached("DELETE FROM identities WHERE domain_id = ?1 AND key = ?2")?;
    for (key, id) in &identities {
        if placed.execute([domain, *id])? == 0 {
            moved.execute([domain, *id])?;
        }
        identity.execute(params![domain, key])?;
    }
    Ok(!identities.is_empty())
}

/// Every table with a column `domain_id`.
pub(super) fn domain_tables(conn: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND c.name = 'domain_id' ORDER BY m.name",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

fn primary_key(conn: &Connection, table: &str) -> Result<String, Fault> {
    let mut statement =
        conn.prepare_cached("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
    let names = statement
        .query_map([table], |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    Ok(names.join(", "))
}

const COLUMNS: &str = "id, name, created_at, desk_name, desk_email";

type Columns = (i64, String, i64, Desk);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    let desk = Desk { name: row.get(3)?, email: row.get(4)? };
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, desk))
}

fn domain((id, name, created_at, desk): Columns) -> Result<Domain, Fault> {
    let name = DomainName::parse(&name).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Ok(Domain { id: DomainId(id), name, created_at: UnixMillis(created_at), desk })
}
