//! The part of a request and its answer that both sides of hyper know: the stream below it, which
//! sees bytes, and the service above it, which sees requests. So the times of a client and the
//! memory of a head follow the requests as hyper has parsed them; no other code reads a head. The
//! table of connections sees which of them wait for their client, and may end them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::timing::{ClientTimeout, TimeLimits, Timing, Waiting};

/// The time between two looks at a connection whose body was refused.
const REFUSED_BODY_LOOK: Duration = Duration::from_secs(1);

/// How long the rest of an unread body is received, so that the answer arrives.
const DRAIN_MAX: Duration = Duration::from_secs(2);

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
}

impl State {
    fn is_between_requests(&self) -> bool {
        self.answer == Answer::Sent && !self.is_body_open
    }
}

/// The shared state of the stream and the service of one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    /// The connection has to end, because others need its place or its memory.
    ended: Notify,
}

/// The body of a request came too slowly: the error that its reader gets.
#[derive(Debug, thiserror::Error)]
#[error("the body came too slowly")]
pub(crate) struct TooSlow;

impl Exchange {
    pub(crate) fn new(limits: TimeLimits) -> Self {
        let state = Mutex::new(State {
            requests: 0,
            is_body_open: false,
            answer: Answer::Sent,
            head_bytes: 0,
            timing: Timing::new(limits, Instant::now()),
            body_reader: None,
            is_cut: false,
        });
        Self { state, ended: Notify::new() }
    }

    /// hyper has parsed the head of a request. Returns the number of the request.
    pub(super) fn begin(&self, has_body: bool) -> u64 {
        let mut state = self.state.lock();
        state.requests += 1;
        state.is_body_open = has_body;
        state.answer = Answer::Open;
        state.head_bytes = 0;
        state.timing.begin();
        state.requests
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
    pub(super) fn answer_begins(&self, is_long: bool) {
        self.state.lock().timing.answer_begins(Instant::now(), is_long);
    }

    /// The network took this many bytes of an answer; `None` if it takes none now.
    pub(super) fn sent(&self, bytes: Option<usize>) {
        self.state.lock().timing.sent(Instant::now(), bytes);
    }

    /// Since when the connection waits for its client; `None` while the server works on a request.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        self.state.lock().timing.waiting()
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
        state.is_cut = state.answer != Answer::Sent;
        end
    }

    /// When to look again. A body that comes too slowly is refused: its reader answers.
    fn check(&self, now: Instant) -> Result<Instant, ClientTimeout> {
        let mut state = self.state.lock();
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

    /// The body of the request of this number, or of the answer to it.
    pub(super) fn observe(
        self: &Arc<Self>,
        body: Body,
        direction: Direction,
        request: u64,
    ) -> ObservedBody {
        ObservedBody { body, direction, request, exchange: self.clone(), drains: false }
    }

    /// A body may be dropped after hyper has parsed the next request, so its number is compared.
    fn body_ended(&self, direction: Direction, request: u64) {
        let mut state = self.state.lock();
        if state.requests != request {
            return;
        }
        match direction {
            Direction::In => {
                state.is_body_open = false;
                state.timing.body_moved(Instant::now(), Some(0));
            }
            Direction::Out if state.answer == Answer::Open => state.answer = Answer::Written,
            Direction::Out => {}
        }
    }
}

/// Notes how the client sends a body. Fails if it is too slow.
fn body_polled(
    exchange: &Exchange,
    polled: &Poll<Option<Result<Frame<Bytes>, axum::Error>>>,
    reader: &Waker,
) -> Result<(), TooSlow> {
    let mut state = exchange.state.lock();
    let (bytes, has_ended) = match polled {
        Poll::Pending => (None, false),
        Poll::Ready(Some(Ok(frame))) => (Some(frame.data_ref().map_or(0, Bytes::len)), false),
        Poll::Ready(_) => (Some(0), true),
    };
    state.timing.body_moved(Instant::now(), bytes);
    state.body_reader = bytes.is_none().then(|| reader.clone());
    if state.timing.take_slow_body() && !has_ended { Err(TooSlow) } else { Ok(()) }
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
    /// Whether the rest is received if the reader drops the body before its end. Closing the
    /// connection at once would reset it, and a client that is still sending would never see the
    /// answer.
    pub(super) drains: bool,
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.drains &= !matches!(polled, Poll::Ready(None | Some(Err(_))));
        if self.direction == Direction::In
            && let Err(error) = body_polled(&self.exchange, &polled, context.waker())
        {
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        polled
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
        let runtime = tokio::runtime::Handle::try_current();
        let Some(runtime) = runtime.ok().filter(|_| self.drains && !self.is_end_stream()) else {
            return self.exchange.body_ended(self.direction, self.request);
        };
        let body = std::mem::take(&mut self.body);
        let mut rest = self.exchange.observe(body, self.direction, self.request);
        runtime.spawn(tokio::time::timeout(DRAIN_MAX, async move {
            while let Some(Ok(_)) = rest.frame().await {}
        }));
    }
}
