//! Reads tasks, their records and the queue for the check. Looks for payloads and records without a
//! task, and for unfinished tasks outside the queue.

use std::collections::HashMap;
use std::pin::pin;

use futures_util::TryStreamExt;
use tokio_postgres::Row;

use crate::domains::ids_and_names;
use crate::engine::Client;
use crate::engine::store_error;
use crate::rows::{count, text};
use crate::tx::ReadRow;
use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::tables as rules;
use caseload_store::check::tasks::{self as task_rules, RecordCounts, StoredRecords, TaskPayload};
use caseload_store::tasks::{COLUMNS, COLUMNS_COUNT, task};

/// Each task by itself.
pub(super) async fn tasks(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let select = format!(
        "SELECT {COLUMNS}, t.next_index, t.purge,
         (SELECT max(p.last_index) FROM payload_blocks p
          WHERE p.domain_id = t.domain_id AND p.domain_id = $1 AND p.task_id = t.id),
         (t.retried_by IS NULL OR EXISTS (SELECT 1 FROM tasks r
          WHERE r.domain_id = $1 AND r.id = t.retried_by AND r.parent_id = t.id))
         AND (t.run_by IS NULL OR EXISTS (SELECT 1 FROM tasks r
          WHERE r.domain_id = $1 AND r.id = t.run_by AND r.parent_id = t.id
          AND NOT r.dry_run))
         FROM tasks t WHERE t.domain_id = $1"
    );
    let mut found = 0;
    for (domain, name) in ids_and_names(client).await? {
        let mut rows = pin!(client.stream(&select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            found += 1;
            let last_index: Option<i32> = row.get(COLUMNS_COUNT + 2);
            let payload = TaskPayload {
                next_index: count(&row, COLUMNS_COUNT),
                purge: row.get::<_, i16>(COLUMNS_COUNT + 1).into(),
                last_index: last_index.map(i32::unsigned_abs),
                retry_agrees: row.get(COLUMNS_COUNT + 3),
            };
            task_rules::check_task(findings, &name, &task(&ReadRow(&row))?, payload);
        }
    }
    findings.verified("tasks", found);
    Ok(())
}

/// The queue contains exactly the unfinished tasks, and each row agrees with its task.
pub(super) async fn queue(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut found = 0;
    for (domain, name) in ids_and_names(client).await? {
        let tasks = "SELECT id, seq, writes, status = 3 FROM tasks
                     WHERE domain_id = $1 AND status < 4 ORDER BY seq";
        let tasks = client.rows(tasks, &[&domain]).await?;
        let places = "SELECT task_id, seq, writes, lease_server IS NOT NULL FROM task_queue
                      WHERE domain_id = $1 ORDER BY seq";
        let places = client.rows(places, &[&domain]).await?;
        let of_task = |row: &Row| (row.get::<_, i64>(1), row.get::<_, bool>(2));
        let mut queued: HashMap<&[u8], &Row> =
            places.iter().map(|place| (place.get(0), place)).collect();
        let mut report = |id: &[u8], rule: &str| {
            let id = String::from_utf8_lossy(id);
            findings.fault(format!("domain {name}, task {id}: {rule}"));
        };
        found += tasks.len();
        for task in &tasks {
            let id: &[u8] = task.get(0);
            match queued.remove(id) {
                None => report(id, "it is unfinished but not in the queue"),
                Some(place) => {
                    let is_leased: bool = place.get(3);
                    if of_task(task) != of_task(place) || is_leased && !task.get::<_, bool>(3) {
                        report(id, "its row in the queue disagrees with it");
                    }
                }
            }
        }
        found += queued.len();
        for id in queued.into_keys() {
            report(id, "it is in the queue but completed");
        }
    }
    findings.verified("rows of the queue", found as u64);
    Ok(())
}

/// There are as many result and error lines as the counts say, in blocks that do not overlap.
pub(super) async fn records(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut total = 0;
    for (domain, name) in ids_and_names(client).await? {
        let mut records = RecordCounts::default();
        let select = "SELECT task_id, kind, first_index, next_index, lines, bytes
                      FROM record_blocks WHERE domain_id = $1
                      ORDER BY task_id, kind, first_index";
        let mut rows = pin!(client.stream(select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            let block = StoredRecords {
                first_index: count(&row, 2),
                next_index: count(&row, 3),
                lines: count(&row, 4),
                bytes: row.get(5),
            };
            let key = (domain, text(&row, 0)?, row.get::<_, i16>(1).into());
            records.add(findings, key, block)?;
        }
        let select = format!("SELECT {COLUMNS}, t.purge FROM tasks t WHERE t.domain_id = $1");
        let mut rows = pin!(client.stream(&select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            let task = task(&ReadRow(&row))?;
            let purge = row.get::<_, i16>(COLUMNS_COUNT).into();
            records.compare(findings, (domain, &name), &task.id, &task.counts, purge);
        }
        total += records.total();
        orphans(client, findings, domain).await?;
    }
    findings.verified("records of tasks", total);
    Ok(())
}

/// Records belong to a task. Payloads belong to a task or to an upload, and no upload is also a
/// task.
async fn orphans(client: &Client, findings: &mut Findings, domain: i64) -> Result<(), StoreError> {
    let of_no = |owner: &str| {
        format!("NOT EXISTS (SELECT 1 FROM {owner} o WHERE o.domain_id = $1 AND o.id = b.task_id)")
    };
    for (table, free) in [
        ("payload_blocks", format!("{} AND {}", of_no("tasks"), of_no("uploads"))),
        ("record_blocks", of_no("tasks")),
    ] {
        let orphans = format!("SELECT count(*) FROM {table} b WHERE b.domain_id = $1 AND {free}");
        rules::without_task(findings, table, client.row(&orphans, &[&domain]).await?.get(0));
    }
    let accepted = client
        .row(
            "SELECT count(*) FROM uploads u JOIN tasks t
             ON t.domain_id = u.domain_id AND t.id = u.id WHERE u.domain_id = $1",
            &[&domain],
        )
        .await?;
    rules::accepted_uploads(findings, accepted.get(0));
    Ok(())
}
