//! Lists of tasks, newest first: a page and the exact number of all that match, in the snapshot
//! that the connection is in.

use caseload_model::task::{Action, TaskStatus};
use rusqlite::{Connection, params};

use super::row::{self, COLUMNS, COLUMNS_COUNT, POSITION};
use crate::Fault;
use caseload_store::{ListTasks, TaskPage};

pub(crate) fn list(conn: &Connection, request: &ListTasks) -> Result<TaskPage, Fault> {
    let chosen = [
        one_of("status", request.statuses.as_deref(), |status: TaskStatus| status.code()),
        one_of("action", request.actions.as_deref(), |action: Action| action.code()),
    ]
    .concat();
    let (domain, family) = (request.domain.0, request.family.code());
    let total_hits: i64 = conn
        .prepare_cached(&format!(
            "SELECT count(*) FROM tasks WHERE domain_id = ?1 AND family = ?2{chosen}"
        ))?
        .query_row([domain, family], |row| row.get(0))?;
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS}, {POSITION} FROM tasks
         WHERE domain_id = ?1 AND family = ?2{chosen} ORDER BY seq DESC LIMIT ?3 OFFSET ?4"
    ))?;
    let (limit, offset) = (request.paging.page_size as i64, request.paging.offset() as i64);
    let rows = statement.query_map(params![domain, family, limit, offset], |row| {
        let mut task = row::task(row)?;
        task.position = row.get(COLUMNS_COUNT)?;
        Ok(task)
    })?;
    let tasks = rows.collect::<Result<_, _>>()?;
    Ok(TaskPage { tasks, total_hits: total_hits.unsigned_abs() })
}

/// The condition that a column holds one of the values, each in the number it is stored under.
fn one_of<T: Copy>(column: &str, values: Option<&[T]>, code: impl Fn(T) -> i64) -> String {
    let Some(values) = values else { return String::new() };
    let codes: Vec<_> = values.iter().map(|value| code(*value).to_string()).collect();
    format!(" AND {column} IN ({})", codes.join(", "))
}
