//! Keys that end while they are in use, and strangers who try others.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::hostile::arena::Arena;
use crate::hostile::tenant::{Reply, Tenant};
use crate::hostile::wire::{Raw, answer, connect};

/// Failed authentications of one address.
const TRIES: usize = 200;
/// Sign-ins of one key, and the most sessions that remain.
const SIGN_INS: usize = 30;
const SESSIONS: usize = 20;
/// The wrong sign-ins of an address that are answered.
const WRONG: usize = 10;
/// After this time no server knows a session that has ended.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);
/// How long a line takes at most from the server to its log here.
const LOGGED_MAX: Duration = Duration::from_mins(5);

/// A second key of the hostile tenant, and its id.
fn second_key(arena: &Arena, more: &[&str]) -> Result<(Tenant, String)> {
    let create = ["key", "create", "--domain", "hostile", "--name", "second"];
    let key = arena.command(&[&create, more].concat())?;
    let list = arena.command(&["key", "list", "--domain", "hostile"])?;
    let line = list.lines().find(|line| line.contains("second")).context("no second key")?;
    let id = line.split_whitespace().next().context("no id")?.to_owned();
    Ok((Tenant { key: key.trim().to_owned(), ..arena.hostile.clone() }, id))
}

/// Sends a request in two halves, and revokes the key in between.
async fn halves(arena: &Arena, path: &str, kind: &str, body: &[u8]) -> Result<Raw> {
    let (tenant, id) = second_key(arena, &[])?;
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
    logged(arena, begun, &["127.0.0.1"], "this_is_no_key").await
}

/// Waits for warnings of the tries since `begun` with these words: at least one, and at most one a
/// second.
async fn logged(arena: &Arena, begun: Instant, words: &[&str], secret: &str) -> Result<String> {
    // One a second, and one at each end.
    let most = begun.elapsed().as_secs() as usize + 2;
    let is_line =
        |line: &&str| line.contains("WARN") && words.iter().all(|word| line.contains(word));
    let count = || arena.log.text().lines().filter(is_line).count();
    while count() == 0 {
        ensure!(begun.elapsed() < LOGGED_MAX, "no line of the log has {words:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (count, log) = (count(), arena.log.text());
    ensure!(count <= most, "{count} lines were logged of {TRIES} tries, not {most}");
    ensure!(!log.contains(secret), "the log has the text of a key");
    Ok(format!("{count} lines of {TRIES} tries"))
}

pub(super) async fn refused_access_is_logged(arena: &mut Arena) -> Result<String> {
    let (reader, id) = second_key(arena, &["--access", "read"])?;
    let begun = Instant::now();
    for n in 0..TRIES {
        let refused = if n % 2 == 0 {
            reader.make_issue("x").await?
        } else {
            reader.get(&reader.path("v1", "keys")).await?
        };
        refused.refused(403)?;
    }
    logged(arena, begun, &["hostile", &id, "needed"], &reader.key).await
}

async fn sign_in(tenant: &Tenant, body: &Value) -> Result<Reply> {
    let request = tenant.http.post(format!("{}/console/session", tenant.url));
    tenant.send(request.json(body)).await
}

/// The cookie that an answer sets.
fn cookie(reply: &Reply) -> Result<String> {
    let set = reply.headers.get("set-cookie").context("no cookie")?.to_str()?;
    Ok(set.split(';').next().unwrap_or_default().to_owned())
}

/// The answer to a read with this cookie and no key.
async fn with_cookie(tenant: &Tenant, cookie: &str) -> Result<Reply> {
    let url = format!("{}{}", tenant.url, tenant.path("v1", "issues?page-size=1"));
    tenant.send(tenant.http.get(url).header("Cookie", cookie)).await
}

pub(super) async fn sign_ins(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let key = json!({ "key": hostile.key });
    let mut cookies = Vec::new();
    for _ in 0..SIGN_INS {
        cookies.push(cookie(&sign_in(hostile, &key).await?.good()?)?);
        // The server has seen the session work.
        with_cookie(hostile, &cookies[cookies.len() - 1]).await?.good()?;
    }
    tokio::time::sleep(FORGOTTEN_AFTER).await;
    let (ended, open) = cookies.split_at(SIGN_INS - SESSIONS);
    for cookie in ended {
        with_cookie(hostile, cookie).await?.refused(401)?;
    }
    for cookie in open {
        with_cookie(hostile, cookie).await?.good()?;
    }
    arena.command(&["domain", "edit", "hostile", "--rate-limit", "30"])?;
    let mut refused = None;
    for n in 0..2 * SIGN_INS {
        let reply = sign_in(hostile, &key).await?;
        if reply.status == 429 {
            ensure!(reply.headers.contains_key("x-rate-limit-limit"), "{:?}", reply.headers);
            refused = Some(n);
            break;
        }
        reply.good()?;
    }
    let refused = refused.context("sign-ins do not count as requests")?;
    wrong_sign_ins(hostile).await?;
    Ok(format!("{SESSIONS} sessions remain, 429 after {refused} of a domain, {WRONG} wrong"))
}

/// Those of one address are refused before the store is asked; another address signs in.
async fn wrong_sign_ins(hostile: &Tenant) -> Result<()> {
    for (n, wrong) in ["key", "code"].into_iter().cycle().take(2 * WRONG).enumerate() {
        let reply = sign_in(hostile, &json!({ wrong: "no_such_text" })).await?;
        if n < WRONG {
            reply.refused(401)?;
            continue;
        }
        reply.refused(429)?;
        ensure!(reply.headers.contains_key("retry-after"), "{:?}", reply.headers);
    }
    let other = caseload_client::client_builder().no_proxy().tls_certs_only([]);
    let http = other.local_address(std::net::IpAddr::from([127, 0, 0, 2])).build()?;
    let other = Tenant { http, ..hostile.clone() };
    sign_in(&other, &json!({ "key": "no_such_text" })).await?.refused(401)
}

pub(super) async fn two_cookies(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let own = cookie(&sign_in(hostile, &json!({ "key": hostile.key })).await?.good()?)?;
    let other = cookie(&sign_in(hostile, &json!({ "key": hostile.key })).await?.good()?)?;
    with_cookie(hostile, &own).await?.good()?;
    for planted in [other.as_str(), "caseload_session=planted", "caseload_session="] {
        for cookies in [format!("{planted}; a=b; {own}"), format!("{own}; {planted}")] {
            let reply = with_cookie(hostile, &cookies).await?;
            reply.refused(401)?;
            ensure!(reply.text.contains("two cookies"), "{}", reply.short());
        }
    }
    Ok("401".to_owned())
}
