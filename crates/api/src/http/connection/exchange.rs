//! The part of a request and its answer that both sides of hyper know: the stream below it, which
//! sees bytes, and the service above it, which sees requests. So the times of a client and the
//! memory of a head follow the requests as hyper has parsed them; no other code reads a head. The
//! table of connections sees which of them wait for their client, and may end them. [`Streams`] has
//! the requests of an HTTP/2 connection, of which several are open at a time.

use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::streams::Streams;
use super::timing::{ClientTimeout, REFUSED_BODY_LOOK, TimeLimits, Timing, Waiting};
use crate::http::memory::Memory;

/// How far the answer to the last request is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Answer {
    /// It has been sent, or no request has come yet.
    #[default]
    Sent,
    Open,
    /// hyper has all of its bytes.
    Written,
}

#[derive(Debug)]
struct State {
    /// How many requests there were.
    requests: u64,
    /// Whether the body of the last request is still read.
    is_body_open: bool,
    answer: Answer,
    /// Bytes that have been received between two requests.
    head_bytes: usize,
    timing: Timing,
    /// The reader of the body, which waits for the client.
    body_reader: Option<Waker>,
    /// The rest of the answer is dropped with the connection.
    is_cut: bool,
    /// The requests of an HTTP/2 connection.
    streams: Option<Streams>,
}

impl State {
    fn is_between_requests(&self) -> bool {
        self.answer == Answer::Sent && !self.is_body_open && self.streams.is_none()
    }
}

/// How long after its start the first request of a connection is expected.
pub(crate) const NEWCOMER_FOR: Duration = Duration::from_secs(1);

/// The shared state of the stream and the service of one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    opened_at: Instant,
    /// The connection has to end, because others need its place or its memory.
    ended: Notify,
}

/// The body of a request came too slowly: the error that its reader gets.
#[derive(Debug, thiserror::Error)]
#[error("the body came too slowly")]
pub(crate) struct TooSlow;

impl Exchange {
    pub(crate) fn new(limits: TimeLimits) -> Self {
        let opened_at = Instant::now();
        let state = Mutex::new(State {
            requests: 0,
            is_body_open: false,
            answer: Answer::Sent,
            head_bytes: 0,
            timing: Timing::new(limits, opened_at),
            body_reader: None,
            is_cut: false,
            streams: None,
        });
        Self { state, opened_at, ended: Notify::new() }
    }

    /// Whether the first request is on the way, as far as a server can know.
    pub(super) fn is_new(&self) -> bool {
        self.opened_at.elapsed() < NEWCOMER_FOR && self.state.lock().requests == 0
    }

    /// The client has chosen HTTP/2.
    pub(super) fn multiplex(&self) {
        let mut state = self.state.lock();
        let idle = state.timing.of_another(Instant::now());
        state.streams = Some(Streams::new(idle));
    }

    /// Does something with the requests of an HTTP/2 connection. Returns `None` on another one.
    pub(super) fn with_streams<T>(&self, act: impl FnOnce(&mut Streams) -> T) -> Option<T> {
        self.state.lock().streams.as_mut().map(act)
    }

    /// Holds memory until the request has ended.
    pub(super) fn hold(&self, request: u64, memory: Memory) {
        self.with_streams(|streams| streams.hold(request, memory));
    }

    /// hyper has parsed the head of a request. Returns the number of the request.
    pub(super) fn begin(&self, has_body: bool) -> u64 {
        let mut state = self.state.lock();
        state.requests += 1;
        let number = state.requests;
        if let Some(streams) = &mut state.streams {
            streams.begin(number, has_body, Instant::now());
            return number;
        }
        state.is_body_open = has_body;
        state.answer = Answer::Open;
        state.head_bytes = 0;
        state.timing.begin();
        number
    }

    /// The bytes of the head that arrives; `None` while a request is received or answered.
    pub(super) fn head_bytes(&self) -> Option<usize> {
        let state = self.state.lock();
        state.is_between_requests().then_some(state.head_bytes)
    }

