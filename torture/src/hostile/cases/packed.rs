//! Bodies that are small on the wire and large in memory, or nothing but work.

use std::io::Write as _;

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::task::JoinSet;

use crate::hostile::arena::Arena;
use crate::hostile::tenant::Tenant;
use crate::hostile::wire::{Raw, exchange};

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(bytes)?;
    Ok(out.finish()?)
}

/// A request with a body that is packed in this way, or not at all.
fn packed(tenant: &Tenant, path: &str, kind: &str, coding: Option<&str>, body: &[u8]) -> Vec<u8> {
    let coding = coding.map(|word| format!("Content-Encoding: {word}\r\n")).unwrap_or_default();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: {kind}\r\n{coding}Content-Length: {}\r\nConnection: close\r\n\r\n",
        tenant.key,
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A form with one field of so many equal characters, packed with zstd.
pub(super) fn form_bomb(tenant: &Tenant, bytes: usize) -> Result<Vec<u8>> {
    let form = [b"message-body=".as_slice(), &vec![b'x'; bytes]].concat();
    let body = zstd::bulk::compress(&form, 3)?;
    let path = tenant.path("v1", "issues");
    Ok(packed(tenant, &path, "application/x-www-form-urlencoded", Some("zstd"), &body))
}

/// Sends a request so many times at once; returns the statuses.
async fn at_once(arena: &Arena, count: usize, request: &[u8]) -> Result<Vec<u16>> {
    let mut sending = JoinSet::new();
    for _ in 0..count {
        let (address, request) = (arena.address(), request.to_vec());
        sending.spawn(async move { exchange(&address, &request).await });
    }
    let answers = sending.join_all().await;
    let answers: Result<Vec<Raw>> = answers.into_iter().collect();
    let mut statuses: Vec<u16> = answers?.iter().map(|raw| raw.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    Ok(statuses)
}

fn none_is_good(statuses: &[u16]) -> Result<()> {
    let good = statuses.iter().any(|status| (200..300).contains(status));
    ensure!(!good, "accepted: {statuses:?}");
    Ok(())
}

pub(super) async fn forms(arena: &mut Arena) -> Result<String> {
    let bomb = form_bomb(&arena.hostile, 100 << 20)?;
    let statuses = at_once(arena, arena.scale.of(16, 80), &bomb).await?;
    none_is_good(&statuses)?;
    let payload = vec![b'\n'; 100 << 20];
    let form = [b"action=create_core_profiles&payload=".as_slice(), &payload].concat();
    let path = arena.hostile.path("v2", "identity/bulk_actions");
    let kind = "application/x-www-form-urlencoded";
    let upload =
        packed(&arena.hostile, &path, kind, Some("zstd"), &zstd::bulk::compress(&form, 3)?);
    let uploads = at_once(arena, arena.scale.of(4, 40), &upload).await?;
    none_is_good(&uploads)?;
    Ok(format!("{} bytes each, answered {statuses:?}; uploads {uploads:?}", bomb.len()))
}

pub(super) async fn part_headers(arena: &mut Arena) -> Result<String> {
    let head = "--b\r\nContent-Disposition: form-data; name=\"";
    let body = [head.as_bytes(), &vec![b'n'; 100 << 20]].concat();
    let path = arena.hostile.path("v1", "issues");
    let kind = "multipart/form-data; boundary=b";
    let bomb = packed(&arena.hostile, &path, kind, Some("gzip"), &gzip(&body)?);
    let statuses = at_once(arena, arena.scale.of(12, 40), &bomb).await?;
    none_is_good(&statuses)?;
    // One that is not packed, a little over the limit.
    let body = [head.as_bytes(), &vec![b'n'; 17 << 10], b"\"\r\n\r\nx\r\n--b--\r\n"].concat();
    let plain = packed(&arena.hostile, &path, kind, None, &body);
    let over = at_once(arena, 1, &plain).await?;
    none_is_good(&over)?;
    Ok(format!("{} bytes each, answered {statuses:?}; 17 KiB {over:?}", bomb.len()))
}

pub(super) async fn gzip_members(arena: &mut Arena) -> Result<String> {
    let member = gzip(b"")?;
    let count = arena.scale.of(20_000, 5_000_000);
    let body: Vec<u8> = member.iter().copied().cycle().take(member.len() * count).collect();
    let path = arena.hostile.path("v1", "issues");
    let kind = "application/x-www-form-urlencoded";
    let bomb = packed(&arena.hostile, &path, kind, Some("gzip"), &body);
    let statuses = at_once(arena, 2, &bomb).await?;
    none_is_good(&statuses)?;
    // One member more than allowed, with a good form in the last one.
    let mut body: Vec<u8> = member.iter().copied().cycle().take(member.len() * 1000).collect();
    body.extend(gzip(b"message-body=hello&email=a%40example.org")?);
    let over = at_once(arena, 1, &packed(&arena.hostile, &path, kind, Some("gzip"), &body)).await?;
    none_is_good(&over)?;
    Ok(format!("{count} empty members answered {statuses:?}, 1,001 answered {over:?}"))
}
