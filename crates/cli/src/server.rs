//! The server inside this process: the HTTP listener, the bulk runner and the delivery of webhooks
//! over one store. Shutdown is graceful: it accepts no new requests, answers those in flight, stops
//! tasks at the end of a chunk, and closes the store. All of that takes less than the 10 s that
//! supervisors usually allow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use caseload_api::{ApiConfig, AppState};
use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::time::Clock;
use caseload_store::Store;
use caseload_webhooks::{DeliveryStore, StoreRecords, WebhookConfig, WebhookRunner};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::clock::{log_jumps, system_clock};
use crate::failure::{Failure, io_reason};
use crate::secret::random_bytes;

/// Default lease: how long a dead server's tasks wait before another server takes over.
pub(crate) const LEASE_SECONDS: u64 = 30;
/// Time limit for the whole shutdown. After it the process ends with requests still open; the store
/// loses nothing that was acknowledged.
const STOP_MS_MAX: u64 = 9_500;

/// A running server.
pub(crate) struct Server {
    store: Arc<dyn Store>,
    runner: Runner,
    webhooks: WebhookRunner,
    http: JoinHandle<std::io::Result<()>>,
    ending: oneshot::Sender<()>,
    address: SocketAddr,
    /// Health, readiness and metrics, if they have an address of their own.
    admin: Option<(JoinHandle<std::io::Result<()>>, oneshot::Sender<()>, SocketAddr)>,
}

impl Server {
    /// Starts serving on the current runtime. The second listener is for operators. The times are
    /// how long a task is leased, and how long changes are retained.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        (listener, admin): (TcpListener, Option<TcpListener>),
        config: ApiConfig,
        (lease, keep_changes): (Duration, Option<Duration>),
    ) -> Result<Self, Failure> {
        let address = address_of(&listener)?;
        let clock = system_clock();
        let server_id = hex::encode(random_bytes::<16>()?);
        let webhooks =
            deliver(&store, &clock, WebhookConfig::new(&*server_id, config.webhook_addresses))?;
        let counts = Arc::new(webhooks.counts());
        let state = AppState::new(store.clone(), clock.clone(), config).with_webhook_counts(counts);
        let runner = Runner::start(
            store.clone(),
            store.clone(),
            clock,
            RunnerConfig { lease, keep_changes, ..RunnerConfig::new(server_id) },
        );
        tokio::spawn(log_jumps());
        let admin = match admin {
            Some(listener) => {
                let address = address_of(&listener)?;
                let (ending, ended) = oneshot::channel();
                let serving = caseload_api::serve_admin(listener, state.clone(), async {
                    let _ = ended.await;
                });
                Some((tokio::spawn(serving), ending, address))
            }
            None => None,
        };
        let (ending, ended) = oneshot::channel();
        let http = tokio::spawn(caseload_api::serve(listener, state, async {
            let _ = ended.await;
        }));
        Ok(Self { store, runner, webhooks, http, ending, address, admin })
    }

    /// The address that it listens on.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for operators.
    pub(crate) fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|(_, _, address)| *address)
    }

    /// Shuts the server down gracefully.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        let Self { store, runner, webhooks, http, ending, admin, .. } = self;
        let _ = ending.send(());
        let in_order = async {
            let (served, (), ()) = tokio::join!(http, runner.stop(), webhooks.stop());
            // Operators see the server until its requests have ended.
            if let Some((serving, ending, _)) = admin {
                let _ = ending.send(());
                let _ = serving.await;
            }
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
        tracing::warn!("the shutdown took too long; open requests are cut off");
        Ok(())
    }
}

/// Starts to deliver webhooks.
fn deliver(
    store: &Arc<dyn Store>,
    clock: &Clock,
    config: WebhookConfig,
) -> Result<WebhookRunner, Failure> {
    let records = Arc::new(StoreRecords { issues: store.clone(), profiles: store.clone() });
    let delivery = DeliveryStore { webhooks: store.clone(), log: store.clone(), records };
    WebhookRunner::start(delivery, clock.clone(), config)
        .map_err(|error| Failure::server(format!("webhooks cannot be delivered: {error}")))
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr, Failure> {
    listener
        .local_addr()
        .map_err(|error| Failure::server(format!("no address: {}", io_reason(&error))))
}

/// Binds the address to listen on; an error has a hint for the operator.
pub(crate) async fn bind(address: &str) -> Result<TcpListener, Failure> {
    try_bind(address).await.map_err(|error| {
        let failure = Failure::server(format!("cannot listen on {address}: {}", io_reason(&error)));
        match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.with_hint("another program uses the port; choose another one with --listen")
            }
            _ => failure.with_hint("--listen takes HOST:PORT, for example 127.0.0.1:8080"),
        }
    })
}

/// Binds the address to listen on; returns the system's own error.
pub(crate) async fn try_bind(address: &str) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// The signals that ask a server to shut down.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Replaces the default handling of the signals.
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

    /// Waits for one of the signals.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Minimum number of threads for reads, packing and validation. Each thread retains some memory, so
/// more threads than can run at a time only cost memory.
const BLOCKING_THREADS_MIN: usize = 12;

/// Runs a server on a runtime of its own with at least two threads: validation may occupy one.
pub(crate) fn on_threads<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.max(2))
        .max_blocking_threads(BLOCKING_THREADS_MIN.max(4 * cores))
        .enable_all()
        .build()
        .map_err(|error| Failure::server(format!("cannot start: {}", io_reason(&error))))?;
    let done = runtime.block_on(work);
    // Blocking work that is still running has had its time limit.
    runtime.shutdown_background();
    done
}
