//! When changes of issues arrive: as events of a stream, or as deliveries of a webhook to a
//! receiver of this program. Issues are created one by one, and each is timed from its 201 until
//! its change is here.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;

use crate::figures::millis;
use crate::issues::wire::{Connection, Target, create_issue};

/// A change that takes longer will not come.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// Time between an arrival and the next creation.
const PAUSE: Duration = Duration::from_millis(10);
/// Arrivals that wait to be looked at.
const QUEUED: usize = 1_000;

/// The time of an arrival, and the id of the issue.
type Arrival = (Instant, String);

/// The arrivals of one source.
pub(super) struct Arrivals {
    arrivals: Receiver<Arrival>,
    /// Ends when this is dropped.
    _source: JoinSet<Result<()>>,
}

impl Arrivals {
    /// Those of an event stream that begins at the end of the log.
    pub(super) async fn of_stream(target: &Target) -> Result<Self> {
        let mut stream = TcpStream::connect(&target.address).await?;
        // HTTP/1.0 has no chunks, so that each line is one of the stream.
        let request = format!(
            "GET /v1/bench/changes?cursor=latest HTTP/1.0\r\nhost: bench\r\n\
             accept: text/event-stream\r\nauthorization: Bearer {}\r\n\r\n",
            target.key
        );
        stream.write_all(request.as_bytes()).await?;
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await?.unwrap_or_default();
        ensure!(status.contains(" 200 "), "the event stream answered {status}");
        // The first position is sent at once: from here on the server follows.
        while !lines.next_line().await?.context("the stream ended")?.starts_with("id:") {}
        Ok(Self::of(|sender| events(lines, sender)))
    }

    /// Those of a receiver of webhooks, and its URL.
    pub(super) async fn of_receiver() -> Result<(Self, String)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let arrivals = Self::of(|sender| async move {
            let app = Router::new().fallback(delivered).with_state(sender);
            Ok(axum::serve(listener, app).await?)
        });
        Ok((arrivals, url))
    }

    fn of<S>(source: impl FnOnce(Sender<Arrival>) -> S) -> Self
    where
        S: Future<Output = Result<()>> + Send + 'static,
    {
        let (sender, arrivals) = channel(QUEUED);
        let mut running = JoinSet::new();
        running.spawn(source(sender));
        Self { arrivals, _source: running }
    }

    /// Creates so many issues; returns the milliseconds from each 201 to the arrival.
    pub(super) async fn time(mut self, target: &Target, count: usize) -> Result<Vec<f64>> {
        let mut connection = Connection::open(target).await?;
        let mut waits = Vec::new();
        for _ in 0..count {
            let id = create_issue(&mut connection).await?;
            let created = Instant::now();
            let arrival = tokio::time::timeout(ARRIVAL_MAX, self.arrival(&id)).await;
            let arrived = arrival.with_context(|| format!("issue {id} does not arrive"))??;
            // A change may be here before the answer to the creation.
            waits.push(millis(arrived.saturating_duration_since(created)));
            tokio::time::sleep(PAUSE).await;
        }
        Ok(waits)
    }

    async fn arrival(&mut self, wanted: &str) -> Result<Instant> {
        loop {
            let (at, id) = self.arrivals.recv().await.context("the source of arrivals ended")?;
            if id == wanted {
                return Ok(at);
            }
        }
    }
}

/// Sends on the issues of an event stream.
async fn events(mut lines: Lines<BufReader<TcpStream>>, arrivals: Sender<Arrival>) -> Result<()> {
    while let Some(line) = lines.next_line().await? {
        let at = Instant::now();
        if let Some(data) = line.strip_prefix("data:") {
            send(at, &serde_json::from_str(data)?, &arrivals).await;
        }
    }
    Ok(())
}

/// Sends on the issues of a delivery.
async fn delivered(State(arrivals): State<Sender<Arrival>>, body: Bytes) -> StatusCode {
    let at = Instant::now();
    let Ok(delivery) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    for change in delivery["changes"].as_array().into_iter().flatten() {
        send(at, change, &arrivals).await;
    }
    StatusCode::NO_CONTENT
}

async fn send(at: Instant, change: &Value, arrivals: &Sender<Arrival>) {
    if let ("issue", Some(id)) = (change["resource"].as_str().unwrap_or(""), change["id"].as_str())
    {
        // It fails only at the end of the measurement.
        let _ = arrivals.send((at, id.to_owned())).await;
    }
}
