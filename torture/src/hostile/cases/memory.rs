//! Answers that are not read and bodies that never end. Each case holds as much of the server's
//! memory as it can; the peak of that memory is compared with the budget after the case.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::hostile::arena::Arena;
use crate::hostile::scale::Scale;
use crate::hostile::tenant::Tenant;
use crate::hostile::wire::{connect, unread};

const MESSAGE_BYTES: usize = 1 << 20;
/// How long unread connections stay open in a long attack: the server has rendered all that it will
/// render. A brief one judges the memory of that moment.
const STARE: Duration = Duration::from_secs(3);
const STARE_BRIEF: Duration = Duration::from_millis(700);

const fn stare_at(scale: Scale) -> Duration {
    match scale {
        Scale::Brief => STARE_BRIEF,
        Scale::Long => STARE,
    }
}

/// Imports issues of about a megabyte each.
async fn large_issues(arena: &Arena, count: usize) -> Result<()> {
    issues_of(&arena.hostile, count, 1 << 20).await
}

/// Imports issues of about so many bytes each, in messages of a megabyte at most.
async fn issues_of(tenant: &Tenant, count: usize, bytes: usize) -> Result<()> {
    let messages = bytes.div_ceil(MESSAGE_BYTES);
    let body = "large ".repeat(bytes / messages / 6 - 10);
    for n in 0..count {
        let entry = json!({
            "title": "large",
            "created_at": 1_700_000_000_000_i64 + n as i64,
            "messages": vec![json!({ "body": body }); messages],
        });
        let task = tenant.run("import_issues", format!("{entry}\n").into_bytes()).await?;
        ensure!(task["counts"]["succeeded"] == 1, "{task}");
    }
    Ok(())
}

fn get(tenant: &Tenant, path: &str, accept: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Accept: {accept}\r\n\r\n",
        tenant.key
    )
}

/// Opens connections that send a request and read nothing.
async fn stare(arena: &Arena, count: usize, request: &str) -> Result<Vec<TcpStream>> {
    let mut open = Vec::new();
    for _ in 0..count {
        // The server may refuse further connections.
        if let Ok(stream) = unread(&arena.address(), request).await {
            open.push(stream);
        }
    }
    tokio::time::sleep(stare_at(arena.scale)).await;
    Ok(open)
}

pub(super) async fn unread_pages(arena: &mut Arena) -> Result<String> {
    large_issues(arena, arena.scale.of(20, 120)).await?;
    arena.reset_peak();
    let hostile = &arena.hostile;
    let request = get(hostile, &hostile.path("v1", "issues?page-size=1000"), "application/json");
    let open = stare(arena, arena.scale.of(24, 40), &request).await?;
    Ok(format!("{} pages were not read", open.len()))
}

pub(super) async fn seven_megabytes(arena: &mut Arena) -> Result<String> {
    issues_of(&arena.hostile, arena.scale.of(3, 40), 7_000_000).await?;
    arena.reset_peak();
    let hostile = &arena.hostile;
    let page = get(hostile, &hostile.path("v1", "issues?page-size=1000"), "application/json");
    let stream = get(hostile, &hostile.path("v1", "issues?format=ndjson"), "*/*");
    let one = get(hostile, &hostile.path("v1", "issues/1/messages"), "*/*");
    let mut open = Vec::new();
    for _ in 0..arena.scale.of(1, 6) {
        for request in [&page, &stream, &one] {
            open.extend(stare(arena, 13, request).await?);
        }
    }
    Ok(format!("{} answers were not read", open.len()))
}

/// Two tenants take all memory that they can get; a third one reads.
pub(super) async fn two_tenants(arena: &mut Arena) -> Result<String> {
    let accomplice = arena.another("accomplice")?;
    let mut open = Vec::new();
    for tenant in [&arena.hostile, &accomplice] {
        issues_of(tenant, 10, 1 << 20).await?;
    }
    for round in 0..2 {
        for tenant in [&arena.hostile, &accomplice] {
            let path = tenant.path("v1", &format!("issues?page-size={}", 1000 - round));
            let count = arena.scale.of(15, 60);
            open.extend(stare(arena, count, &get(tenant, &path, "*/*")).await?);
        }
    }
    for n in 0..39 {
        let reply = arena.calm.get(&arena.calm.path("v1", "issues?page-size=20")).await?;
        ensure!(reply.status.is_success(), "read {n} of a third tenant: {}", reply.short());
    }
    Ok(format!("39 reads of a third tenant and {} unread pages", open.len()))
}

