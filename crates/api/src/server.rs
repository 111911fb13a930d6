//! The listener: it accepts connections, serves HTTP on each, and ends them in order. A server that
//! is asked to stop takes no new connections, awaits the first request of those that it has just
//! accepted, closes idle connections at once, and lets the requests in flight finish, which no
//! longer wait for tasks. After [`SHUTDOWN_SECONDS_MAX`] it cuts the remaining connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::http::connection::{self, Exchange, NEWCOMER_FOR, Protocols, Shared, Slots, TimeLimits};
use crate::http::tls::Tls;
use crate::router::{admin_router, router};
use crate::state::AppState;
use crate::test_endpoints::{self, TestEndpoints};

/// How long requests in flight may take once the server has been asked to stop.
pub const SHUTDOWN_SECONDS_MAX: u64 = 8;
/// How often a server that stops looks for connections whose first request is on the way.
const NEWCOMERS_LOOK_MS: u64 = 5;
/// Pause after a failed accept: the missing resource (file handles, memory) may become free.
const ACCEPT_PAUSE_MS: u64 = 50;

/// The most connections to the address for operators.
const ADMIN_CONNECTIONS_MAX: usize = 64;

/// Serves until `shutdown` is ready and the connections have ended.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let router = router(&state);
    serve_router(listener, router, state, shutdown).await;
    Ok(())
}

/// [`serve`] for a test server: the application within its endpoints.
pub async fn serve_tests(
    listener: TcpListener,
    endpoints: Arc<TestEndpoints>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let Some(state) = endpoints.state() else { return Ok(()) };
    let router = test_endpoints::router(endpoints, &state);
    serve_router(listener, router, state, shutdown).await;
    Ok(())
}

async fn serve_router(
    listener: TcpListener,
    router: Router,
    state: AppState,
    shutdown: impl Future<Output = ()>,
) {
    let (slots, stopping) = (state.slots.clone(), state.stopping.clone());
    let tls = state.config.tls.clone();
    let following = async {
        match &tls {
            Some(tls) => tls.follow().await,
            None => std::future::pending().await,
        }
    };
    let own = (&state, slots, tls.clone());
    tokio::select! {
        () = accept(listener, router, own, shutdown, move || {
            stopping.send_replace(true);
        }) => {}
        () = following => {}
    }
}

/// Serves health, readiness and metrics, for operators, until `shutdown` is ready.
pub async fn serve_admin(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let slots = Slots::of_operators(ADMIN_CONNECTIONS_MAX, state.log_limiter.clone());
    let router = admin_router(state.clone());
    accept(listener, router, (&state, slots.into(), None), shutdown, || {}).await;
    Ok(())
}

async fn accept(
    listener: TcpListener,
    router: Router,
    (state, slots, tls): (&AppState, Arc<Slots>, Option<Tls>),
    shutdown: impl Future<Output = ()>,
    stop: impl FnOnce(),
) {
    let shared = Shared {
        protocols: Protocols::default(),
        tls,
        limits: TimeLimits::of(&state.config),
        counts: state.request_counts.clone(),
        memory: state.memory.clone(),
        log_limiter: state.log_limiter.clone(),
    };
    let service = TowerToHyperService::new(router);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => {
                    let exchange = Arc::new(Exchange::new(shared.limits));
                    let slot = slots.accept(accepted.1.ip().to_canonical(), exchange);
                    let own = (shared.clone(), Arc::new(slot));
                    let (service, watcher) = (service.clone(), graceful.watcher());
                    let stopping = state.stopping.subscribe();
                    connections.spawn(connection::serve(accepted, service, own, watcher, stopping));
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
    let newcomers = async {
        while slots.have_newcomers() {
            tokio::time::sleep(Duration::from_millis(NEWCOMERS_LOOK_MS)).await;
        }
    };
    let _ = tokio::time::timeout(NEWCOMER_FOR, newcomers).await;
    stop();
    let limit = Duration::from_secs(SHUTDOWN_SECONDS_MAX);
    if tokio::time::timeout(limit, graceful.shutdown()).await.is_err() {
        tracing::warn!(open = connections.len(), "connections did not end in time and are cut");
    }
    connections.shutdown().await;
}
