//! Compares the queue with the tasks: the queue is a table of its own.

use caseload_store::check::Findings;
use caseload_store::sql::Sql as _;
use caseload_store::{StoreError, values};

use super::Stored;
use crate::domains::ids_and_names;

/// Unfinished tasks and rows of the queue: the task's id, whether each of both exists, and whether
/// they agree.
const PLACES: &str = "SELECT coalesce(t.id, q.task_id), t.id IS NOT NULL, q.task_id IS NOT NULL,
     t.seq = q.seq AND t.writes = q.writes AND (q.lease_server IS NULL OR t.status = 3)
     FROM (SELECT * FROM tasks WHERE domain_id = ?1 AND status < 4) t
     FULL JOIN (SELECT * FROM task_queue WHERE domain_id = ?1) q ON q.task_id = t.id";

/// The queue contains exactly the unfinished tasks, and each row agrees with its task.
pub(super) fn queue(store: &Stored<'_>, findings: &mut Findings) -> Result<(), StoreError> {
    let mut found = 0;
    for (domain, name) in store.0.wait(ids_and_names(store.0.client()))? {
        store.each(PLACES, values![domain], &mut |row| {
            found += 1;
            let id: String = row.get(0)?;
            let rule = match (row.get(1)?, row.get(2)?) {
                (true, false) => "it is unfinished but not in the queue",
                (false, _) => "it is in the queue but completed",
                (true, true) if !row.get::<bool>(3)? => "its row in the queue disagrees with it",
                _ => return Ok(()),
            };
            findings.fault(format!("domain {name}, task {id}: {rule}"));
            Ok(())
        })?;
    }
    findings.verified("rows of the queue", found);
    Ok(())
}
