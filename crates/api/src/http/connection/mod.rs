//! One connection, in clear or over TLS: the requests on it, one after another, or on HTTP/2
//! several at a time ([`streams`]). hyper decides how requests are framed, and refuses those that
//! it cannot parse, with a status and no body. This module adds two things around it: a client that
//! takes too long loses its connection ([`timing`]), and so does one whose place or memory others
//! need ([`slots`]). Its memory is counted ([`room`]). No byte is changed on its way. The reasons
//! are in docs/decisions/0042-one-budget.md and 0067-tls-in-the-server.md.

mod body;
mod exchange;
mod room;
mod slots;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod timing;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

pub(crate) use exchange::{Exchange, NEWCOMER_FOR, TooSlow};
pub use room::connections_within;
pub(crate) use slots::{Slot, Slots};
pub(crate) use timing::TimeLimits;

use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::memory::MemoryBudget;
use crate::http::peer::{OverTls, PeerAddress};
use crate::http::refusal::Refusal;
use crate::http::tls::{HTTP2, Tls};
use crate::metrics::RequestCounts;
use crate::test_endpoints::AnswerLost;
use body::ObservedBody;
use exchange::Direction;
use room::ConnectionMemory;
use stream::ObservedStream;
use streams::{SEND_BUFFER_BYTES, STREAMS_MAX, WINDOW_BYTES, stream_bytes};
use timing::ClientTimeout;

/// The most bytes of the head of a request: twice the longest target that hyper reads, because
/// filters are part of the target.
const HEAD_BYTES_MAX: usize = 128 << 10;
/// The most bytes that are received of a connection before they are read. A whole head fits.
pub(crate) const CONNECTION_BUFFER_BYTES_MAX: usize = 256 << 10;

/// Marks the answer that is a stream or a file, and takes as long as its reader does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongAnswer;

/// How the protocols are spoken.
#[derive(Debug, Clone)]
pub(crate) struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl Default for Protocols {
    fn default() -> Self {
        let mut http1 = http1::Builder::new();
        http1.timer(TokioTimer::new()).header_read_timeout(None).max_header_size(HEAD_BYTES_MAX);
        http1.max_buf_size(CONNECTION_BUFFER_BYTES_MAX);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2.timer(TokioTimer::new()).max_header_list_size(HEAD_BYTES_MAX as u32);
        http2.max_concurrent_streams(STREAMS_MAX).max_send_buf_size(SEND_BUFFER_BYTES);
        http2.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
        Self { http1, http2 }
    }
}

/// The parts that all connections of a listener share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) protocols: Protocols,
    /// Of an address that serves over TLS.
    pub(crate) tls: Option<Tls>,
    pub(crate) limits: TimeLimits,
    pub(crate) counts: Arc<RequestCounts>,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) log_limiter: Arc<LogLimiter>,
}

/// Serves the requests of one connection until it ends. A server that stops ends handshakes.
pub(crate) async fn serve(
    (stream, peer): (TcpStream, SocketAddr),
    service: TowerToHyperService<Router>,
    (shared, slot): (Shared, Arc<Slot>),
    watcher: Watcher,
    mut stopping: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let address = PeerAddress::new(peer.ip());
    let memory = ConnectionMemory::new(shared.memory.clone(), shared.tls.is_some());
    let exchange = slot.exchange().clone();
    let Some(tls) = &shared.tls else {
        let observed = ObservedStream::new(stream, exchange, memory, |stream| stream);
        return serve_requests(observed, (service, address), (&shared, slot), watcher).await;
    };
    let stream = tokio::select! {
        stream = tls.accept(stream, shared.limits.head) => stream,
        timeout = exchange.ends() => {
            return log_timeout(&shared.log_limiter, address, timeout);
        }
        _ = stopping.wait_for(|stops| *stops) => return,
    };
    match stream {
        Ok(stream) => {
            if stream.get_ref().1.alpn_protocol() == Some(HTTP2) {
                exchange.multiplex();
            }
            let observed =
                ObservedStream::new(stream, exchange, memory, |stream| stream.get_ref().0);
            serve_requests(observed, (service, address), (&shared, slot), watcher).await;
        }
        Err(error) => {
            tracing::debug!(%error, peer = %address.0, "a TLS handshake failed");
        }
    }
}

