//! All matching issues, as a stream of lines that ends only when the server has confirmed that it
//! is complete. If the stream is cut, by the network or by a server that stops, the client resumes
//! it after the last complete line, so that the caller sees neither a gap nor a repeat. After
//! several cuts in a row without a line between them it fails. Invariant: a stream that ends has
//! had its last line, and that line counts as many issues as arrived.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::body::Lines;
use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;

pub(crate) const JSON_LINES: &str = "application/x-ndjson";
/// A read of a whole list fails after this many cuts in a row with nothing received between them.
pub(crate) const CUTS_MAX: u32 = 6;
/// The wait before it is resumed for the first time, unless the caller sets another.
pub(crate) const WAIT_MS: u64 = 250;

/// A stream of issues, oldest first unless the parameters say otherwise.
#[derive(Debug)]
pub struct IssueStream<'a> {
    client: &'a Client,
    params: Params,
    order: Order,
    lines: Option<Lines>,
    /// The position of the last issue, in the form of the parameter `after`.
    position: Option<String>,
    /// Issues of the current answer.
    of_answer: u64,
    /// Issues of all answers.
    received: u64,
    cuts: u32,
    wait: Duration,
    next_cursor: Option<String>,
}

/// The sort key of the issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Creation,
    Update,
    StateChange,
}

/// The members of a line that give its position or mark it as the last one.
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
    /// Streams the matching issues. It sends nothing yet.
    pub fn stream_issues(&self, mut params: Params) -> IssueStream<'_> {
        // Without a known order the client could not resume.
        let order = match params.value("sort-by") {
            Some("update-time") => Order::Update,
            Some("state-change-time") => Order::StateChange,
            Some(_) => Order::Creation,
            None => {
                params.push("sort-by", "creation-time");
                Order::Creation
            }
        };
        params.push_default("sort-order", "asc");
        IssueStream {
            client: self,
            params,
            order,
            lines: None,
            position: None,
            of_answer: 0,
            received: 0,
            cuts: 0,
            wait: Duration::from_millis(WAIT_MS),
            next_cursor: None,
        }
    }
}

impl IssueStream<'_> {
    /// Sets the wait before the stream is resumed after a cut. It doubles with each further try.
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The next issue as the bytes that the server sent, without a newline; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while self.next_cursor.is_none() {
            let line = match self.line().await {
                Ok(line) => line,
                Err(error) if self.received > 0 && error.is_unanswered() => None,
                Err(error) => return Err(error),
            };
            // A line that is not complete JSON is the beginning of a line that was cut.
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

    /// Issues received so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The cursor after the last issue, once the stream has ended; empty if there were no issues.
    pub fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }

    async fn line(&mut self) -> Result<Option<Bytes>, ClientError> {
        if let Some(lines) = &mut self.lines {
            return lines.next().await;
        }
        let mut pairs = self.params.pairs();
        if let Some(position) = &self.position {
            pairs.retain(|(name, _)| *name != "cursor");
            pairs.push(("after", position));
        }
        self.of_answer = 0;
        let url = self.client.path("v1", "issues");
        let body = self.client.read(&url, JSON_LINES, &pairs).await?;
        self.lines.insert(body.lines()).next().await
    }

    /// Takes a complete line. Returns whether it is an issue.
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
            return Err(self.client.unexpected("a line that is not an issue"));
        };
        let at = at.as_str().map_or_else(|| at.to_string(), str::to_owned);
        self.position = Some(format!("{at},{id}"));
        self.of_answer += 1;
        self.received += 1;
        self.cuts = 0;
        Ok(true)
    }

    /// Waits before the next try, or fails if there were too many.
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
