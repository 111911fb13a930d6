//! Requests that read very many issues: searches in texts, and how they slow other requests; the
//! stream of all issues; a cursor step far inside the list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::cases::Case;
use super::wire::{Connection, Path, Target, drive};
use crate::figures::real;
use crate::memory::resident;

/// Steps before the measured one.
const STEPS_BEFORE: usize = 20;

/// Bytes of the stream between two reads of the server's memory.
const LOOK_EVERY: usize = 16 << 20;

/// A step of 100 issues from far inside the list.
pub(crate) async fn cursor_case(target: &Target) -> Result<Case> {
    let mut connection = Connection::open(target).await?;
    let mut cursor = String::new();
    for _ in 0..STEPS_BEFORE {
        let path = format!("/v1/bench/issues?page-size=1000&cursor={cursor}");
        let (status, body) = connection.get(&path, true).await?;
        ensure!(status == 200, "{path} answered {status}");
        let envelope: serde_json::Value = serde_json::from_slice(&body)?;
        envelope["next-cursor"].as_str().unwrap_or_default().clone_into(&mut cursor);
    }
    let path: Path = Arc::new(move |_| format!("/v1/bench/issues?page-size=100&cursor={cursor}"));
    Ok(Case { name: "cursor step of 100".to_owned(), path, connections: 16, against_hello: false })
}

/// Times text searches over all issues and over one state; then the rate of lists while others
/// search texts.
#[expect(clippy::print_stdout, reason = "the figures are the output")]
pub(crate) async fn texts(target: &Target) -> Result<()> {
    let words = "/v1/bench/issues?page-size=10&messages=%7B%22and%22:%5B%22kaloter%22%5D%7D";
    let part = format!("{words}&state=new");
    for (name, path) in [("text over all", words), ("text over one state", &part)] {
        let begun = Instant::now();
        let (status, body) = Connection::open(target).await?.get(path, true).await?;
        println!("{name}: status {status} after {:.2} s", begun.elapsed().as_secs_f64());
        println!("    {}", String::from_utf8_lossy(&body[..body.len().min(160)]));
    }
    let list: Path = Arc::new(|_| "/v1/bench/issues?page-size=100".to_owned());
    let turn = Duration::from_secs(3);
    let before = drive(target, &list, 16, turn).await?.per_second;
    let stop = Instant::now() + turn + Duration::from_secs(1);
    let scans: Vec<_> = (0..4)
        .map(|_| {
            let target = target.clone();
            tokio::spawn(async move {
                while Instant::now() < stop {
                    Connection::open(&target).await?.get(words, false).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let meanwhile = drive(target, &list, 16, turn).await?.per_second;
    for scan in scans {
        scan.await??;
    }
    let after = drive(target, &list, 16, turn).await?.per_second;
    let alone = f64::midpoint(before, after);
    println!(
        "lists of 100 alone {before:.0} and {after:.0}/s, with four text searches at the same time \
         {meanwhile:.0}/s: {:.2}",
        meanwhile / alone
    );
    Ok(())
}

/// Reads the stream of a whole list, and the server's anonymous memory during it. Pages of the
/// mapped store belong to the system's cache and are not counted. The rate in MB a second.
#[expect(clippy::print_stdout, reason = "the figures are the output")]
pub(crate) async fn stream(target: &Target, server: u32, path: &str) -> Result<f64> {
    let own = || resident(server, "RssAnon");
    let before = own()?;
    let (mut most, mut looked) = (before, 0);
    let mut stream = TcpStream::connect(&target.address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\
         accept: application/x-ndjson\r\nauthorization: Bearer {}\r\n\r\n",
        target.key
    );
    let begun = Instant::now();
    stream.write_all(request.as_bytes()).await?;
    let (mut buffer, mut bytes, mut end) = (vec![0; 1 << 20], 0_usize, Vec::new());
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        bytes += read;
        if bytes - looked > LOOK_EVERY {
            looked = bytes;
            most = own()?.max(most);
        }
        end.extend_from_slice(&buffer[read.saturating_sub(200)..read]);
        end.drain(..end.len().saturating_sub(200));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let megabytes = real(bytes) / 1e6;
    let end = String::from_utf8_lossy(&end).replace("\r\n", " ");
    let end = end.rfind("{\"end\"").map_or("cut", |at| &end[at..]);
    println!("stream: {megabytes:.0} MB in {seconds:.1} s, {:.0} MB/s; {end}", megabytes / seconds);
    println!("the server's anonymous memory: {before:.0} MiB before, {most:.0} MiB at most");
    Ok(megabytes / seconds)
}
