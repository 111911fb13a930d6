//! Tasks whose entries do not commit, or with which servers die.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::hostile::arena::Arena;
use crate::hostile::tenant::Tenant;

/// Entries of a task with which servers die, and bytes of each.
const ENTRIES: u64 = 400;
const ENTRY_BYTES: usize = 20_000;
/// Kills until the task must be applied entry by entry, and kills after that.
const KILLS_MAX: usize = 40;
const KILLS_AFTER: usize = 3;
/// How long a server lives. It is too short for most chunks.
const LIFE: Duration = Duration::from_millis(60);
/// Time in which the lease of a dead server has ended, and its tasks are claimed.
const LEASE: Duration = Duration::from_millis(5_400);
/// The line of the log.
const ONE_BY_ONE: &str = "are applied one by one";

/// Kills servers at work on a task, until its entries are applied one by one, and then some.
pub(super) async fn deaths(arena: &mut Arena) -> Result<String> {
    let body = "x".repeat(ENTRY_BYTES);
    let lines: Vec<u8> = (0..ENTRIES)
        .flat_map(|n| {
            let at = 1_700_000_000_000 + n;
            let entry = json!({ "title": "t", "created_at": at, "messages": [{ "body": body }] });
            format!("{entry}\n").into_bytes()
        })
        .collect();
    let task = arena.hostile.submit("import_issues", lines).await?.good()?.json()?;
    let id = task["task_id"].as_str().context("no task id")?.to_owned();
    let (mut kills, mut after) = (0, 0);
    while after < KILLS_AFTER {
        // On a database, the lease of the server before has to end; on a file it ended with it.
        if kills > 0 && arena.file().is_err() {
            tokio::time::sleep(LEASE).await;
        }
        tokio::time::sleep(LIFE).await;
        arena.kill()?;
        arena.start()?;
        kills += 1;
        if arena.log.text().contains(ONE_BY_ONE) {
            after += 1;
        } else if kills >= KILLS_MAX || ended(&arena.hostile, &id).await? {
            // The machine is too fast, or too slow: then nothing but the result is judged.
            break;
        }
    }
    let task = arena.hostile.end_of("import_issues", &id).await?;
    let counts = &task["counts"];
    let (good, failed) = (counts["succeeded"].as_u64(), counts["failed"].as_u64());
    let (good, failed) = (good.context("no counts")?, failed.context("no counts")?);
    ensure!(good + failed == ENTRIES && failed <= 1, "{task}");
    let errors = arena.hostile.errors("import_issues", &task).await?;
    ensure!(errors.matches("not_processed").count() as u64 == failed, "{errors}");
    ensure!(arena.hostile.issues().await? == good, "entries took effect twice, or never");
    let log = arena.log.text();
    let way = if log.contains(ONE_BY_ONE) { "entry by entry" } else { "in chunks" };
    Ok(format!("{kills} kills; applied {way}, {failed} parked"))
}

async fn ended(tenant: &Tenant, id: &str) -> Result<bool> {
    let path = tenant.path("v2", &format!("issues/bulk_actions/{id}"));
    Ok(tenant.get(&path).await?.good()?.json()?["status"] == "completed")
}

/// Locks the row of one profile that a task changes, so that its entry cannot commit.
pub(super) async fn poison_entry(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let lines = |of: &dyn Fn(usize) -> Value| -> Vec<u8> {
        (0..20).flat_map(|n| format!("{}\n", of(n)).into_bytes()).collect()
    };
    let made = lines(&|n| json!({ "identities": [{ "uid": format!("u-{n}") }] }));
    let task = hostile.run("create_core_profiles", made).await?;
    let id = task["task_id"].as_str().context("no task id")?;
    let path = hostile.path("v2", &format!("identity/bulk_actions/{id}/results"));
    let results = hostile.get(&path).await?.good()?.json()?;
    let ids: Vec<&str> = results
        .as_array()
        .context("no results")?
        .iter()
        .filter_map(|result| result["core-profile-id"].as_str())
        .collect();
    ensure!(ids.len() == 20, "{results}");
    let (client, connection) = tokio_postgres::connect(arena.location(), NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute("BEGIN").await?;
    let victim: i64 = ids[7].parse()?;
    let locked =
        client.query("SELECT 1 FROM core_profiles WHERE id = $1 FOR UPDATE", &[&victim]).await?;
    ensure!(locked.len() == 1, "{} rows are locked", locked.len());
    let changes =
        lines(&|n| json!({ "core-profile-id": ids[n], "user_persona": format!("p-{n}") }));
    let task = hostile.run("update_core_profiles", changes).await?;
    client.batch_execute("ROLLBACK").await?;
    let counts = &task["counts"];
    ensure!(counts["succeeded"] == 19 && counts["failed"] == 1, "{task}");
    let errors = hostile.errors("update_core_profiles", &task).await?;
    ensure!(errors.contains("not_processed") && errors.contains("\"index\":7"), "{errors}");
    Ok("one entry is parked, 19 are applied".to_owned())
}
