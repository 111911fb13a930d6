//! The log as a body without an end in sight. Lines are all changes up to the end that the log had
//! when the stream began, and a last line that confirms it. Events go on: each commit is sent as it
//! happens, until the server stops or the key no longer works. Each portion is read after the
//! client has taken the one before it, so that memory does not grow with the log.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::header;
use tokio::time::timeout;

use super::log_end::LogEnd;
use super::reader::{LogReader, Portion};
use crate::http::connection::LongAnswer;
use crate::http::follower::{Follower, KEEP_ALIVE_SECONDS};
use crate::http::memory::WAIT;
use crate::http::problem::Problem;

pub(super) const EVENTS: &str = "text/event-stream";

struct LineStream {
    reader: LogReader,
    /// The stream ends here or later.
    end: LogEnd,
    /// The portion that was read before the answer began.
    first: Option<Portion>,
    count: u64,
    ended: bool,
}

/// All changes up to the present end, one per line.
pub(super) async fn lines(
    mut reader: LogReader,
    content_type: &'static str,
) -> Result<Response, Problem> {
    let end = LogEnd(reader.state.store.last_position(reader.caller.domain_id).await?);
    let first = Some(reader.portion(WAIT).await?);
    let begin = LineStream { reader, end, first, count: 0, ended: false };
    let pieces = stream::try_unfold(begin, |mut lines| async {
        Ok::<_, io::Error>(lines.piece().await?.map(|piece| (piece, lines)))
    });
    Ok(long_answer(content_type, Body::from_stream(pieces)))
}

impl LineStream {
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        while !self.ended {
            let mut portion = match self.first.take() {
                Some(first) => first,
                None => self.reader.next().await?,
            };
            self.count += portion.count;
            self.ended = !portion.moved || self.reader.end() >= self.end;
            if self.ended && !self.reader.request.without_trailer {
                let (count, cursor) = (self.count, self.reader.after);
                let end =
                    format!("{{\"end\":true,\"count\":{count},\"next-cursor\":\"{cursor}\"}}\n");
                portion.bytes.extend_from_slice(end.as_bytes());
            }
            if !portion.bytes.is_empty() {
                return Ok(Some(portion.memory.hold(portion.bytes)));
            }
        }
        Ok(None)
    }
}

struct EventStream {
    reader: LogReader,
    follower: Follower<LogEnd>,
    seen: LogEnd,
    begun: bool,
}

/// The changes as they are committed.
pub(super) fn events(reader: LogReader) -> Response {
    let (follower, seen) = (reader.follower(), reader.end());
    let begin = EventStream { reader, follower, seen, begun: false };
    let pieces = stream::unfold(begin, |mut events| async {
        events.piece().await.map(|piece| (Ok::<_, io::Error>(piece), events))
    });
    long_answer(EVENTS, Body::from_stream(pieces))
}

impl EventStream {
    /// The next events; `None` if there will be none.
    async fn piece(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(self.heartbeat());
        }
        loop {
            let portion = self.reader.next().await.ok()?;
            if portion.count > 0 {
                return Some(portion.memory.hold(portion.bytes));
            }
            if portion.moved {
                continue;
            }
            drop(portion);
            self.seen = self.seen.max(self.reader.end());
            let later = self.follower.later_than(&self.seen);
            match timeout(Duration::from_secs(KEEP_ALIVE_SECONDS), later).await {
                Ok(end) => self.seen = end.ok()??,
                Err(_) => return Some(self.heartbeat()),
            }
        }
    }

    /// A comment, and the position from which a client continues that was sent no change for long.
    fn heartbeat(&self) -> Bytes {
        format!(":\nid: {}\n\n", self.reader.after).into()
    }
}

fn long_answer(content_type: &'static str, body: Body) -> Response {
    let headers = [(header::CONTENT_TYPE, content_type), (header::VARY, "Accept")];
    let mut response = (headers, body).into_response();
    response.extensions_mut().insert(LongAnswer);
    response
}
