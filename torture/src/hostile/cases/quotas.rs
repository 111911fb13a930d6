//! Quotas of a domain: its stored bytes, its tasks and its requests.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::hostile::arena::Arena;

/// Requests after which a quota must have shown.
const REQUESTS: usize = 400;
/// The time in which a task that waits for its quota is tried three times.
const TRIES: Duration = Duration::from_secs(12);
/// Tasks that are submitted at once.
const TASKS: usize = 20;

pub(super) async fn bytes(arena: &mut Arena) -> Result<String> {
    arena.command(&["domain", "edit", "hostile", "--quota-bytes", "2000000"])?;
    let body = "word ".repeat(30_000);
    for n in 0..REQUESTS {
        let answer = arena.hostile.make_issue(&body).await?;
        if answer.status == 429 && answer.code() == "quota_exceeded" {
            arena.hostile.get(&arena.hostile.path("v1", "issues/1")).await?.good()?;
            let usage = arena.command(&["domain", "list", "--usage"])?;
            ensure!(usage.contains("hostile"), "no usage is shown: {usage}");
            return Ok(format!("429 after {n} issues of 150 kB"));
        }
        answer.good()?;
    }
    anyhow::bail!("{REQUESTS} issues of 150 kB fit into 2 MB")
}

pub(super) async fn log(arena: &mut Arena) -> Result<String> {
    // There is room for the entries as they are packed, and not for the profiles.
    arena.command(&["domain", "edit", "hostile", "--quota-bytes", "100000"])?;
    let city = "x".repeat(1000);
    let entry = |n: u32| {
        format!("{}\n", json!({"identities": [{"uid": n.to_string()}], "last_city": city}))
    };
    let lines: String = (0..2000).map(entry).collect();
    arena.hostile.submit("create_core_profiles", lines.into_bytes()).await?.good()?;
    tokio::time::sleep(TRIES).await;
    let log = arena.log.text();
    let lines = log.lines().filter(|line| line.contains("quota")).count();
    ensure!(lines == 1 && !log.contains("ERROR"), "{lines} lines in {TRIES:?}: {log}");
    Ok(format!("1 line in {TRIES:?}"))
}

pub(super) async fn tasks(arena: &mut Arena) -> Result<String> {
    arena.command(&["domain", "edit", "hostile", "--quota-tasks", "5"])?;
    for round in 0..REQUESTS / TASKS {
        // At once, and tasks that take a while, so that some are unfinished.
        let mut submitting = JoinSet::new();
        for n in 0..TASKS {
            let line = |of| format!("{{\"identities\":[{{\"uid\":\"{round}-{n}-{of}\"}}]}}\n");
            let lines: String = (0..2000).map(line).collect();
            let hostile = arena.hostile.clone();
            submitting.spawn(async move {
                hostile.submit("create_core_profiles", lines.into_bytes()).await
            });
        }
        let mut refused = 0;
        for answer in submitting.join_all().await {
            let answer = answer?;
            if answer.status == 429 && answer.code() == "quota_exceeded" {
                refused += 1;
            } else {
                answer.good()?;
            }
        }
        if refused > 0 {
            return Ok(format!("{refused} of {TASKS} at once were answered 429"));
        }
    }
    anyhow::bail!("{REQUESTS} tasks fit into a quota of 5")
}

pub(super) async fn rate(arena: &mut Arena) -> Result<String> {
    arena.command(&["domain", "edit", "hostile", "--rate-limit", "30"])?;
    let second = arena.command(&["key", "create", "--domain", "hostile", "--access", "read"])?;
    for n in 0..REQUESTS {
        let mut tenant = arena.hostile.clone();
        if n % 2 == 1 {
            // A second key does not help.
            second.trim().clone_into(&mut tenant.key);
        }
        let answer = tenant.get(&tenant.path("v1", "issues?page-size=1")).await?;
        if answer.status == 429 {
            let json = answer.json().unwrap_or(json!({}));
            return Ok(format!("429 {} after {n} requests", json["code"]));
        }
        answer.good()?;
    }
    anyhow::bail!("{REQUESTS} requests fit into a limit of 30 a minute")
}
