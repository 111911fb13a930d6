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
/// Kills of servers, and how long a server works on the task before.
const KILLS: usize = 4;
const LIFE: Duration = Duration::from_millis(60);
/// The pause between two looks at the task.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Kills servers at work on a task. No entry fails for that, and the task ends.
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
    let mut kills = 0;
    while kills < KILLS && !has_ended(&arena.hostile, &id).await? {
        tokio::time::sleep(LIFE).await;
        arena.kill()?;
        arena.start()?;
        kills += 1;
    }
    let task = arena.hostile.end_of("import_issues", &id).await?;
    let counts = &task["counts"];
    ensure!(counts["succeeded"] == ENTRIES && counts["failed"] == 0, "{task}");
    ensure!(arena.hostile.issues().await? == ENTRIES, "entries took effect twice, or never");
    Ok(format!("{kills} kills; no entry failed"))
}

/// Waits until a server works on the task; true if it has ended.
async fn has_ended(tenant: &Tenant, id: &str) -> Result<bool> {
    let path = tenant.path("v2", &format!("issues/bulk_actions/{id}"));
    loop {
        let task = tenant.get(&path).await?.good()?.json()?;
        if task["status"] == "completed" {
            return Ok(true);
        }
        if task["status"] == "processing" && task["next_try_at"].is_null() {
            return Ok(false);
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
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
    Ok("one entry fails, 19 are applied".to_owned())
}
