//! Domains. The first transaction of a removal deletes the domain's name, keys, apps and agents, so
//! that no caller can reach it. Its records follow in bounded steps, so that other domains are not
//! blocked; then their remains in the file and in its log are cleared. If a crash interrupts a
//! removal, the next server or the next removal finishes it. Invariants: no table is missed,
//! because the schema itself names the tables: all that have a `domain_id`; a removal ends only
//! when the file has none of the domain's texts.

use caseload_model::ids::DomainId;
use rusqlite::Connection;

use super::engine::{Engine, Weight, WriteContext, empty_log};
use super::leftovers::{SecureDelete, WRITTEN_PAGES, clear_pages, find, has_page_table, rewrite};
use crate::Fault;
use crate::tx::DomainTx;
use caseload_store::admin::{ENTRY_TABLES, removal_step};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::idempotency::CommandStore as _;

/// The first step of a removal. Afterwards no caller can reach the domain.
pub(super) fn begin_removal(conn: &Connection, domain: DomainId) -> Result<(), Fault> {
    DomainTx { conn, domain }.require_domain()?;
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
        let step = |conn: &Connection, _: &WriteContext<'_>| removal_step_of_any(conn);
        if let Some(emptied) = engine.write_in(NO_DOMAIN, Weight::Long, step).await? {
            break emptied;
        }
    };
    if emptied.is_empty() {
        return Ok(());
    }
    clear(engine).await?;
    engine.write(move |conn, _| forget_removals(conn, &emptied)).await
}

/// Clears the remains of deleted rows in the file and in its log.
pub(super) async fn clear(engine: &Engine) -> Result<(), Fault> {
    clear_remains(engine).await?;
    engine.empty_log().await
}

/// Clears the remains of deleted rows in the file.
async fn clear_remains(engine: &Engine) -> Result<(), Fault> {
    if !engine.read(has_page_table).await? {
        return engine.rewrite().await;
    }
    let mut next = Some(1);
    while let Some(from) = next {
        let found = engine.read(move |conn| find(conn, from)).await?;
        for pages in found.pages.chunks(WRITTEN_PAGES).map(<[u32]>::to_vec) {
            let clear = move |conn: &Connection, _: &WriteContext<'_>| clear_pages(conn, &pages);
            engine.write_in(NO_DOMAIN, Weight::Long, clear).await?;
        }
        next = found.next;
    }
    Ok(())
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
    let mut next = has_page_table(conn)?.then_some(1);
    if next.is_none() {
        rewrite(conn)?;
    }
    while let Some(from) = next {
        let tx = in_transaction()?;
        let found = find(conn, from)?;
        clear_pages(conn, &found.pages)?;
        next = found.next;
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
    for table in domain_tables(conn)? {
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

/// Selects the names of all tables with records of domains.
pub(super) const DOMAIN_TABLES: &str =
    "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
     WHERE m.type = 'table' AND c.name = 'domain_id' ORDER BY m.name";

/// Every table with a column `domain_id`.
pub(super) fn domain_tables(conn: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = conn.prepare_cached(DOMAIN_TABLES)?;
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
