//! The stream between the network and hyper. It passes bytes on, in both directions, with two
//! exceptions: raw bytes in the query of a request line are escaped on their way in, and hyper's
//! own answer to an unreadable request is replaced on its way out.
//!
//! A head that finds no memory is refused in the same way: hyper gets an end that no head may have.
//!
//! Invariant: a byte is changed only in a place that hyper reads as the target of a request. The
//! stream counts the bytes of each body, by the length that hyper has parsed, so it knows the
//! beginning of the next head. After a body without a length it passes every byte on as it is.
//! hyper receives the bytes after a head only when their framing is known.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::exchange::{Exchange, Framing};
use super::heads::{HeadReader, escaped};
use super::refusal::answer_instead_of;
use super::room::ConnectionMemory;
use crate::metrics::RequestCounts;

/// How long the server goes on receiving after a refusal. Closing the connection at once would
/// reset it, and a client that is still sending would never see the answer.
const LINGER_SECONDS: u64 = 2;
/// The beginning of a head that is noted, for the answer to one that hyper refuses.
const NOTED_HEAD_BYTES_MAX: usize = 4 << 10;
/// hyper refuses a head that ends in this way: no head may have the first byte, and hyper looks at
/// the head only when it has its end.
const NO_HEAD: &[u8] = b"\0\r\n\r\n";
/// Bytes that are received at a time then.
const LINGER_BYTES: usize = 8 << 10;

/// The part of a request that the next received byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Head(HeadReader),
    /// Something after a head. Its framing is not known yet.
    AfterHead,
    /// A body with this many bytes left, at least 1.
    Body(u64),
    /// A body without a length, or bytes after it.
    Unknown,
}

impl Place {
    fn after_head(framing: Option<Framing>) -> Self {
        match framing {
            Some(Framing::Length(0)) => Self::Head(HeadReader::default()),
            Some(Framing::Length(bytes)) => Self::Body(bytes),
            Some(Framing::Chunked) | None => Self::Unknown,
        }
    }

    fn after_body(left: u64) -> Self {
        if left == 0 { Self::Head(HeadReader::default()) } else { Self::Body(left) }
    }
}

/// Bytes of which the first ones have been taken.
#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    at: usize,
}

impl Queue {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// Moves up to `bytes_max` bytes to `buffer`, and returns their number.
    fn move_to(&mut self, buffer: &mut ReadBuf<'_>, bytes_max: usize) -> usize {
        let bytes = self.rest().len().min(bytes_max).min(buffer.remaining());
        buffer.put_slice(&self.rest()[..bytes]);
        self.advance(bytes);
        bytes
    }
}

/// A refusal that is sent in place of hyper's.
#[derive(Debug)]
struct Refusal {
    unsent: Queue,
    /// Whether the sending side has been closed.
    is_shut: bool,
    linger: Pin<Box<Sleep>>,
}

/// A connection as hyper sees it.
#[derive(Debug)]
pub(super) struct GuardedStream<S> {
    inner: S,
    exchange: Arc<Exchange>,
    counts: Arc<RequestCounts>,
    place: Place,
    /// Received and not looked at.
    received: Queue,
    /// Escaped and not passed on.
    escaped: Queue,
    /// The beginning of the current head, as it was received.
    head: Vec<u8>,
    /// Bytes of the current head that hyper has.
    head_bytes: usize,
    memory: ConnectionMemory,
    /// Whether the current head found no memory.
    is_starved: bool,
    refusal: Option<Refusal>,
}

impl<S> GuardedStream<S> {
    pub(super) fn new(
        inner: S,
        exchange: Arc<Exchange>,
        counts: Arc<RequestCounts>,
        memory: ConnectionMemory,
    ) -> Self {
        Self {
            inner,
            exchange,
            counts,
            place: Place::Head(HeadReader::default()),
            received: Queue::default(),
            escaped: Queue::default(),
            head: Vec::new(),
            head_bytes: 0,
            memory,
            is_starved: false,
            refusal: None,
        }
    }

