//! Every issue that matches, as a stream of lines that ends only when the server has said that it
//! is whole. A stream that is cut (by the network, or by a server that stops) is asked for again
//! from behind the last line that came, so that the caller sees neither a gap nor a repeat; after
//! some cuts in a row without a line between them it gives up. What is checked: the last line is
//! there, and it counts as many issues as came.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::body::Lines;
use crate::error::ClientError;
use crate::http::Client;
use crate::issues::IssueParams;

const JSON_LINES: &str = "application/x-ndjson";
/// Cuts in a row, without a line between them, after which the stream is given up.
const CUTS_MAX: u32 = 6;
/// Wait before the first try to go on, where the caller names none.
const WAIT_MS: u64 = 250;

/// A stream of issues, oldest first unless the parameters say otherwise.
#[derive(Debug)]
pub struct IssueStream<'a> {
    client: &'a Client,
    params: IssueParams,
    order: Order,
    lines: Option<Lines>,
    /// Where the last issue stands, as the parameter `after` says it.
    place: Option<String>,
    /// Issues since the stream was last asked for, and in all.
    of_answer: u64,
    received: u64,
    cuts: u32,
    wait: Duration,
    next_cursor: Option<String>,
}

/// What the issues are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Creation,
    Update,
    StateChange,
}

/// As much of a line as it takes to know its place, or that it is the last one.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    end: bool,
    count: Option<u64>,
    #[serde(rename = "next-cursor")]
    next_cursor: Option<String>,
    id: Option<u64>,
    created_at: Option<Value>,
    updated_at: Option<Value>,
    state_data: Option<StateData>,
}

#[derive(Deserialize)]
struct StateData {
    changed_at: Option<Value>,
}

impl Client {
    /// Streams the issues that match. Nothing is sent yet.
    pub fn stream_issues(&self, mut params: IssueParams) -> IssueStream<'_> {
        // An order of the server's choice would leave it open where to go on.
        let order = match params.value("sort-by") {
            Some("update-time") => Order::Update,
            Some("state-change-time") => Order::StateChange,
            Some(_) => Order::Creation,
            None => {
                params.push("sort-by", "creation-time");
                Order::Creation
            }
        };
        if !params.has("sort-order") {
            params.push("sort-order", "asc");
        }
        IssueStream {
            client: self,
            params,
            order,
            lines: None,
            place: None,
            of_answer: 0,
            received: 0,
            cuts: 0,
            wait: Duration::from_millis(WAIT_MS),
            next_cursor: None,
        }
    }
}

impl IssueStream<'_> {
    /// The same stream with another wait before the first try to go on after a cut. It doubles with
    /// each further try.
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The next issue as the bytes that came, without a newline; `None` when all were there.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while self.next_cursor.is_none() {
            let line = match self.line().await {
                Ok(line) => line,
                Err(ClientError::Unreachable { .. }) if self.received > 0 => None,
                Err(error) => return Err(error),
            };
            // A line that is no whole JSON is the beginning of one that was cut.
            let read = line.and_then(|line| Some((serde_json::from_slice(&line).ok()?, line)));
            let Some((read, line)) = read else {
                self.cut().await?;
                continue;
            };
            if self.take(read)? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// Issues that came so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The cursor behind the last issue, once the stream has ended; empty where none ever came.
    pub fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }

    async fn line(&mut self) -> Result<Option<Bytes>, ClientError> {
        if let Some(lines) = &mut self.lines {
            return lines.next().await;
        }
        let mut pairs = self.params.pairs();
        if let Some(place) = &self.place {
            pairs.retain(|(name, _)| *name != "cursor");
            pairs.push(("after", place));
        }
        self.of_answer = 0;
        let url = self.client.path("v1", "issues");
        let body = self.client.read(&url, JSON_LINES, &pairs).await?;
        self.lines.insert(body.lines()).next().await
    }

    /// Takes a whole line; whether it is an issue.
    fn take(&mut self, line: Line) -> Result<bool, ClientError> {
        if line.end {
            if line.count != Some(self.of_answer) {
                let reason = format!("{:?} issues counted, {} sent", line.count, self.of_answer);
                return Err(self.client.unexpected(reason));
            }
            self.next_cursor = Some(line.next_cursor.unwrap_or_default());
            self.lines = None;
            return Ok(false);
        }
        let at = match self.order {
            Order::Creation => line.created_at,
            Order::Update => line.updated_at,
            Order::StateChange => line.state_data.and_then(|state| state.changed_at),
        };
        let (Some(at), Some(id)) = (at, line.id) else {
            return Err(self.client.unexpected("a line that is no issue"));
        };
        let at = at.as_str().map_or_else(|| at.to_string(), str::to_owned);
        self.place = Some(format!("{at},{id}"));
        self.of_answer += 1;
        self.received += 1;
        self.cuts = 0;
        Ok(true)
    }

    /// Waits before the next try, while there is one left.
    async fn cut(&mut self) -> Result<(), ClientError> {
        self.lines = None;
        if self.cuts == CUTS_MAX {
            return Err(ClientError::Cut {
                url: self.client.url().to_owned(),
                issues: self.received,
            });
        }
        tokio::time::sleep(self.wait * (1 << self.cuts)).await;
        self.cuts += 1;
        Ok(())
    }
}
