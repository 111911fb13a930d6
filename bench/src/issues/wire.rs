//! A client that costs as little as possible: it sends one request after another on an open
//! connection, reads the length of the body from the head, and discards the body.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::figures::{quantile, real};
use bench::server::Server;

/// The server to send requests to.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: String,
    pub(crate) key: String,
}

impl Target {
    pub(crate) fn of(server: &Server) -> Self {
        let address = server.url.trim_start_matches("http://").to_owned();
        Self { address, key: server.key.clone() }
    }
}

pub(crate) struct Connection {
    stream: TcpStream,
    key: String,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self> {
        let stream = TcpStream::connect(&target.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, key: target.key.clone(), buffer: vec![0; 256 << 10] })
    }

    /// Sends a request; returns the status and, if `keep` is set, the body.
    pub(crate) async fn get(&mut self, path: &str, keep: bool) -> Result<(u16, Vec<u8>)> {
        self.send(&format!("GET {path}"), "", "", keep).await
    }

    /// The same with a form.
    pub(crate) async fn post(&mut self, path: &str, form: &str) -> Result<(u16, Vec<u8>)> {
        let headers = format!(
            "content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n",
            form.len()
        );
        self.send(&format!("POST {path}"), &headers, form, true).await
    }

    async fn send(
        &mut self,
        request: &str,
        headers: &str,
        body: &str,
        keep: bool,
    ) -> Result<(u16, Vec<u8>)> {
        let key = &self.key;
        let request = format!(
            "{request} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n{headers}\r\n\
             {body}"
        );
        self.stream.write_all(request.as_bytes()).await?;
        let mut filled = 0;
        let head = loop {
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            ensure!(read > 0, "the server closed the connection");
            filled += read;
            let end = self.buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&self.buffer[..head])?.to_ascii_lowercase();
        let status: u16 = text.get(9..12).context("no status")?.parse()?;
        let Some((_, length)) = text.split_once("content-length: ") else {
            bail!("an answer without a length: {text}");
        };
        let length: usize = length.split("\r\n").next().unwrap_or_default().parse()?;
        let mut body = if keep { self.buffer[head..filled].to_vec() } else { Vec::new() };
        let mut left = length - (filled - head);
        while left > 0 {
            let room = self.buffer.len().min(left);
            let read = self.stream.read(&mut self.buffer[..room]).await?;
            ensure!(read > 0, "the answer was cut");
            left -= read;
            if keep {
                body.extend_from_slice(&self.buffer[..read]);
            }
        }
        Ok((status, body))
    }
}

/// Creates a small issue in the domain `bench`; returns its id.
pub(crate) async fn create_issue(connection: &mut Connection) -> Result<String> {
    let form = "message-body=It+did+not+arrive&email=writer%40example.org";
    let (status, body) = connection.post("/v1/bench/issues", form).await?;
    ensure!(status == 201, "a creation answered {status}: {}", String::from_utf8_lossy(&body));
    let issue: serde_json::Value = serde_json::from_slice(&body)?;
    Ok(issue["id"].as_str().context("an issue without an id")?.to_owned())
}

/// Makes the path of request number `n`.
pub(crate) type Path = std::sync::Arc<dyn Fn(usize) -> String + Send + Sync>;

/// The figures of a run.
#[derive(Default)]
pub(crate) struct Run {
    /// Milliseconds of each request, ascending.
    pub(crate) times: Vec<f64>,
    pub(crate) per_second: f64,
}

impl Run {
    pub(crate) fn at(&self, share: f64) -> f64 {
        quantile(&self.times, share)
    }
}

/// Sends requests over `connections` for some time. Every answer must be 200.
pub(crate) async fn drive(
    target: &Target,
    path: &Path,
    connections: usize,
    time: Duration,
) -> Result<Run> {
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for lane in 0..connections {
        let (target, path) = (target.clone(), path.clone());
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(&target).await?;
            let mut times = Vec::new();
            let mut n = lane;
            while begun.elapsed() < time {
                let path = path(n);
                n += connections;
                let sent = Instant::now();
                let (status, _) = connection.get(&path, false).await?;
                ensure!(status == 200, "{path} answered {status}");
                times.push(sent.elapsed().as_secs_f64() * 1e3);
            }
            anyhow::Ok(times)
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let per_second = real(times.len()) / begun.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    Ok(Run { times, per_second })
}

/// The total of an answer.
pub(crate) fn total_hits(body: &[u8]) -> Result<usize> {
    let envelope: serde_json::Value = serde_json::from_slice(body)?;
    Ok(envelope["total-hits"].as_u64().context("no total")? as usize)
}
