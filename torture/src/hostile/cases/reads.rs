//! Reads of one domain next to expensive ones of another. The clients of one domain wait in a queue
//! of their own, so a reader of the other one waits for its own turn only.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::hostile::arena::Arena;
use crate::hostile::tenant::Tenant;

/// Clients of the hostile domain.
const CLIENTS: usize = 200;
/// Reads that the calm tenant makes alone, and during the attack.
const READS: usize = 60;
/// A read that takes so long alone has at most this median during the attack; a slower one, as in a
/// build with debugging code, in proportion.
const ALONE: Duration = Duration::from_millis(3);
const P50_MAX: Duration = Duration::from_millis(50);
/// A filter that reads the texts of all issues.
const TEXTS: &str = "issues?page-size=1&messages=%7B%22or%22%3A%5B%22nowhere%22%5D%7D";

pub(super) async fn text_filters(arena: &mut Arena) -> Result<String> {
    next_to_clients(arena, TEXTS).await
}

pub(super) async fn fair_reads(arena: &mut Arena) -> Result<String> {
    next_to_clients(arena, "issues?page-size=20").await
}

/// Compares the times of a read alone and during the attack.
async fn next_to_clients(arena: &Arena, read: &str) -> Result<String> {
    import(&arena.hostile, 20_000).await?;
    import(&arena.calm, 300).await?;
    let alone = median(&arena.calm, read).await?;
    let (stop, stopped) = watch::channel(false);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (tenant, stopped) = (arena.hostile.clone(), stopped.clone());
        clients.spawn(async move {
            while !*stopped.borrow() {
                drop(tenant.get(&tenant.path("v1", TEXTS)).await);
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let attacked = median(&arena.calm, read).await;
    stop.send_replace(true);
    clients.abort_all();
    let attacked = attacked?;
    let bound = P50_MAX.mul_f64((alone.as_secs_f64() / ALONE.as_secs_f64()).max(1.0));
    let said = format!("p50 {alone:.1?} alone, {attacked:.1?} next to {CLIENTS} clients");
    ensure!(attacked <= bound, "{said}, which is more than {bound:.1?}");
    Ok(said)
}

async fn median(tenant: &Tenant, read: &str) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..READS {
        let begun = Instant::now();
        tenant.get(&tenant.path("v1", read)).await?.good()?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

async fn import(tenant: &Tenant, count: i64) -> Result<()> {
    for part in 0..count / 300 {
        let lines: Vec<u8> = (0..300)
            .flat_map(|n| {
                let at = 1_700_000_000_000_i64 + part * 300 + n;
                let body = format!("message {n} about shipping and refunds ").repeat(12);
                let entry = json!({ "title": "t", "created_at": at,
                                    "messages": [{ "body": body }] });
                format!("{entry}\n").into_bytes()
            })
            .collect();
        tenant.run("import_issues", lines).await?;
    }
    Ok(())
}