async fn serve_requests<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: ObservedStream<S>,
    (service, address): (TowerToHyperService<Router>, PeerAddress),
    (shared, slot): (&Shared, Arc<Slot>),
    watcher: Watcher,
) {
    let is_http2 = slot.exchange().with_streams(|_| ()).is_some();
    let exchange = slot.exchange().clone();
    let requests = Requests {
        service,
        address,
        exchange: exchange.clone(),
        slot,
        memory: is_http2.then(|| shared.memory.clone()),
        counts: shared.counts.clone(),
        is_tls: shared.tls.is_some(),
    };
    let service = service_fn(move |request| requests.answer(request));
    let stream = TokioIo::new(stream);
    let served = async {
        if is_http2 {
            watcher.watch(shared.protocols.http2.serve_connection(stream, service)).await
        } else {
            watcher.watch(shared.protocols.http1.serve_connection(stream, service)).await
        }
    };
    tokio::select! {
        served = served => if let Err(error) = served {
            if error.is_parse() {
                shared.counts.add_unreadable();
            }
            tracing::debug!(%error, "a connection ended early");
        },
        timeout = exchange.ends() => log_timeout(&shared.log_limiter, address, timeout),
    }
}

/// The parts that all requests of a connection share.
struct Requests {
    service: TowerToHyperService<Router>,
    address: PeerAddress,
    exchange: Arc<Exchange>,
    slot: Arc<Slot>,
    /// The budget for each request of an HTTP/2 connection.
    memory: Option<Arc<MemoryBudget>>,
    counts: Arc<RequestCounts>,
    is_tls: bool,
}

impl Requests {
    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<ObservedBody>, io::Error>> + use<> {
        let exchange = self.exchange.clone();
        let has_body = !request.body().is_end_stream();
        let number = exchange.begin(has_body);
        // If the caller leaves, this ends the request in the exchange.
        let mut answer_body = ObservedBody::new(&exchange, Body::empty(), Direction::Out, number);
        let mut request = request.map(Body::new);
        if has_body {
            let waits = request.headers().contains_key(header::EXPECT);
            request = request.map(|body| {
                let mut body = ObservedBody::new(&exchange, body, Direction::In, number);
                body.drains = !waits;
                Body::new(body)
            });
        }
        if self.memory.is_some() {
            name_host(&mut request);
        }
        if self.is_tls {
            request.extensions_mut().insert(OverTls);
        }
        request.extensions_mut().insert(self.address);
        request.extensions_mut().insert(self.slot.clone());
        let bytes = stream_bytes(&request);
        let (memory, service) = (self.memory.clone(), self.service.clone());
        let counts = self.counts.clone();
        async move {
            let answer = match memory {
                Some(budget) => match budget.take(None, bytes).await {
                    Ok(memory) => {
                        exchange.hold(number, memory);
                        of(service.call(request).await)
                    }
                    Err(problem) => {
                        counts.add_refused(Refusal::Memory);
                        problem.into_response()
                    }
                },
                None => of(service.call(request).await),
            };
            if answer.extensions().get::<AnswerLost>().is_some() {
                // hyper ends the connection, or the stream, and sends nothing.
                return Err(io::Error::other("a fault of this test server loses the answer"));
            }
            exchange.answer_begins(number, answer.extensions().get::<LongAnswer>().is_some());
            Ok(answer.map(|body| {
                answer_body.body = body;
                answer_body
            }))
        }
    }
}

/// The answer of a service that always has one.
fn of(answered: Result<Response, Infallible>) -> Response {
    let Ok(answer) = answered;
    answer
}

/// Names the host of an HTTP/2 request as HTTP/1.1 does: the pseudo-header replaces `Host`.
fn name_host(request: &mut Request) {
    let authority = request.uri().authority().map(|host| HeaderValue::try_from(host.as_str()));
    if let Some(Ok(host)) = authority {
        request.headers_mut().insert(header::HOST, host);
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
