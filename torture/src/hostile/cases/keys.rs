//! Keys that end while they are in use, and strangers who try others.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::io::AsyncWriteExt as _;

use crate::hostile::arena::Arena;
use crate::hostile::tenant::Tenant;
use crate::hostile::wire::{Raw, answer, connect};

/// Failed authentications of one address.
const TRIES: usize = 200;
/// How long a line takes at most from the server to its log here.
const LOGGED_MAX: Duration = Duration::from_mins(5);

/// A second key of the hostile tenant, and its id.
fn second_key(arena: &Arena) -> Result<(Tenant, String)> {
    let key = arena.command(&["key", "create", "--domain", "hostile", "--name", "second"])?;
    let list = arena.command(&["key", "list", "--domain", "hostile"])?;
    let line = list.lines().find(|line| line.contains("second")).context("no second key")?;
    let id = line.split_whitespace().next().context("no id")?.to_owned();
    Ok((Tenant { key: key.trim().to_owned(), ..arena.hostile.clone() }, id))
}

/// Sends a request in two halves, and revokes the key in between.
async fn halves(arena: &Arena, path: &str, kind: &str, body: &[u8]) -> Result<Raw> {
    let (tenant, id) = second_key(arena)?;
    // The key works, and the server has just seen that.
    tenant.issues().await?;
    let mut stream = connect(&arena.address(), 1).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        tenant.key,
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(first).await?;
    stream.flush().await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    arena.command(&["key", "revoke", "--domain", "hostile", &id])?;
    drop(stream.write_all(second).await);
    Ok(answer(&mut stream).await)
}

pub(super) async fn revoked_upload(arena: &mut Arena) -> Result<String> {
    let line = |n| format!("{{\"identities\":[{{\"uid\":\"late-{n}\"}}]}}\n");
    let lines = (0..2000).map(line).collect::<Vec<_>>().concat();
    let field = "Content-Disposition: form-data; name=";
    let body = format!(
        "--b\r\n{field}\"action\"\r\n\r\ncreate_core_profiles\r\n\
         --b\r\n{field}\"payload\"; filename=\"a.jsonl\"\r\n\r\n{lines}\r\n--b--\r\n"
    );
    let path = arena.hostile.path("v2", "identity/bulk_actions");
    let before = arena.hostile.tasks().await?;
    let raw = halves(arena, &path, "multipart/form-data; boundary=b", body.as_bytes()).await?;
    ensure!(raw.status == 401, "a revoked key's upload was answered {}: {}", raw.status, raw.body);
    ensure!(arena.hostile.tasks().await? == before, "a revoked key made a task");
    Ok("401, and no task".to_owned())
}

pub(super) async fn revoked_form(arena: &mut Arena) -> Result<String> {
    let body = format!("email=a%40example.org&message-body={}", "x".repeat(100_000));
    let path = arena.hostile.path("v1", "issues");
    let before = arena.hostile.issues().await?;
    let kind = "application/x-www-form-urlencoded";
    let raw = halves(arena, &path, kind, body.as_bytes()).await?;
    ensure!(raw.status == 401, "a revoked key's form was answered {}: {}", raw.status, raw.body);
    ensure!(arena.hostile.issues().await? == before, "a revoked key made an issue");
    Ok("401, and no issue".to_owned())
}

pub(super) async fn strangers_are_logged(arena: &mut Arena) -> Result<String> {
    let stranger = Tenant { key: "ck_this_is_no_key".to_owned(), ..arena.hostile.clone() };
    let begun = Instant::now();
    for _ in 0..TRIES {
        stranger.get(&stranger.path("v1", "issues")).await?.refused(401)?;
    }
    // One a second, and one at each end.
    let most = begun.elapsed().as_secs() as usize + 2;
    let is_line = |line: &&str| line.contains("WARN") && line.contains("127.0.0.1");
    let count = || arena.log.text().lines().filter(is_line).count();
    while count() == 0 {
        ensure!(begun.elapsed() < LOGGED_MAX, "failed authentications are not logged");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (count, log) = (count(), arena.log.text());
    ensure!(count <= most, "{count} lines were logged of {TRIES} tries, not {most}");
    ensure!(!log.contains("this_is_no_key"), "the log has the text of a key");
    Ok(format!("{count} lines of {TRIES} tries"))
}
