//! Connections of strangers: many, silent, slow. Strangers connect from other loopback addresses
//! than the calm tenant, as they would from other machines.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::hostile::arena::Arena;
use crate::hostile::wire::{answer, connect, ends_within, exchange};

/// The limit of the server in these cases, and connections beyond it.
const MOST: usize = 120;
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

/// Opens connections with one request of the hostile tenant on each. Returns them, and how many
/// were answered 200.
async fn with_key(arena: &Arena, count: usize) -> Result<(Vec<TcpStream>, usize)> {
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        arena.hostile.path("v1", "issues/1"),
        arena.hostile.key
    );
    let (mut open, mut good) = (Vec::new(), 0);
    for _ in 0..count {
        let mut stream = connect(&arena.address(), 2).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.context("a connection ended without an answer")?;
        good += usize::from(head.ends_with(b"200"));
        open.push(stream);
    }
    Ok((open, good))
}

/// Another tenant is answered on new connections, and on each of them.
async fn others_have_places(arena: &Arena) -> Result<()> {
    for _ in 0..20 {
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Connection: close\r\n\r\n",
            arena.calm.path("v1", "issues/1"),
            arena.calm.key
        );
        let raw = exchange(&arena.address(), request.as_bytes()).await?;
        ensure!(raw.status == 200, "another tenant was answered {}", raw.status);
    }
    Ok(())
}

/// How many of these connections the server has not ended.
async fn still_open(streams: &mut [TcpStream]) -> usize {
    let mut open = 0;
    for stream in streams {
        open += usize::from(!ends_within(stream, Duration::from_millis(10)).await);
    }
    open
}

pub(super) async fn one_key(arena: &mut Arena) -> Result<String> {
    arena.hostile.make_issue("before").await?.good()?;
    let (mut streams, good) = with_key(arena, MANY).await?;
    ensure!(good == MANY, "{good} of {MANY} were answered 200: an idle connection makes room");
    others_have_places(arena).await?;
    let open = still_open(&mut streams).await;
    ensure!(open <= MOST / 4, "a key has {open} of {MOST} connections");
    others_have_places(arena).await?;
    Ok(format!("{open} of {MANY} connections of a key are left"))
}

pub(super) async fn over_the_limit(arena: &mut Arena) -> Result<String> {
    arena.command(&["domain", "edit", "hostile", "--rate-limit", "20"])?;
    arena.hostile.make_issue("before").await?.good()?;
    let (mut streams, good) = with_key(arena, MANY).await?;
    ensure!(good < MANY / 4, "{good} requests were within the limit");
    others_have_places(arena).await?;
    arena.calm.make_issue("during").await?.good()?;
    let open = still_open(&mut streams).await;
    Ok(format!("{good} of {MANY} requests were within the limit, {open} connections are left"))
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

pub(super) async fn slow_sign_in(arena: &mut Arena) -> Result<String> {
    let mut stream = connect(&arena.address(), 2).await?;
    let head = "POST /console/session HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{";
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
    let mut received = Vec::new();
    let end = stream.read_to_end(&mut received).await;
    ensure!(received.len() < whole, "an answer waited {SLOW_ENDS:?} for its reader");
    let is_reset = matches!(&end, Err(error) if error.kind() == ErrorKind::ConnectionReset);
    ensure!(is_reset, "the kernel has the rest of the answer: {end:?}");
    Ok(format!("{} bytes of {whole} were received", received.len()))
}

pub(super) async fn idle(arena: &mut Arena) -> Result<String> {
    let mut stream = connect(&arena.address(), 2).await?;
    stream.write_all(HEALTH.as_bytes()).await?;
    let ended = ends_within(&mut stream, SLOW_ENDS).await;
    ensure!(ended, "an idle connection remained for {SLOW_ENDS:?}");
    Ok("the connection was ended".to_owned())
}
