//! The requests of an HTTP/2 connection, which are open at the same time. Each one has times of its
//! own. An answer leaves in pieces, and hyper gets the next piece when the client has room for it.
//! So the bytes of an answer that is not taken hold their memory. A request is open until the
//! network has the last piece. If the client exceeds a time of one request, the connection ends.

use std::collections::BTreeMap;
use std::task::Waker;

use http::Request;
use tokio::time::Instant;

use super::timing::{ClientTimeout, REFUSED_BODY_LOOK, Timing, Waiting};
use crate::http::memory::Memory;

/// The most requests that are open on one connection: clients expect at least so many.
pub(crate) const STREAMS_MAX: u32 = 100;
/// The most bytes of an answer that hyper has and the network has not.
pub(crate) const SEND_BUFFER_BYTES: usize = 16 << 10;
/// The bytes of a request body that a client may send before the server has read them. It holds for
/// one request and for all of the connection.
pub(crate) const WINDOW_BYTES: u32 = 256 << 10;
/// The memory of a request for the part of its answer that leaves: a piece, and the bytes that
/// hyper has.
const STREAM_BYTES: usize = 32 << 10;
/// The longest piece of an answer.
pub(super) const PIECE_BYTES: usize = 16 << 10;
/// The memory of a header, apart from its bytes.
const HEADER_BYTES: usize = 64;

/// The open requests of a connection.
#[derive(Debug)]
pub(super) struct Streams {
    open: BTreeMap<u64, Stream>,
    /// Of the time without an open request.
    idle: Timing,
}

#[derive(Debug)]
struct Stream {
    timing: Timing,
    is_body_open: bool,
    is_answer_open: bool,
    /// Bytes of pieces that the network has not taken.
    unsent: usize,
    body_reader: Option<Waker>,
    memory: Option<Memory>,
}

impl Streams {
    pub(super) fn new(idle: Timing) -> Self {
        Self { open: BTreeMap::new(), idle }
    }

    pub(super) fn begin(&mut self, request: u64, is_body_open: bool, now: Instant) {
        let mut timing = self.idle.of_another(now);
        timing.begin();
        let (is_answer_open, unsent) = (true, 0);
        let (body_reader, memory) = (None, None);
        let stream = Stream { timing, is_body_open, is_answer_open, unsent, body_reader, memory };
        self.open.insert(request, stream);
    }

    /// Holds memory until the request has ended.
    pub(super) fn hold(&mut self, request: u64, memory: Memory) {
        if let Some(stream) = self.open.get_mut(&request) {
            stream.memory = Some(memory);
        }
    }

    pub(super) fn answer_begins(&mut self, request: u64, is_long: bool, now: Instant) {
        if let Some(stream) = self.open.get_mut(&request) {
            stream.timing.answer_begins(now, is_long);
        }
    }

    /// The reader of a body waits for bytes, or got them. Returns whether they come too slowly.
    pub(super) fn body_moved(
        &mut self,
        request: u64,
        bytes: Option<usize>,
        reader: &Waker,
        now: Instant,
    ) -> bool {
        let Some(stream) = self.open.get_mut(&request) else { return false };
        stream.timing.body_moved(now, bytes);
        stream.body_reader = bytes.is_none().then(|| reader.clone());
        stream.timing.take_slow_body()
    }

    pub(super) fn body_ended(&mut self, request: u64, now: Instant) {
        if let Some(stream) = self.open.get_mut(&request) {
            stream.is_body_open = false;
            stream.timing.body_moved(now, Some(0));
        }
        self.end_if_complete(request, now);
    }

    pub(super) fn answer_ended(&mut self, request: u64, now: Instant) {
        if let Some(stream) = self.open.get_mut(&request) {
            stream.is_answer_open = false;
        }
        self.end_if_complete(request, now);
    }

    pub(super) fn piece_given(&mut self, request: u64, bytes: usize, now: Instant) {
        if let Some(stream) = self.open.get_mut(&request) {
            stream.unsent += bytes;
            stream.timing.sent(now, None);
        }
    }

    pub(super) fn piece_taken(&mut self, request: u64, bytes: usize, now: Instant) {
        if let Some(stream) = self.open.get_mut(&request) {
            stream.unsent -= bytes;
            stream.timing.sent(now, Some(bytes));
            if stream.unsent > 0 {
                stream.timing.sent(now, None);
            }
        }
        self.end_if_complete(request, now);
    }

    fn end_if_complete(&mut self, request: u64, now: Instant) {
        let is_complete =
            |stream: &Stream| !stream.is_body_open && !stream.is_answer_open && stream.unsent == 0;
        if self.open.get(&request).is_some_and(is_complete) {
            self.open.remove(&request);
            if self.open.is_empty() {
                self.idle.end(now);
            }
        }
    }

    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Since when a request waits for the client.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        if self.open.is_empty() {
            return self.idle.waiting();
        }
        let waiting = self.open.values().filter_map(|stream| stream.timing.waiting());
        waiting.min_by_key(|waiting| waiting.since)
    }

    /// When to look again, or the time that the client has exceeded.
    pub(super) fn check(&mut self, now: Instant) -> Result<Instant, ClientTimeout> {
        if self.open.is_empty() {
            return self.idle.check(now);
        }
        let mut next = None::<Instant>;
        for stream in self.open.values_mut() {
            let due = match stream.timing.check(now) {
                Err(ClientTimeout::Body) => {
                    let _ = stream.body_reader.take().map(Waker::wake);
                    now + REFUSED_BODY_LOOK
                }
                due => due?,
            };
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        Ok(next.unwrap_or(now + REFUSED_BODY_LOOK))
    }
}

/// The memory of a request: its head, and the part of its answer that leaves.
pub(super) fn stream_bytes<B>(request: &Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
    STREAM_BYTES + target + headers.sum::<usize>()
}
