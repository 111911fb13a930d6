//! The listener: it accepts connections, serves HTTP/1 on each, and ends them in order. A server
//! that is asked to stop takes no new connections, closes idle connections at once, and lets the
//! requests in flight finish, which no longer wait for tasks. After [`SHUTDOWN_SECONDS_MAX`] it
//! cuts the remaining connections.

use std::io;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::{AppState, router};

/// How long requests in flight may take once the server has been asked to stop.
pub const SHUTDOWN_SECONDS_MAX: u64 = 8;
/// The most bytes of the head of a request: twice the longest target that the server reads, because
/// filters are part of the target.
const HEAD_BYTES_MAX: usize = 128 << 10;
/// Pause after a failed accept: the missing resource (file handles, memory) may become free.
const ACCEPT_PAUSE_MS: u64 = 50;

/// Serves until `shutdown` is ready and the connections have ended.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(state.config.head_timeout)
        .max_header_size(HEAD_BYTES_MAX);
    let stopping = state.stopping.clone();
    let service = TowerToHyperService::new(router(state));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let one = connection(http.clone(), stream, service.clone(), graceful.watcher());
                    connections.spawn(one);
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection could be accepted");
                    tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let limit = Duration::from_secs(SHUTDOWN_SECONDS_MAX);
    if tokio::time::timeout(limit, graceful.shutdown()).await.is_err() {
        tracing::warn!(open = connections.len(), "connections did not end in time and are cut");
    }
    connections.shutdown().await;
    Ok(())
}

async fn connection(
    http: http1::Builder,
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let served = http.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
