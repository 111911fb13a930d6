//! The server inside this process: the HTTP side and the bulk runner over one store. It ends in
//! order: no new requests, requests in flight answered and tasks stopped at a chunk edge, then the
//! store closed; all of it within the time that a supervisor grants.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use caseload_api::{ApiConfig, AppState};
use caseload_bulk::{Runner, RunnerConfig};
use caseload_store::Store;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::clock::system_clock;
use crate::failure::{Failure, io_reason};
use crate::secret::random_bytes;

/// How long a task belongs to a server that gives no sign of life, in seconds.
pub(crate) const LEASE_SECONDS: u64 = 30;
/// Time that ending may take in all; what is open then is cut, and nothing acknowledged is lost.
const STOP_MS_MAX: u64 = 9_500;

/// A server that answers.
pub(crate) struct Server {
    store: Arc<dyn Store>,
    runner: Runner,
    http: JoinHandle<std::io::Result<()>>,
    ending: oneshot::Sender<()>,
    address: SocketAddr,
}

impl Server {
    /// Starts serving on the current runtime.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        listener: TcpListener,
        config: ApiConfig,
        lease: Duration,
    ) -> Result<Self, Failure> {
        let address = listener
            .local_addr()
            .map_err(|error| Failure::server(format!("no address: {}", io_reason(&error))))?;
        let clock = system_clock();
        let server_id = hex::encode(random_bytes::<16>()?);
        let state = AppState::new(store.clone(), clock.clone(), config);
        let runner = Runner::start(
            store.clone(),
            store.clone(),
            clock,
            RunnerConfig { lease, ..RunnerConfig::new(server_id) },
        );
        let (ending, ended) = oneshot::channel();
        let http = tokio::spawn(caseload_api::serve(listener, state, async {
            let _ = ended.await;
        }));
        Ok(Self { store, runner, http, ending, address })
    }

    /// Where it answers.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends in order.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        let Self { store, runner, http, ending, .. } = self;
        let _ = ending.send(());
        let in_order = async {
            let (served, ()) = tokio::join!(http, runner.stop());
            match served {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the listener ended with an error"),
                Err(error) => tracing::error!(%error, "the listener did not end cleanly"),
            }
            store.close().await
        };
        let limit = Duration::from_millis(STOP_MS_MAX);
        if let Ok(closed) = tokio::time::timeout(limit, in_order).await {
            return Ok(closed?);
        }
        tracing::warn!("the server took too long to end and is cut off");
        Ok(())
    }
}

/// Binds the address to answer on.
pub(crate) async fn bind(address: &str) -> Result<TcpListener, Failure> {
    try_bind(address).await.map_err(|error| {
        let failure = Failure::server(format!("cannot listen on {address}: {}", io_reason(&error)));
        match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.with_hint("another program has the port; give another one with --listen")
            }
            _ => failure.with_hint("--listen takes HOST:PORT, for example 127.0.0.1:8080"),
        }
    })
}

/// Binds the address, or says in the system's terms why not.
pub(crate) async fn try_bind(address: &str) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// The signals that ask a server to end.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Takes the signals over from the system's own handling.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::server(format!("cannot listen for signals: {}", io_reason(&error)))
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Threads for reads, packing and validation, however few cores there are. Each keeps some memory
/// of what it did; more of them than can be at work would only add to that.
const BLOCKING_THREADS_MIN: usize = 12;

/// Runs a server's work on threads of its own, two at least: one may be busy with validation.
pub(crate) fn on_threads<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.max(2))
        .max_blocking_threads(BLOCKING_THREADS_MIN.max(4 * cores))
        .enable_all()
        .build()
        .map_err(|error| Failure::server(format!("cannot start: {}", io_reason(&error))))?;
    let done = runtime.block_on(work);
    // What still blocks a thread has had its time.
    runtime.shutdown_background();
    done
}
