//! The server inside this process: the HTTP listener, the bulk runner and the delivery of webhooks
//! over one store. Shutdown is graceful: it accepts no new requests, answers those in flight, stops
//! tasks at the end of a chunk, and closes the store. All of that takes less than the 10 s that
//! supervisors usually allow.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use caseload_api::{ApiConfig, AppState, CountWebhooks, TestEndpoints};
use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::time::Clock;
use caseload_model::webhook::AddressRule;
use caseload_store::{Store, Work};
use caseload_webhooks::{DeliveryStore, StoreRecords, WebhookConfig, WebhookRunner};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::clock::{log_jumps, system_clock};
use crate::failure::{Failure, io_reason};
use crate::secret::random_bytes;
use crate::test_server::Folder;

/// Default lease: how long a dead server's tasks wait before another server takes over.
pub(crate) const LEASE_SECONDS: u64 = 30;
/// Time limit for the whole shutdown. After it the process ends with requests still open; the store
/// loses nothing that was acknowledged.
const STOP_MS_MAX: u64 = 9_500;
/// How often a server whose clock runs as it likes removes expired records.
const PURGE_EVERY: Duration = Duration::from_millis(500);

/// A running server.
pub(crate) struct Server {
    running: Running,
    http: JoinHandle<std::io::Result<()>>,
    ending: oneshot::Sender<()>,
    address: SocketAddr,
    /// Health, readiness and metrics, if they have an address of their own.
    admin: Option<(JoinHandle<std::io::Result<()>>, oneshot::Sender<()>, SocketAddr)>,
    /// The endpoints of a test server.
    endpoints: Option<Arc<TestEndpoints>>,
    /// The folder of a store that ends with the server. It is removed last.
    folder: Option<Folder>,
}

/// The listener for callers, and the one for operators.
type Listeners = (TcpListener, Option<TcpListener>);

/// What runs over a store: its tasks, and the delivery of its webhooks.
pub(crate) struct Services {
    store: Arc<dyn Store>,
    runner: Runner,
    webhooks: WebhookRunner,
    /// To be removed with them.
    folder: Option<PathBuf>,
}

/// How the services of a store run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceConfig {
    /// How long a task is leased.
    pub(crate) lease: Duration,
    /// How long changes are retained; `None` for ever.
    pub(crate) keep_changes: Option<Duration>,
    pub(crate) webhook_addresses: AddressRule,
    /// Whether the server starts at once, and records expire by its clock however much it jumps.
    pub(crate) is_test_server: bool,
}

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(LEASE_SECONDS),
            keep_changes: None,
            webhook_addresses: AddressRule::Public,
            is_test_server: false,
        }
    }
}

impl Services {
    /// Starts them. The second store is the one that tasks are taken from.
    pub(crate) fn start(
        (store, work): (Arc<dyn Store>, Arc<dyn Work>),
        clock: Clock,
        config: &ServiceConfig,
    ) -> Result<Self, Failure> {
        let server_id = hex::encode(random_bytes::<16>()?);
        let mut delivery = WebhookConfig::new(&*server_id, config.webhook_addresses);
        delivery.begins_late = config.is_test_server;
        let webhooks = deliver(&store, &clock, delivery)?;
        let ServiceConfig { lease, keep_changes, .. } = *config;
        let mut runs = RunnerConfig { lease, keep_changes, ..RunnerConfig::new(server_id) };
        if config.is_test_server {
            runs.purge_every = PURGE_EVERY;
            (runs.purge_after_start, runs.purge_after_jump) = (Duration::ZERO, Duration::ZERO);
        }
        let runner = Runner::start(work, store.clone(), clock, runs);
        Ok(Self { store, runner, webhooks, folder: None })
    }

    /// Services that are alone in using this folder.
    pub(crate) fn in_folder(self, folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..self }
    }

    pub(crate) fn webhook_counts(&self) -> CountWebhooks {
        Arc::new(self.webhooks.counts())
    }

    /// Ends them, and returns the store, which is open.
    async fn halt(self) -> (Arc<dyn Store>, Option<PathBuf>) {
        let Self { store, runner, webhooks, folder } = self;
        tokio::join!(runner.stop(), webhooks.stop());
        (store, folder)
    }

    /// Ends them, closes the store and removes its folder.
    pub(crate) async fn end(self) {
        let (store, folder) = self.halt().await;
        if let Err(error) = store.close().await {
            tracing::warn!(%error, "the store of before a reset did not close cleanly");
        }
        if let Some(folder) = folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The services that run now. Those of a test server are replaced by others.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Option<Services>>>);

