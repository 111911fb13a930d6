//! Requests of foreign web pages, and requests that a proxy and the server could read differently.

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::json;

use crate::hostile::arena::Arena;
use crate::hostile::wire::{Raw, exchange};

/// Sends a request with this line, these headers and no body.
async fn plain(arena: &Arena, line: &str, headers: &str) -> Result<Raw> {
    let request = format!(
        "{line} HTTP/1.1\r\nAuthorization: Bearer {}\r\n{headers}Connection: close\r\n\r\n",
        arena.hostile.key
    );
    exchange(&arena.address(), request.as_bytes()).await
}

pub(super) async fn cross_site(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let before = hostile.issues().await?;
    let fields = [("message-body", "forged"), ("email", "a@example.org")];
    for (name, value) in
        [("Origin", "https://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")]
    {
        let request = hostile.request(Method::POST, &hostile.path("v1", "issues")).form(&fields);
        let answer = hostile.send(request.header(name, value)).await?;
        ensure!(answer.status == 403, "{name}: {value} was answered {}", answer.short());
    }
    ensure!(hostile.issues().await? == before, "a foreign page wrote an issue");
    let own = hostile.request(Method::POST, &hostile.path("v1", "issues")).form(&fields);
    hostile.send(own.header("Origin", &hostile.url)).await?.good()?;
    Ok("403, and the own origin writes".to_owned())
}

pub(super) async fn two_hosts(arena: &mut Arena) -> Result<String> {
    let line = format!("GET {}", arena.hostile.path("v1", "issues"));
    for headers in ["Host: a\r\nHost: b\r\n", "", "Host: a b\r\n", "Host: a/b\r\n", "Host: a@b\r\n"]
    {
        let raw = plain(arena, &line, headers).await?;
        ensure!(raw.status == 400, "{headers:?} was answered {} {}", raw.status, raw.body);
    }
    let raw = plain(arena, &line, "Host: localhost\r\n").await?;
    ensure!(raw.status == 200, "one Host was answered {}", raw.status);
    Ok("400 unless there is one".to_owned())
}

pub(super) async fn double_slash(arena: &mut Arena) -> Result<String> {
    for path in
        ["/v1//issues", "//v1/hostile/issues", "/v1/hostile//issues", "/v1/hostile/issues//"]
    {
        let raw = plain(arena, &format!("GET {path}"), "Host: localhost\r\n").await?;
        ensure!(raw.status == 404, "{path} was answered {} {}", raw.status, raw.body);
    }
    Ok("404".to_owned())
}

pub(super) async fn transfer_codings(arena: &mut Arena) -> Result<String> {
    let line = format!("POST {}", arena.hostile.path("v1", "issues"));
    // The HTTP library refuses a body that does not end in chunks before the server sees it.
    for (coding, status) in [("gzip, chunked", 501), ("xchunked", 400), ("deflate", 400)] {
        let headers = format!(
            "Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: {coding}\r\n"
        );
        let raw = plain(arena, &line, &headers).await?;
        ensure!(raw.status == status, "{coding:?} was answered {} {}", raw.status, raw.body);
    }
    Ok("501 or 400".to_owned())
}

pub(super) async fn script_urls(arena: &mut Arena) -> Result<String> {
    let good = json!({ "url": "https://example.org/a.png", "file_name": "a.png",
                       "content_type": "image/png", "size": 3 });
    let bad = [
        ("url", "javascript:alert(1)"),
        ("url", "JaVaScRiPt:alert(1)"),
        ("url", "data:text/html,x"),
        ("url", "java\nscript:alert(1)"),
        ("url", "//evil.example/a"),
        ("url", "file:///etc/passwd"),
        ("url", "/v1/hostile/attachments/../../calm/issues"),
        ("url", "/v1/hostile/attachments/%2e%2E/issues"),
        ("url", "https://example.org/gpj.\u{202e}exe"),
    ];
    let refused = [("content_type", "text/html\r\nX: y")];
    let repaired = [
        ("file_name", "../../etc/passwd"),
        ("file_name", "..\\evil.exe"),
        ("file_name", "gpj.\u{202e}exe"),
        ("file_name", "a\r\nSet-Cookie: x"),
        ("file_name", "report..final.pdf"),
    ];
    let mut lines = Vec::new();
    let changes = bad.iter().chain(&refused).chain(&repaired).map(Some);
    for (n, change) in std::iter::once(None).chain(changes).enumerate() {
        let mut file = good.clone();
        if let Some((name, value)) = change {
            file[*name] = json!(value);
        }
        let entry = json!({ "title": "t", "created_at": 1_700_000_000_000_i64 + n as i64,
                            "messages": [{ "body": "x", "attachments": [file] }] });
        lines.extend(format!("{entry}\n").into_bytes());
    }
    let task = arena.hostile.run("import_issues", lines).await?;
    let counts = &task["counts"];
    let taken = 1 + bad.len() + repaired.len();
    let held = counts["succeeded"] == taken && counts["failed"] == refused.len();
    ensure!(held, "expected {} errors: {counts}", refused.len());
    let hostile = &arena.hostile;
    let list = hostile.get(&hostile.path("v1", "issues?page-size=100")).await?.good()?.text;
    for name in ["passwd", "evil.exe", "gpj.exe", "aSet-Cookie: x", "report..final.pdf"] {
        ensure!(list.contains(&format!("\"file_name\":\"{name}\"")), "no {name}: {list}");
    }
    for (_, url) in bad {
        ensure!(!list.contains(&json!(url).to_string()), "{url:?} is stored: {list}");
    }
    Ok(format!("{} are left out, {} names are repaired", bad.len(), repaired.len()))
}

pub(super) async fn caches(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    hostile.make_issue("a secret").await?.good()?;
    for path in [
        hostile.path("v1", "issues"),
        hostile.path("v1", "issues/1"),
        hostile.path("v1", "agents"),
        hostile.path("v2", "identity/bulk_actions"),
        hostile.path("v1", "issues/77"),
    ] {
        let answer = hostile.get(&path).await?;
        for (name, value) in [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]
        {
            let has = answer
                .headers
                .get(name)
                .is_some_and(|given| given.to_str().is_ok_and(|given| given.contains(value)));
            ensure!(has, "{path} has no {name}: {value}: {:?}", answer.headers);
        }
    }
    Ok("no-store and nosniff everywhere".to_owned())
}

pub(super) async fn metrics(arena: &mut Arena) -> Result<String> {
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let raw = exchange(&arena.address(), request.as_bytes()).await?;
    ensure!(raw.status != 200, "the tenants' address still has the metrics");
    Ok(format!("{} on the tenants' address", raw.status))
}

pub(super) async fn metrics_rebinding(arena: &mut Arena) -> Result<String> {
    let refused =
        ["evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"];
    let open = ["localhost", "127.0.0.1:8080", "[::1]:8080"];
    for (hosts, status) in [(&refused[..], 401), (&open, 200)] {
        for host in hosts {
            let request =
                format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let raw = exchange(&arena.address(), request.as_bytes()).await?;
            ensure!(raw.status == status, "Host: {host} was answered {}", raw.status);
        }
    }
    Ok("a foreign Host needs a key".to_owned())
}