/// Reads that wait for their turn have no memory yet.
pub(super) async fn queued_reads(arena: &mut Arena) -> Result<String> {
    issues_of(&arena.hostile, 1, 1 << 20).await?;
    let mut reading = JoinSet::new();
    for _ in 0..300 {
        let tenant = arena.hostile.clone();
        let path = tenant.path("v1", "issues?page-size=20");
        reading.spawn(async move { tenant.get(&path).await?.good() });
    }
    let count = reading.len();
    for reply in reading.join_all().await {
        reply?;
    }
    Ok(format!("{count} reads at once"))
}

pub(super) async fn unread_streams(arena: &mut Arena) -> Result<String> {
    large_issues(arena, arena.scale.of(20, 120)).await?;
    arena.reset_peak();
    let hostile = &arena.hostile;
    let path = hostile.path("v1", "issues?format=ndjson");
    let open = stare(arena, arena.scale.of(40, 150), &get(hostile, &path, "*/*")).await?;
    Ok(format!("{} streams were not read", open.len()))
}

pub(super) async fn unread_results(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let lines: Vec<u8> = (0..arena.scale.of(2_000, 10_000))
        .flat_map(|n| format!("{{\"identities\":[{{\"uid\":\"u-{n}\"}}]}}\n").into_bytes())
        .collect();
    let task = hostile.run("create_core_profiles", lines).await?;
    let id = task["task_id"].as_str().unwrap_or_default();
    arena.reset_peak();
    let path = hostile.path("v2", &format!("identity/bulk_actions/{id}/results?format=jsonl"));
    let open = stare(arena, arena.scale.of(60, 300), &get(hostile, &path, "*/*")).await?;
    Ok(format!("{} downloads were not read", open.len()))
}

/// Sends the beginning of a form and then nothing.
async fn half_body(
    address: &str,
    tenant: &Tenant,
    bytes: usize,
    stare: Duration,
) -> Result<TcpStream> {
    let mut stream = connect(address, 1).await?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000000\r\n\r\n\
         message-body=",
        tenant.path("v1", "issues"),
        tenant.key
    );
    stream.write_all(head.as_bytes()).await?;
    let piece = vec![b'x'; 64 << 10];
    for _ in 0..bytes / piece.len() {
        // The server may stop reading, or refuse.
        let sent = tokio::time::timeout(stare, stream.write_all(&piece)).await;
        if !matches!(sent, Ok(Ok(()))) {
            break;
        }
    }
    Ok(stream)
}

pub(super) async fn half_bodies(arena: &mut Arena) -> Result<String> {
    let mut sending = JoinSet::new();
    let stare = stare_at(arena.scale);
    for _ in 0..arena.scale.of(24, 80) {
        let (address, tenant) = (arena.address(), arena.hostile.clone());
        sending.spawn(async move { half_body(&address, &tenant, 20 << 20, stare).await });
    }
    let open: Vec<_> = sending.join_all().await;
    tokio::time::sleep(stare_at(arena.scale)).await;
    Ok(format!("{} bodies did not end", open.len()))
}

pub(super) async fn forty_clients(arena: &mut Arena) -> Result<String> {
    large_issues(arena, arena.scale.of(16, 50)).await?;
    issues_of(&arena.hostile, arena.scale.of(1, 20), 7_000_000).await?;
    arena.reset_peak();
    let (rounds, stare) = (arena.scale.of(1, 12), stare_at(arena.scale));
    let mut clients = JoinSet::new();
    for number in 0..40_usize {
        let (address, tenant) = (arena.address(), arena.hostile.clone());
        clients.spawn(async move {
            for _ in 0..rounds {
                drop(one_client(number, &address, &tenant, stare).await);
            }
        });
    }
    clients.join_all().await;
    Ok(format!("40 clients, {rounds} rounds each"))
}

/// One of several ways to waste memory.
async fn one_client(number: usize, address: &str, tenant: &Tenant, stare: Duration) -> Result<()> {
    let pages = get(tenant, &tenant.path("v1", "issues?page-size=1000"), "application/json");
    let stream = get(tenant, &tenant.path("v1", "issues?format=ndjson"), "*/*");
    let open = match number % 4 {
        0 => unread(address, &pages).await?,
        1 => unread(address, &stream).await?,
        2 => half_body(address, tenant, 16 << 20, stare).await?,
        _ => {
            let bomb = super::packed::form_bomb(tenant, 24 << 20)?;
            let mut open = connect(address, 1).await?;
            drop(tokio::time::timeout(stare, open.write_all(&bomb)).await);
            open
        }
    };
    tokio::time::sleep(stare).await;
    drop(open);
    Ok(())
}