    /// All bytes that hyper wrote so far have been sent.
    pub(super) fn flushed(&self) {
        let mut state = self.state.lock();
        if state.answer == Answer::Written {
            state.answer = Answer::Sent;
            state.timing.end(Instant::now());
        }
    }

    /// So many bytes have arrived.
    pub(super) fn received(&self, bytes: usize) {
        let mut state = self.state.lock();
        if bytes > 0 && state.is_between_requests() {
            state.head_bytes += bytes;
            state.timing.received(Instant::now());
        }
    }

    /// The head of an answer is known; a long one is a stream or a file.
    pub(super) fn answer_begins(&self, request: u64, is_long: bool) {
        let (mut state, now) = (self.state.lock(), Instant::now());
        match &mut state.streams {
            Some(streams) => streams.answer_begins(request, is_long, now),
            None => state.timing.answer_begins(now, is_long),
        }
    }

    /// The network took this many bytes of an answer; `None` if it takes none now.
    pub(super) fn sent(&self, bytes: Option<usize>) {
        self.state.lock().timing.sent(Instant::now(), bytes);
    }

    /// Since when the connection waits for its client; `None` while the server works on a request.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        let state = self.state.lock();
        state.streams.as_ref().map_or_else(|| state.timing.waiting(), Streams::waiting)
    }

    /// The connection has to end.
    pub(super) fn end(&self) {
        self.ended.notify_one();
    }

    /// Waits until the connection has to end; returns the time that its client has exceeded, unless
    /// others need its place or its memory.
    pub(super) async fn ends(&self) -> Option<ClientTimeout> {
        let end = loop {
            let due = match self.check(Instant::now()) {
                Ok(due) => due,
                Err(timeout) => break Some(timeout),
            };
            if tokio::time::timeout_at(due, self.ended.notified()).await.is_ok() {
                break None;
            }
        };
        let mut state = self.state.lock();
        let are_open = state.streams.as_ref().is_some_and(Streams::are_open);
        state.is_cut = are_open || state.answer != Answer::Sent;
        end
    }

    /// When to look again. A body that comes too slowly is refused: its reader answers.
    fn check(&self, now: Instant) -> Result<Instant, ClientTimeout> {
        let mut state = self.state.lock();
        if let Some(streams) = &mut state.streams {
            return streams.check(now);
        }
        match state.timing.check(now) {
            Err(ClientTimeout::Body) => {
                let _ = state.body_reader.take().map(Waker::wake);
                Ok(now + REFUSED_BODY_LOOK)
            }
            due => due,
        }
    }

    /// Whether the kernel is to drop the bytes that it has not sent.
    pub(super) fn is_cut(&self) -> bool {
        self.state.lock().is_cut
    }

    /// The reader of a body waits for bytes, or got them. Fails if they come too slowly.
    pub(super) fn body_moved(
        &self,
        request: u64,
        bytes: Option<usize>,
        reader: &Waker,
    ) -> Result<(), TooSlow> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let is_slow = if let Some(streams) = &mut state.streams {
            streams.body_moved(request, bytes, reader, now)
        } else {
            state.timing.body_moved(now, bytes);
            state.body_reader = bytes.is_none().then(|| reader.clone());
            state.timing.take_slow_body()
        };
        if is_slow { Err(TooSlow) } else { Ok(()) }
    }

    /// A body may be dropped after hyper has parsed the next request, so its number is compared.
    pub(super) fn body_ended(&self, direction: Direction, request: u64) {
        let (mut state, now) = (self.state.lock(), Instant::now());
        if let Some(streams) = &mut state.streams {
            return match direction {
                Direction::In => streams.body_ended(request, now),
                Direction::Out => streams.answer_ended(request, now),
            };
        }
        if state.requests != request {
            return;
        }
        match direction {
            Direction::In => {
                state.is_body_open = false;
                state.timing.body_moved(now, Some(0));
            }
            Direction::Out if state.answer == Answer::Open => state.answer = Answer::Written,
            Direction::Out => {}
        }
    }
}

/// Whether a body is that of a request or of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}
