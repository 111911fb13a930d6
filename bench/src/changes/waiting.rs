//! What followers cost that wait for the next change: the server's share of one processor without
//! them, with event streams and with long polls. Nothing is written at that time.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::figures::{Limit, print_line};
use crate::issues::wire::Target;
use crate::postgres::database::seconds_of;

const FOLLOWERS: usize = 1_000;
const OBSERVED: Duration = Duration::from_secs(10);
/// Until the server has answered or forgotten all of them.
const SETTLED: Duration = Duration::from_secs(3);
/// The server's own work after the writes ends some time; this is how long it may take.
const QUIET_MAX: Duration = Duration::from_mins(1);
/// The share of a processor, in percent, below which the server is quiet.
const QUIET_SHARE: f64 = 2.0;
const LIMIT: Limit = Limit::AtMost(2.0);

/// How a follower waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    EventStream,
    LongPoll,
}

pub(super) async fn measure(target: &Target, server: u32) -> Result<()> {
    let begun = Instant::now();
    while share(server, Duration::from_secs(1)).await? > QUIET_SHARE && begun.elapsed() < QUIET_MAX
    {
    }
    let name = |followers: &str| format!("processor, {followers}");
    print_line(&name("no followers"), share(server, OBSERVED).await?, "%", LIMIT);
    for (way, followers) in
        [(Way::EventStream, "1,000 event streams"), (Way::LongPoll, "1,000 long polls")]
    {
        let streams = follow(target, way).await?;
        tokio::time::sleep(SETTLED).await;
        let used = share(server, OBSERVED).await?;
        for stream in &streams {
            check(stream, way)?;
        }
        print_line(&name(followers), used, "%", LIMIT);
        drop(streams);
        tokio::time::sleep(SETTLED).await;
    }
    Ok(())
}

/// The share of one processor that a process uses for some time, in percent.
async fn share(process: u32, time: Duration) -> Result<f64> {
    let (begun, before) = (Instant::now(), seconds_of(process)?);
    tokio::time::sleep(time).await;
    Ok((seconds_of(process)? - before) / begun.elapsed().as_secs_f64() * 100.0)
}

async fn follow(target: &Target, way: Way) -> Result<Vec<TcpStream>> {
    let (wait, accept) = match way {
        Way::EventStream => ("", "text/event-stream"),
        Way::LongPoll => ("&wait=60", "application/json"),
    };
    let request = format!(
        "GET /v1/bench/changes?cursor=latest{wait} HTTP/1.1\r\nhost: bench\r\naccept: {accept}\r\n\
         authorization: Bearer {}\r\n\r\n",
        target.key
    );
    let mut streams = Vec::new();
    for _ in 0..FOLLOWERS {
        let mut stream = TcpStream::connect(&target.address).await?;
        stream.write_all(request.as_bytes()).await?;
        streams.push(stream);
    }
    Ok(streams)
}

/// An event stream has begun, and a long poll has no answer yet.
fn check(stream: &TcpStream, way: Way) -> Result<()> {
    let mut head = [0; 12];
    match stream.try_read(&mut head) {
        Ok(_) => {
            let began = way == Way::EventStream && head == *b"HTTP/1.1 200";
            ensure!(began, "a follower was answered {}", String::from_utf8_lossy(&head));
        }
        Err(error) => {
            let waits = way == Way::LongPoll && error.kind() == ErrorKind::WouldBlock;
            ensure!(waits, "a follower has no answer: {error}");
        }
    }
    Ok(())
}
