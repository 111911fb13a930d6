//! The stream between the network and hyper. It passes every byte on as it is, and notes when bytes
//! pass, for the times of the client. Before more of a head is received it takes the memory for it;
//! if there is none, the connection ends.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::exchange::Exchange;
use super::room::ConnectionMemory;

/// A connection as hyper sees it.
#[derive(Debug)]
pub(super) struct ObservedStream<S> {
    inner: S,
    exchange: Arc<Exchange>,
    memory: ConnectionMemory,
    /// Makes the kernel drop the bytes that it has not sent.
    cut: fn(&S),
}

impl<S> ObservedStream<S> {
    pub(super) fn new(
        inner: S,
        exchange: Arc<Exchange>,
        memory: ConnectionMemory,
        cut: fn(&S),
    ) -> Self {
        Self { inner, exchange, memory, cut }
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
        if self.exchange.is_cut() {
            (self.cut)(&self.inner);
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
        ready!(Pin::new(&mut self.inner).poll_flush(context))?;
        self.exchange.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
