//! One connection: the requests on it, one after another. hyper decides how requests are framed,
//! and refuses those that it cannot parse, with a status and no body. This module adds two things
//! around it: a client that takes too long loses its connection ([`timing`]), and so does one whose
//! place or memory others need ([`slots`]). Its memory is counted ([`room`]). No byte is changed on
//! its way. The reasons are in docs/decisions/0042-one-budget.md.

mod exchange;
mod room;
mod slots;
mod stream;
#[cfg(test)]
mod tests;
mod timing;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use http::header;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

pub(crate) use exchange::{Exchange, TooSlow};
pub use room::connections_within;
pub(crate) use slots::{Slot, Slots};
pub(crate) use timing::TimeLimits;

use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::memory::MemoryBudget;
use crate::http::peer::PeerAddress;
use crate::metrics::RequestCounts;
use exchange::Direction;
use room::ConnectionMemory;
use stream::ObservedStream;
use timing::ClientTimeout;

/// The most bytes of the head of a request: twice the longest target that hyper reads, because
/// filters are part of the target.
pub(crate) const HEAD_BYTES_MAX: usize = 128 << 10;
/// The most bytes that are received of a connection before they are read. A whole head fits.
pub(crate) const CONNECTION_BUFFER_BYTES_MAX: usize = 256 << 10;

/// Marks the answer that is a stream or a file, and takes as long as its reader does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongAnswer;

/// The parts that all connections of a listener share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) counts: Arc<RequestCounts>,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) log_limiter: Arc<LogLimiter>,
}

/// Serves the requests of one connection until it ends.
pub(crate) async fn serve(
    http: http1::Builder,
    (stream, peer): (TcpStream, SocketAddr),
    service: TowerToHyperService<Router>,
    (shared, slot): (Shared, Arc<Slot>),
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let exchange = slot.exchange().clone();
    let memory = ConnectionMemory::new(shared.memory);
    let observed = ObservedStream::new(stream, exchange.clone(), memory, |stream| {
        if let Err(error) = stream.set_zero_linger() {
            tracing::debug!(%error, "the unsent bytes of a connection are sent");
        }
    });
    let address = PeerAddress::new(peer.ip());
    let own_slot = slot.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let has_body = !request.body().is_end_stream();
        let number = exchange.begin(has_body);
        let mut request = request.map(Body::new);
        if has_body {
            let waits = request.headers().contains_key(header::EXPECT);
            request = request.map(|body| {
                let mut body = exchange.observe(body, Direction::In, number);
                body.drains = !waits;
                Body::new(body)
            });
        }
        request.extensions_mut().insert(address);
        request.extensions_mut().insert(own_slot.clone());
        let answer = service.call(request);
        let exchange = exchange.clone();
        async move {
            let answer = answer.await?;
            exchange.answer_begins(answer.extensions().get::<LongAnswer>().is_some());
            Ok::<_, Infallible>(answer.map(|body| exchange.observe(body, Direction::Out, number)))
        }
    });
    let served = http.serve_connection(TokioIo::new(observed), service);
    tokio::select! {
        served = watcher.watch(served) => if let Err(error) = served {
            if error.is_parse() {
                shared.counts.add_unreadable();
            }
            tracing::debug!(%error, "a connection ended early");
        },
        timeout = slot.exchange().ends() => log_timeout(&shared.log_limiter, address, timeout),
    }
}

/// A connection that is only silent is nothing unusual. The reader of a slow body and the table of
/// connections have lines of their own.
fn log_timeout(
    log_limiter: &LogLimiter,
    PeerAddress(peer): PeerAddress,
    timeout: Option<ClientTimeout>,
) {
    let what = match timeout {
        Some(ClientTimeout::Head) => "the head of a request came too slowly",
        Some(ClientTimeout::Answer) => "an answer was received too slowly",
        _ => return,
    };
    if let Some(left_out) = log_limiter.line(Event::TooSlow, Origin::Address(peer)) {
        tracing::warn!(%peer, left_out, "{what}; the connection ends");
    }
}
