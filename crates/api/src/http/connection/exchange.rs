//! The part of a request and its answer that both sides of hyper know: the stream below it, which
//! sees bytes, and the service above it, which sees requests. So the times of a client and the
//! memory of a head follow the requests as hyper has parsed them; no other code reads a head.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::timing::{ClientTimeout, TimeLimits, Timing};

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
}

impl State {
    fn is_between_requests(&self) -> bool {
        self.answer == Answer::Sent && !self.is_body_open
    }
}

/// The shared state of the stream and the service of one connection.
#[derive(Debug)]
pub(super) struct Exchange(Mutex<State>);

impl Exchange {
    pub(super) fn new(limits: TimeLimits) -> Self {
        Self(Mutex::new(State {
            requests: 0,
            is_body_open: false,
            answer: Answer::Sent,
            head_bytes: 0,
            timing: Timing::new(limits, Instant::now()),
        }))
    }

    /// hyper has parsed the head of a request. Returns the number of the request.
    pub(super) fn begin(&self, has_body: bool) -> u64 {
        let mut state = self.0.lock();
        state.requests += 1;
        state.is_body_open = has_body;
        state.answer = Answer::Open;
        state.head_bytes = 0;
        state.timing.begin();
        state.requests
    }

    /// The bytes of the head that arrives; `None` while a request is received or answered.
    pub(super) fn head_bytes(&self) -> Option<usize> {
        let state = self.0.lock();
        state.is_between_requests().then_some(state.head_bytes)
    }

    /// All bytes that hyper wrote so far have been sent.
    pub(super) fn flushed(&self) {
        let mut state = self.0.lock();
        if state.answer == Answer::Written {
            state.answer = Answer::Sent;
            state.timing.end(Instant::now());
        }
    }

    /// So many bytes have arrived.
    pub(super) fn received(&self, bytes: usize) {
        let mut state = self.0.lock();
        if bytes > 0 && state.is_between_requests() {
            state.head_bytes += bytes;
            state.timing.received(Instant::now());
        }
    }

    /// The head of an answer is known; a long one is a stream or a file.
    pub(super) fn answer_begins(&self, is_long: bool) {
        self.0.lock().timing.answer_begins(Instant::now(), is_long);
    }

    /// The network took this many bytes of an answer; `None` if it takes none now.
    pub(super) fn sent(&self, bytes: Option<usize>) {
        self.0.lock().timing.sent(Instant::now(), bytes);
    }

    /// Waits until the client has exceeded one of its times; returns which one.
    pub(super) async fn timeout(&self) -> ClientTimeout {
        loop {
            let due = match self.0.lock().timing.check(Instant::now()) {
                Ok(due) => due,
                Err(timeout) => return timeout,
            };
            tokio::time::sleep_until(due).await;
        }
    }

    /// The body of the request of this number, or of the answer to it.
    pub(super) fn observe(
        self: &Arc<Self>,
        body: Body,
        direction: Direction,
        request: u64,
    ) -> ObservedBody {
        ObservedBody { body, direction, request, exchange: self.clone() }
    }

    /// A body may be dropped after hyper has parsed the next request, so its number is compared.
    fn body_ended(&self, direction: Direction, request: u64) {
        let mut state = self.0.lock();
        if state.requests != request {
            return;
        }
        match direction {
            Direction::In => state.is_body_open = false,
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

/// A body whose end the exchange notices. Its reader drops it once it has all of its bytes, or
/// needs none of them.
pub(super) struct ObservedBody {
    body: Body,
    direction: Direction,
    request: u64,
    exchange: Arc<Exchange>,
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ObservedBody {
    fn drop(&mut self) {
        self.exchange.body_ended(self.direction, self.request);
    }
}
