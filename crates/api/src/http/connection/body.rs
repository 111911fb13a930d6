//! The bodies of requests and answers, as the exchange sees them: it notices how they move and when
//! they end. On HTTP/2 an answer leaves in pieces.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use super::exchange::{Direction, Exchange, TooSlow};
use super::streams::PIECE_BYTES;

/// How long the rest of an unread body is received, so that the answer arrives.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// A body whose end the exchange notices. Its reader drops it once it has all of its bytes, or
/// needs none of them.
pub(crate) struct ObservedBody {
    pub(super) body: Body,
    /// Of an answer that leaves in pieces.
    parts: Option<Parts>,
    direction: Direction,
    request: u64,
    exchange: Arc<Exchange>,
    /// Whether the rest is received if the reader drops the body before its end. Closing the
    /// connection at once would reset it, and a client that is still sending would never see the
    /// answer.
    pub(super) drains: bool,
}

impl ObservedBody {
    /// The body of the request of this number, or of the answer to it.
    pub(super) fn new(
        exchange: &Arc<Exchange>,
        body: Body,
        direction: Direction,
        request: u64,
    ) -> Self {
        let in_pieces = direction == Direction::Out && exchange.with_streams(|_| ()).is_some();
        let parts = in_pieces.then(Parts::default);
        Self { body, parts, direction, request, exchange: exchange.clone(), drains: false }
    }

    /// The next piece of an answer, which is shorter than others only if no more bytes have come.
    /// Many short frames would cost both ends more than their bytes, and clients refuse them.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(parts) = &mut self.parts else { return Poll::Ready(None) };
        while parts.bytes < PIECE_BYTES && !parts.are_all {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending if parts.bytes > 0 => break,
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(frame)) => parts.push(frame?.into_data().unwrap_or_default()),
                Poll::Ready(None) => parts.are_all = true,
            }
        }
        let bytes = parts.piece();
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        let (request, exchange, given) = (self.request, self.exchange.clone(), bytes.len());
        exchange.with_streams(|streams| streams.piece_given(request, given, Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(Piece { bytes, request, exchange })))))
    }

    /// Notes how the client sends a body.
    fn note(
        &self,
        polled: &Poll<Option<Result<Frame<Bytes>, axum::Error>>>,
        reader: &Waker,
    ) -> Result<(), TooSlow> {
        let bytes = match polled {
            Poll::Pending => None,
            Poll::Ready(Some(Ok(frame))) => Some(frame.data_ref().map_or(0, Bytes::len)),
            Poll::Ready(_) => Some(0),
        };
        let moved = self.exchange.body_moved(self.request, bytes, reader);
        // A body that has ended cannot be too slow.
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) { Ok(()) } else { moved }
    }
}

/// The bytes of an answer that are not in a piece yet.
#[derive(Default)]
struct Parts {
    queue: VecDeque<Bytes>,
    bytes: usize,
    /// The body has no more.
    are_all: bool,
}

impl Parts {
    fn push(&mut self, part: Bytes) {
        self.bytes += part.len();
        self.queue.push_back(part);
    }

    /// Takes the first bytes. A long part is shared, and short ones are copied into one.
    fn piece(&mut self) -> Bytes {
        let wanted = self.bytes.min(PIECE_BYTES);
        self.bytes -= wanted;
        if let Some(first) = self.queue.front_mut().filter(|first| first.len() >= wanted) {
            return first.split_to(wanted);
        }
        let mut piece = Vec::with_capacity(wanted);
        while let Some(part) = self.queue.front_mut().filter(|_| piece.len() < wanted) {
            let taken = part.split_to(part.len().min(wanted - piece.len()));
            piece.extend_from_slice(&taken);
            if part.is_empty() {
                self.queue.pop_front();
            }
        }
        piece.into()
    }
}

/// A piece of an answer. hyper drops it once the network has it.
struct Piece {
    bytes: Bytes,
    request: u64,
    exchange: Arc<Exchange>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let (request, bytes) = (self.request, self.bytes.len());
        self.exchange.with_streams(|streams| streams.piece_taken(request, bytes, Instant::now()));
    }
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.parts.is_some() {
            return self.poll_piece(context);
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.drains &= !matches!(polled, Poll::Ready(None | Some(Err(_))));
        if self.direction == Direction::In
            && let Err(error) = self.note(&polled, context.waker())
        {
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.parts {
            Some(parts) if parts.bytes > 0 => false,
            Some(parts) if parts.are_all => true,
            _ => self.body.is_end_stream(),
        }
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
        let mut rest = Self::new(&self.exchange, body, self.direction, self.request);
        runtime.spawn(tokio::time::timeout(DRAIN_MAX, async move {
            while let Some(Ok(_)) = rest.frame().await {}
        }));
    }
}
