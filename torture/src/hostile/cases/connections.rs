//! Connections of strangers: many, silent, slow. Strangers connect from other loopback addresses
//! than the calm tenant, as they would from other machines.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::hostile::arena::Arena;
use crate::hostile::wire::{answer, connect, ends_within};

/// Connections beyond the limit of the server in these cases.
const MANY: usize = 160;
/// How long strangers stay.
const STAY: Duration = Duration::from_secs(2);
/// Time limits with room for a busy machine: the server's own are shorter.
const HEAD_ENDS: Duration = Duration::from_mins(1);
const SLOW_ENDS: Duration = Duration::from_mins(3);

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Connections from addresses in turn, each with a request whose answer is not read.
async fn strangers(address: &str, count: usize, from: &[u8]) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for n in 0..count {
        // Some are refused, which is one way to hold this attack.
        let Ok(mut stream) = connect(address, from[n % from.len()]).await else { continue };
        if n % 2 == 0 {
            drop(stream.write_all(HEALTH.as_bytes()).await);
        }
        open.push(stream);
    }
    open
}

/// The server says that it is healthy, on a new connection.
async fn healthy(arena: &Arena) -> Result<()> {
    let mut stream = connect(&arena.address(), 1).await.context("no connection for /healthz")?;
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let raw = answer(&mut stream).await;
    ensure!(raw.status == 200, "/healthz was answered {}", raw.status);
    Ok(())
}

pub(super) async fn never_read(arena: &mut Arena) -> Result<String> {
    let open = strangers(&arena.address(), MANY, &[2]).await;
    healthy(arena).await?;
    tokio::time::sleep(STAY).await;
    healthy(arena).await?;
    arena.hostile.make_issue("from a new connection").await?.good()?;
    Ok(format!("{} connections of one address", open.len()))
}

pub(super) async fn many_addresses(arena: &mut Arena) -> Result<String> {
    // Those who have authenticated keep their place.
    arena.hostile.make_issue("before").await?.good()?;
    let open = strangers(&arena.address(), MANY, &[2, 3, 4, 5, 6, 7, 8, 9]).await;
    arena.hostile.make_issue("during").await?.good()?;
    tokio::time::sleep(STAY).await;
    healthy(arena).await?;
    Ok(format!("{} connections of eight addresses", open.len()))
}

pub(super) async fn slow_head(arena: &mut Arena) -> Result<String> {
    let mut stream = connect(&arena.address(), 2).await?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").await?;
    let ended = ends_within(&mut stream, HEAD_ENDS).await;
    ensure!(ended, "half a head was waited for longer than {HEAD_ENDS:?}");
    Ok("the connection was ended".to_owned())
}

pub(super) async fn slow_body(arena: &mut Arena) -> Result<String> {
    let mut stream = connect(&arena.address(), 2).await?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{{",
        arena.hostile.path("v1", "issues"),
        arena.hostile.key
    );
    stream.write_all(head.as_bytes()).await?;
    drip(stream).await
}

/// Sends a byte a second until the server ends the connection.
async fn drip(mut stream: TcpStream) -> Result<String> {
    let begun = std::time::Instant::now();
    while begun.elapsed() < SLOW_ENDS {
        if ends_within(&mut stream, Duration::from_secs(1)).await
            || stream.write_all(b" ").await.is_err()
        {
            return Ok(format!("ended after {:.0} s", begun.elapsed().as_secs_f64()));
        }
    }
    anyhow::bail!("a body of a byte a second was waited for {SLOW_ENDS:?}")
}

pub(super) async fn slow_answer(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let body = "x".repeat(100_000);
    let whole = 120 * body.len();
    for _ in 0..120 {
        hostile.make_issue(&body).await?.good()?;
    }
    let mut stream = connect(&arena.address(), 2).await?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        hostile.path("v1", "issues?page-size=120"),
        hostile.key
    );
    stream.write_all(request.as_bytes()).await?;
    tokio::time::sleep(SLOW_ENDS).await;
    // The kernel still has the sent bytes; the connection ends after it, before the whole answer.
    let raw = answer(&mut stream).await;
    ensure!(raw.body.len() < whole, "an answer waited {SLOW_ENDS:?} for its reader");
    Ok(format!("{} bytes of {whole} had been sent", raw.body.len()))
}

pub(super) async fn idle(arena: &mut Arena) -> Result<String> {
    let mut stream = connect(&arena.address(), 2).await?;
    stream.write_all(HEALTH.as_bytes()).await?;
    let ended = ends_within(&mut stream, SLOW_ENDS).await;
    ensure!(ended, "an idle connection remained for {SLOW_ENDS:?}");
    Ok("the connection was ended".to_owned())
}
