//! Expensive reads of one domain next to cheap and expensive ones of another.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::hostile::arena::Arena;

/// Clients of the hostile domain.
const CLIENTS: usize = 200;
/// Text filters that the calm tenant makes.
const FILTERS: usize = 60;
/// The median time of its text filter.
const P50_MAX: Duration = Duration::from_millis(50);

pub(super) async fn text_filters(arena: &mut Arena) -> Result<String> {
    for (tenant, count) in [(&arena.hostile, 20_000), (&arena.calm, 300)] {
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
    }
    let filter = "issues?page-size=1&messages=%7B%22or%22%3A%5B%22nowhere%22%5D%7D";
    let (stop, stopped) = watch::channel(false);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (tenant, stopped) = (arena.hostile.clone(), stopped.clone());
        clients.spawn(async move {
            while !*stopped.borrow() {
                drop(tenant.get(&tenant.path("v1", filter)).await);
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut times = Vec::new();
    for _ in 0..FILTERS {
        let begun = Instant::now();
        arena.calm.get(&arena.calm.path("v1", filter)).await?.good()?;
        times.push(begun.elapsed());
    }
    stop.send_replace(true);
    clients.abort_all();
    times.sort();
    let median = times[times.len() / 2];
    ensure!(median <= P50_MAX, "the median of a text filter was {median:?}");
    Ok(format!("the median of a text filter was {median:?}"))
}