impl Running {
    /// Puts others in their place, which the caller ends.
    pub(crate) fn replace(&self, services: Services) -> Option<Services> {
        self.0.lock().replace(services)
    }

    /// Ends them, and returns the store.
    async fn halt(&self) -> Option<Arc<dyn Store>> {
        let services = self.0.lock().take()?;
        Some(services.halt().await.0)
    }
}

impl Server {
    /// Starts serving on the current runtime. The second listener is for operators.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        listeners: Listeners,
        config: ApiConfig,
        services: ServiceConfig,
    ) -> Result<Self, Failure> {
        let stores = (store.clone(), store as Arc<dyn Work>);
        let server = Self::start_at(system_clock(), stores, listeners, config, services)?;
        tokio::spawn(log_jumps());
        Ok(server)
    }

    /// [`Server::start`] with a clock of its own. The second store is the one that tasks are taken
    /// from.
    pub(crate) fn start_at(
        clock: Clock,
        (store, work): (Arc<dyn Store>, Arc<dyn Work>),
        listeners: Listeners,
        config: ApiConfig,
        services: ServiceConfig,
    ) -> Result<Self, Failure> {
        let services = Services::start((store.clone(), work), clock.clone(), &services)?;
        let state =
            AppState::new(store, clock, config).with_webhook_counts(services.webhook_counts());
        let running = Running::default();
        running.replace(services);
        let own = state.clone();
        Self::serve((running, state), listeners, |listener, ended| {
            tokio::spawn(caseload_api::serve(listener, own, ended))
        })
    }

    /// Starts a test server, whose endpoints have a state.
    pub(crate) fn start_tests(
        endpoints: Arc<TestEndpoints>,
        running: Running,
        listeners: Listeners,
    ) -> Result<Self, Failure> {
        let Some(state) = endpoints.state() else {
            return Err(Failure::server("the test endpoints have no state"));
        };
        let own = endpoints.clone();
        let server = Self::serve((running, state), listeners, |listener, ended| {
            tokio::spawn(caseload_api::serve_tests(listener, own, ended))
        })?;
        Ok(Self { endpoints: Some(endpoints), ..server })
    }

    fn serve(
        (running, state): (Running, AppState),
        (listener, admin): Listeners,
        http: impl FnOnce(
            TcpListener,
            Pin<Box<dyn Future<Output = ()> + Send>>,
        ) -> JoinHandle<std::io::Result<()>>,
    ) -> Result<Self, Failure> {
        let address = address_of(&listener)?;
        let admin = match admin {
            Some(listener) => {
                let address = address_of(&listener)?;
                let (ending, ended) = oneshot::channel();
                let serving = caseload_api::serve_admin(listener, state, async {
                    let _ = ended.await;
                });
                Some((tokio::spawn(serving), ending, address))
            }
            None => None,
        };
        let (ending, ended) = oneshot::channel();
        let http = http(
            listener,
            Box::pin(async {
                let _ = ended.await;
            }),
        );
        Ok(Self { running, http, ending, address, admin, endpoints: None, folder: None })
    }

    /// The same server, with the folder of its store.
    pub(crate) fn with_folder(self, folder: Folder) -> Self {
        Self { folder: Some(folder), ..self }
    }

    /// The store that it serves now.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        self.running.0.lock().as_ref().map(|services| services.store.clone())
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
        let Self { running, http, ending, admin, endpoints, folder, .. } = self;
        let _ = ending.send(());
        if let Some(endpoints) = endpoints {
            // Tasks that are held end their work now.
            endpoints.release();
        }
        let in_order = async {
            let (served, store) = tokio::join!(http, running.halt());
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
            match store {
                Some(store) => store.close().await,
                None => Ok(()),
            }
        };
        let limit = Duration::from_millis(STOP_MS_MAX);
        let ended = tokio::time::timeout(limit, in_order).await;
        drop(folder);
        if let Ok(closed) = ended {
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
