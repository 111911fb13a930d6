//! The stream between the network and hyper. It passes every byte on as it is, and notes when bytes
//! pass, for the times of the client. Before more of a head is received it takes the memory for it;
//! if there is none, the connection ends.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::exchange::Exchange;
use super::room::ConnectionMemory;

/// A connection as hyper sees it.
#[derive(Debug)]
pub(super) struct ObservedStream<S> {
    inner: S,
    exchange: Arc<Exchange>,
    memory: ConnectionMemory,
    /// The kernel drops the bytes that this has not sent, if the connection is cut.
    socket: fn(&S) -> &TcpStream,
    /// The last flush has not ended: TLS has bytes that the network does not take.
    flush_waits: bool,
}

impl<S> ObservedStream<S> {
    pub(super) fn new(
        inner: S,
        exchange: Arc<Exchange>,
        memory: ConnectionMemory,
        socket: fn(&S) -> &TcpStream,
    ) -> Self {
        Self { inner, exchange, memory, socket, flush_waits: false }
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
}

impl<S> Drop for ObservedStream<S> {
    fn drop(&mut self) {
        if self.exchange.is_cut()
            && let Err(error) = (self.socket)(&self.inner).set_zero_linger()
        {
            tracing::debug!(%error, "the unsent bytes of a connection are sent");
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ObservedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(head) = self.exchange.head_bytes()
            && !ready!(self.memory.poll_take(context, head + buffer.remaining()))
        {
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        let from = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.exchange.received(buffer.filled().len() - from);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ObservedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note_sent(sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.note_sent(sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context)?;
        if flushed.is_pending() {
            self.flush_waits = true;
            self.exchange.sent(None);
            return Poll::Pending;
        }
        if std::mem::take(&mut self.flush_waits) {
            self.exchange.sent(Some(0));
        }
        self.exchange.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
