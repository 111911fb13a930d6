//! Apps, the sources of issues. A new app gets the domain's next publish id. An imported app has
//! the publish id of its entry, even if another app has the same one.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, params};

use super::domains;
use crate::Fault;
use caseload_store::admin::{already_exists, new_app};
use caseload_store::{App, CreateApp};

pub(super) fn create(conn: &Connection, command: &CreateApp) -> Result<App, Fault> {
    domains::demand(conn, command.domain)?;
    let taken = conn
        .prepare_cached("SELECT 1 FROM apps WHERE domain_id = ?1 AND id = ?2")?
        .exists(params![command.domain.0, command.id])?;
    if taken {
        return Err(already_exists("app", &command.id).into());
    }
    let publish_id = next_publish_id(conn, command.domain)?;
    conn.prepare_cached(
        "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        command.domain.0,
        command.id,
        publish_id,
        command.title,
        command.now.0
    ])?;
    Ok(new_app(command, publish_id))
}

/// The next number that no app of the domain has, including imported apps.
fn next_publish_id(conn: &Connection, domain: DomainId) -> Result<String, Fault> {
    loop {
        let number: i64 = conn
            .prepare_cached(
                "UPDATE domain_clocks SET last_app_number = last_app_number + 1
                 WHERE domain_id = ?1 RETURNING last_app_number",
            )?
            .query_row([domain.0], |row| row.get(0))?;
        let publish_id = number.to_string();
        let taken = conn
            .prepare_cached("SELECT 1 FROM apps WHERE domain_id = ?1 AND publish_id = ?2")?
            .exists(params![domain.0, publish_id])?;
        if !taken {
            return Ok(publish_id);
        }
    }
}

pub(super) fn of_domain(conn: &Connection, domain: DomainId) -> Result<Vec<App>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, publish_id, title, created_at FROM apps WHERE domain_id = ?1
         ORDER BY created_at, id",
    )?;
    let apps = statement.query_map([domain.0], |row| {
        Ok(App {
            id: row.get(0)?,
            publish_id: row.get(1)?,
            title: row.get(2)?,
            created_at: UnixMillis(row.get(3)?),
        })
    })?;
    Ok(apps.collect::<Result<_, _>>()?)
}