    /// Waits for the memory to receive more of a head. Returns false if hyper is to refuse the head
    /// that has begun. A connection that only waits for a request ends.
    fn poll_room(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<bool>> {
        let Place::Head(reader) = self.place else { return Poll::Ready(Ok(true)) };
        let head = if reader.is_new() { 0 } else { self.head_bytes };
        if ready!(self.memory.poll_take(context, head + buffer.remaining())) {
            return Poll::Ready(Ok(true));
        }
        if reader.is_new() {
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        self.is_starved = true;
        self.escaped = Queue::new(NO_HEAD.to_vec());
        self.escaped.move_to(buffer, usize::MAX);
        Poll::Ready(Ok(false))
    }

    /// Passes on bytes that were received before. Returns false if there are none.
    fn pass_on(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        loop {
            if !self.escaped.is_empty() {
                self.escaped.move_to(buffer, usize::MAX);
                return true;
            }
            if self.place == Place::AfterHead {
                self.place = Place::after_head(self.exchange.take_framing());
            }
            if self.received.is_empty() {
                return false;
            }
            match &mut self.place {
                Place::Head(reader) => {
                    if reader.is_new() {
                        self.head.clear();
                        self.head_bytes = 0;
                    }
                    let mut escapes = Vec::new();
                    let head = reader.read(self.received.rest(), &mut escapes);
                    let ended = reader.has_ended();
                    self.head_bytes += head;
                    note_head(&mut self.head, &self.received.rest()[..head]);
                    self.escaped = Queue::new(escaped(&self.received.rest()[..head], &escapes));
                    self.received.advance(head);
                    if ended {
                        self.place = Place::AfterHead;
                    }
                }
                Place::Body(left) => {
                    let bytes_max = usize::try_from(*left).unwrap_or(usize::MAX);
                    let bytes = self.received.move_to(buffer, bytes_max);
                    self.place = Place::after_body(*left - bytes as u64);
                    return true;
                }
                Place::AfterHead | Place::Unknown => {
                    self.received.move_to(buffer, usize::MAX);
                    return true;
                }
            }
        }
    }

    /// Looks at the bytes of `buffer` from `from` on, which have just been received. Takes those
    /// back that hyper must not have yet, or not in this form.
    fn look_at(&mut self, buffer: &mut ReadBuf<'_>, from: usize) {
        let fresh = &buffer.filled()[from..];
        let passed = match &mut self.place {
            Place::Head(reader) => {
                if reader.is_new() {
                    self.head.clear();
                    self.head_bytes = 0;
                }
                let (mut escapes, mut read) = (Vec::new(), *reader);
                let head = read.read(fresh, &mut escapes);
                if escapes.is_empty() {
                    self.head_bytes += head;
                    note_head(&mut self.head, &fresh[..head]);
                    self.place =
                        if read.has_ended() { Place::AfterHead } else { Place::Head(read) };
                    head
                } else {
                    0
                }
            }
            Place::Body(left) => {
                let bytes = u64::try_from(fresh.len()).unwrap_or(u64::MAX).min(*left);
                self.place = Place::after_body(*left - bytes);
                bytes as usize
            }
            Place::AfterHead | Place::Unknown => fresh.len(),
        };
        if passed < fresh.len() {
            self.received = Queue::new(fresh[passed..].to_vec());
            buffer.set_filled(from + passed);
        }
    }

    /// Notes whether the network took bytes of an answer.
    fn note_sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &sent {
            Poll::Ready(Ok(bytes)) => self.exchange.sent(Some(*bytes)),
            Poll::Pending => self.exchange.sent(None),
            Poll::Ready(Err(_)) => {}
        }
        sent
    }

    /// Whether hyper begins to write an answer of its own.
    fn is_refusal(&self) -> bool {
        self.refusal.is_some() || !self.exchange.is_answering()
    }

    /// Takes hyper's own answer and prepares another one.
    fn refuse(&mut self, written: &[u8]) {
        if self.refusal.is_some() {
            return;
        }
        self.counts.add_refused(if self.is_starved { "5xx" } else { "4xx" });
        self.refusal = Some(Refusal {
            unsent: Queue::new(answer_instead_of(written, &self.head, self.is_starved)),
            is_shut: false,
            linger: Box::pin(tokio::time::sleep(Duration::from_secs(LINGER_SECONDS))),
        });
    }
}

/// Adds bytes to the noted beginning of a head.
fn note_head(noted: &mut Vec<u8>, bytes: &[u8]) {
    let room = NOTED_HEAD_BYTES_MAX - noted.len().min(NOTED_HEAD_BYTES_MAX);
    noted.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.pass_on(buffer) {
                return Poll::Ready(Ok(()));
            }
            if !ready!(this.poll_room(context, buffer))? {
                return Poll::Ready(Ok(()));
            }
            let from = buffer.filled().len();
            ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
            if buffer.filled().len() == from {
                return Poll::Ready(Ok(()));
            }
            if !matches!(this.place, Place::Body(_)) {
                this.exchange.received();
            }
            this.look_at(buffer, from);
            if buffer.filled().len() > from {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> GuardedStream<S> {
    fn poll_send_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(refusal) = &mut self.refusal else { return Poll::Ready(Ok(())) };
        while !refusal.unsent.is_empty() {
            let sent = Pin::new(&mut self.inner).poll_write(context, refusal.unsent.rest());
            match ready!(sent)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => refusal.unsent.advance(bytes),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the connection after a refusal: closes the sending side, then receives for a while.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(refusal) = &mut self.refusal else { return Poll::Ready(Ok(())) };
        if !refusal.is_shut {
            ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
            refusal.is_shut = true;
        }
        loop {
            if refusal.linger.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut dropped = [0; LINGER_BYTES];
            let mut dropped = ReadBuf::new(&mut dropped);
            let received = ready!(Pin::new(&mut self.inner).poll_read(context, &mut dropped));
            if received.is_err() || dropped.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_refusal() {
            self.refuse(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        let sent = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note_sent(sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_refusal() {
            let written: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.refuse(&written);
            return Poll::Ready(Ok(written.len()));
        }
        let sent = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.note_sent(sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send_refusal(context))?;
        ready!(Pin::new(&mut self.inner).poll_flush(context))?;
        self.exchange.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refusal.is_some() {
            ready!(self.poll_send_refusal(context))?;
            return self.poll_linger(context);
        }
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
