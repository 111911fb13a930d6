//! Removes all tasks from the first state of a test server: they brought its records, and none of
//! them is a task of a test. Stores of other servers never lose a task.

use std::path::Path;

use caseload_model::time::UnixMillis;
use caseload_store::sql::Sql as _;
use caseload_store::tasks::purge_step;
use caseload_store::{StoreError, values};

use crate::engine::{Engine, empty_log};
use crate::tx::Tx;

/// Removes the tasks and the imports of a file that no program has open, with all of their records.
pub fn forget_tasks(path: &Path) -> Result<(), StoreError> {
    let (conn, locks) = Engine::open_alone(path, false)?;
    let tx = Tx(&conn);
    while purge_step(&tx, UnixMillis(i64::MAX))? {}
    let bytes = "UPDATE domain_clocks SET stored_bytes = stored_bytes - coalesce(
                 (SELECT sum(octet_length(file)) FROM imports
                  WHERE imports.domain_id = domain_clocks.domain_id), 0)";
    for change in [bytes, "DELETE FROM imports", "DELETE FROM tasks"] {
        tx.change(change, values![])?;
    }
    empty_log(&conn)?;
    drop(conn);
    locks.release();
    Engine::forget(path);
    Ok(())
}
