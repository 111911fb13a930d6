//! Reads the whole log as lines, as cheaply as possible: HTTP/1.0 has no chunks, so that each
//! newline of the body ends a change.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::figures::real;
use crate::issues::wire::Target;

/// More bytes than the last line has.
const END_BYTES: usize = 512;

/// Changes per second of one reader. The log has at least so many changes.
pub(super) async fn read(target: &Target, at_least: usize) -> Result<f64> {
    let mut stream = TcpStream::connect(&target.address).await?;
    let request = format!(
        "GET /v1/bench/changes?cursor=* HTTP/1.0\r\nhost: bench\r\n\
         accept: application/x-ndjson\r\nauthorization: Bearer {}\r\n\r\n",
        target.key
    );
    let begun = Instant::now();
    stream.write_all(request.as_bytes()).await?;
    let (mut buffer, mut newlines, mut end) = (vec![0; 1 << 20], 0, Vec::new());
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        let read = &buffer[..read];
        newlines += read.iter().map(|byte| usize::from(*byte == b'\n')).sum::<usize>();
        end.extend_from_slice(&read[read.len().saturating_sub(END_BYTES)..]);
        end.drain(..end.len().saturating_sub(END_BYTES));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let end = String::from_utf8_lossy(&end);
    let last = end.lines().last().unwrap_or_default();
    let last: serde_json::Value =
        serde_json::from_str(last).with_context(|| format!("the log was cut: {last}"))?;
    let count = last["count"].as_u64().with_context(|| format!("no count: {last}"))? as usize;
    ensure!(last["end"] == true, "the log was cut: {last}");
    ensure!(count >= at_least && newlines > count, "{newlines} lines, and at the end {last}");
    Ok(real(count) / seconds)
}
