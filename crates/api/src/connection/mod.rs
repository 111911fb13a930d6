//! One connection: the requests on it, one after another. hyper decides how requests are framed,
//! and refuses those that it cannot parse, without a body. This module adds two things
//! around it: a query with raw quotes or angle brackets is accepted ([`heads`]), and a request that
//! hyper refuses gets a problem as its answer ([`refusal`]). The reasons are in
//! docs/decisions/0036-around-the-connection.md.

mod exchange;
mod heads;
mod refusal;
mod stream;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

pub(crate) use refusal::HEAD_BYTES_MAX;

use crate::metrics::RequestCounts;
use crate::peer::PeerAddress;
use exchange::{AnswerBody, Exchange};
use stream::GuardedStream;

/// Serves the requests of one connection until it ends.
pub(crate) async fn serve(
    http: http1::Builder,
    (stream, peer): (TcpStream, SocketAddr),
    service: TowerToHyperService<Router>,
    counts: Arc<RequestCounts>,
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let exchange = Arc::new(Exchange::default());
    let guarded = GuardedStream::new(stream, exchange.clone(), counts);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let number = exchange.begin(request.body());
        request.extensions_mut().insert(PeerAddress::new(peer.ip()));
        let answer = service.call(request);
        let exchange = exchange.clone();
        async move {
            let answer = answer.await?;
            Ok::<_, Infallible>(answer.map(|body| AnswerBody::new(body, number, exchange)))
        }
    });
    let served = http.serve_connection(TokioIo::new(guarded), service);
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
