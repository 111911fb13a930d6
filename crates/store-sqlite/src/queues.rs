//! Queues of issues. Imports create the queues that they name; this module lists them.

use caseload_model::ids::DomainId;
use caseload_model::issue::IssueQueue;
use rusqlite::Connection;

use crate::Fault;

/// Oldest first.
pub(super) fn of_domain(conn: &Connection, domain: DomainId) -> Result<Vec<IssueQueue>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, name FROM queues WHERE domain_id = ?1 ORDER BY created_at, id",
    )?;
    let queues = statement
        .query_map([domain.0], |row| Ok(IssueQueue { id: row.get(0)?, name: row.get(1)? }))?;
    Ok(queues.collect::<Result<_, _>>()?)
}
