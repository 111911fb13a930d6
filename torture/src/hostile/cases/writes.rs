//! Bulk edits next to writes of another tenant and of an operator. One bulk edit is one
//! transaction, so its size is what another domain waits for. Clients of one domain wait in a queue
//! of their own, so a writer of another domain waits for its own turn only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::limits::{entry, keys};
use crate::hostile::arena::Arena;
use crate::hostile::scale::Scale;
use crate::hostile::tenant::{Reply, Tenant};

/// Clients of the hostile domain: more than a server has connections to a database.
const CLIENTS: usize = 24;
/// Issues of one edit, and the length of its fields.
const ISSUES: usize = 30;
const FIELD_CHARS: usize = 4000;
/// The fields of the edit that writes most, and of one that writes too much.
const FIELDS: usize = 69;
const FIELDS_TOO_MANY: usize = 900;
/// Writes of the calm tenant, and keys that the operator makes, during the attack.
const WRITES: usize = 15;
const KEYS: usize = 3;
/// Edits of the hostile domain that end during one write of the calm tenant: at most those of the
/// transactions before it. In turns by arrival they would be those of all clients.
const EDITS_MAX: usize = 6;
/// The longest write and the longest command, in a long run.
const WRITE_MAX: Duration = Duration::from_secs(2);
const KEY_MAX: Duration = Duration::from_secs(3);

/// Edits the issues with so many fields of one character. The body is packed.
async fn edit(tenant: &Tenant, fields: usize, character: &str) -> Result<Reply> {
    let ids: Vec<usize> = (1..=ISSUES).collect();
    let value = character.repeat(FIELD_CHARS);
    // Different values: a body that unpacks to 1,000 times its bytes is refused for that.
    let field = |n: usize| {
        let noise = (n as u32).wrapping_mul(2_654_435_761);
        json!({ "type": "multiline", "value": format!("{noise:08x}{value}") })
    };
    let form = json!({ "issue-ids": ids, "custom_fields": keys(fields, field) });
    let body = zstd::bulk::compress(form.to_string().as_bytes(), 3)?;
    let request = tenant
        .request(Method::PUT, &tenant.path("v1", "issues"))
        .header("content-type", "application/json")
        .header("content-encoding", "zstd")
        .body(body);
    tenant.send(request).await
}

/// Edits again and again, and counts the edits that were made.
async fn edit_all_the_time(tenant: Tenant, stopped: watch::Receiver<bool>, edits: &AtomicUsize) {
    for character in ["a", "b"].into_iter().cycle() {
        if *stopped.borrow() {
            return;
        }
        if edit(&tenant, FIELDS, character).await.is_ok_and(|reply| reply.status.is_success()) {
            edits.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(super) async fn wide_edits(arena: &mut Arena) -> Result<String> {
    let at = |n: usize| json!({ "created_at": 1_700_000_000_000_i64 + n as i64 });
    let lines: Vec<u8> = (0..ISSUES).flat_map(|n| entry(at(n))).collect();
    arena.hostile.run("import_issues", lines).await?;
    let begun = Instant::now();
    edit(&arena.hostile, FIELDS, "a").await?.good()?;
    let alone = begun.elapsed();
    let (stop, stopped) = watch::channel(false);
    let edits = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (tenant, stopped, edits) = (arena.hostile.clone(), stopped.clone(), edits.clone());
        clients.spawn(async move { edit_all_the_time(tenant, stopped, &edits).await });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let met = meet(arena, &edits).await;
    stop.send_replace(true);
    clients.abort_all();
    let (waited, longest, key) = met?;
    let said = format!(
        "an edit alone {alone:.1?}; a write {longest:.1?} at most, {waited} edits before half of \
         them; a key {key:.1?} at most"
    );
    ensure!(waited <= EDITS_MAX, "{said}");
    let quick = longest <= WRITE_MAX && key <= KEY_MAX;
    ensure!(arena.scale == Scale::Brief || quick, "{said}");
    let refused = edit(&arena.hostile, FIELDS_TOO_MANY, "c").await?;
    let names_limit = refused.status == 413 && refused.text.contains("8388608");
    ensure!(names_limit, "an edit of 100 MB was answered {}", refused.short());
    Ok(said)
}

/// Writes and makes keys. The median of the edits that ended during a write, the longest write, and
/// the longest command.
async fn meet(arena: &Arena, edits: &AtomicUsize) -> Result<(usize, Duration, Duration)> {
    let (mut waited, mut longest, mut key) = (Vec::new(), Duration::ZERO, Duration::ZERO);
    for _ in 0..WRITES {
        let (begun, before) = (Instant::now(), edits.load(Ordering::Relaxed));
        arena.calm.make_issue("a calm write").await?.good()?;
        longest = longest.max(begun.elapsed());
        waited.push(edits.load(Ordering::Relaxed) - before);
    }
    for _ in 0..KEYS {
        let begun = Instant::now();
        arena.command(&["key", "create", "--domain", "calm", "--access", "read"])?;
        key = key.max(begun.elapsed());
    }
    waited.sort_unstable();
    ensure!(edits.load(Ordering::Relaxed) > 0, "no edit was made");
    Ok((waited[waited.len() / 2], longest, key))
}
