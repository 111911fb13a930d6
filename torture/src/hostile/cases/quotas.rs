//! Quotas of a domain: its stored bytes, its tasks and its requests.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::hostile::arena::Arena;

/// Requests after which a quota must have shown.
const REQUESTS: usize = 400;

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

pub(super) async fn tasks(arena: &mut Arena) -> Result<String> {
    arena.command(&["domain", "edit", "hostile", "--quota-tasks", "5"])?;
    for n in 0..REQUESTS {
        // Tasks that take a while, so that some are unfinished.
        let line = |of| format!("{{\"identities\":[{{\"uid\":\"q-{n}-{of}\"}}]}}\n").into_bytes();
        let lines = (0..4000).flat_map(line).collect();
        let answer = arena.hostile.submit("create_core_profiles", lines).await?;
        if answer.status == 429 && answer.code() == "quota_exceeded" {
            return Ok(format!("429 after {n} tasks"));
        }
        answer.good()?;
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
