//! The part of a request and its answer that both sides of hyper know: the stream below it, which
//! sees bytes, and the service above it, which sees requests. The service reports the length of
//! the body by hyper's own reading of the head, so the stream never decides by itself about the end
//! of a request. Invariant: while a request is being answered, the stream changes no written
//! byte.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::timing::{Overtime, TimeLimits, Timing};

/// The length of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes, also none.
    Length(u64),
    /// As many as its chunks have.
    Chunked,
}

impl Framing {
    fn of(body: &impl HttpBody) -> Self {
        if body.is_end_stream() {
            return Self::Length(0);
        }
        body.size_hint().exact().map_or(Self::Chunked, Self::Length)
    }
}

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
    framing: Option<Framing>,
    answer: Answer,
    timing: Timing,
}

/// The shared state of the stream and the service of one connection.
#[derive(Debug)]
pub(super) struct Exchange(Mutex<State>);

impl Exchange {
    pub(super) fn new(limits: TimeLimits) -> Self {
        let timing = Timing::new(limits, Instant::now());
        Self(Mutex::new(State { requests: 0, framing: None, answer: Answer::Sent, timing }))
    }

    /// hyper has parsed the head of a request with this body. Returns the number of the request.
    pub(super) fn begin(&self, body: &impl HttpBody) -> u64 {
        let mut state = self.0.lock();
        state.requests += 1;
        state.framing = Some(Framing::of(body));
        state.answer = Answer::Open;
        state.timing.begin();
        state.requests
    }

    /// The framing of the request whose head was parsed last, once.
    pub(super) fn take_framing(&self) -> Option<Framing> {
        self.0.lock().framing.take()
    }

    /// Whether written bytes belong to the answer of a request. If not, hyper writes a refusal.
    pub(super) fn is_answering(&self) -> bool {
        self.0.lock().answer != Answer::Sent
    }

    /// All bytes that hyper wrote so far have been sent.
    pub(super) fn flushed(&self) {
        let mut state = self.0.lock();
        if state.answer == Answer::Written {
            state.answer = Answer::Sent;
            state.timing.end(Instant::now());
        }
    }

    /// Bytes have arrived.
    pub(super) fn received(&self) {
        self.0.lock().timing.received(Instant::now());
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
    pub(super) async fn overtime(&self) -> Overtime {
        loop {
            let due = match self.0.lock().timing.check(Instant::now()) {
                Ok(due) => due,
                Err(overtime) => return overtime,
            };
            tokio::time::sleep_until(due).await;
        }
    }

    /// hyper may drop a body after it has parsed the next request, so its number is compared.
    fn answer_ended(&self, request: u64) {
        let mut state = self.0.lock();
        if state.answer == Answer::Open && state.requests == request {
            state.answer = Answer::Written;
        }
    }
}

/// The body of an answer. hyper drops it once it has all of its bytes, or needs none of them.
pub(super) struct AnswerBody {
    body: Body,
    request: u64,
    exchange: Arc<Exchange>,
}

impl AnswerBody {
    /// The body of the answer to the request of this number.
    pub(super) const fn new(body: Body, request: u64, exchange: Arc<Exchange>) -> Self {
        Self { body, request, exchange }
    }
}

impl HttpBody for AnswerBody {
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

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.exchange.answer_ended(self.request);
    }
}
