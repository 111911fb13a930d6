//! Opens connections. The hosts of an address are tried one after the other, beginning with the
//! host that worked last, and the first host that accepts writes is used. The connect timeout
//! covers the whole handshake of each host; the driver's own timeout covers only the TCP
//! connection, after which a host that hangs might never answer. Invariant: as long as one host
//! accepts writes, connecting succeeds.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use deadpool_postgres::{Connect, Manager, ManagerConfig};
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The stream of an encrypted connection.
type EncryptedStream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Opens connections to the hosts of an address.
#[derive(Clone)]
pub(crate) struct Connector {
    /// One address for each host.
    pub(super) hosts: Arc<[Config]>,
    /// The index of the host that worked last.
    last_good: Arc<AtomicUsize>,
    /// Warnings of the database on any connection of the pool.
    warnings: Arc<AtomicU64>,
    tls: MakeRustlsConnect,
}

impl Connector {
    pub(super) fn new(config: &Config, tls: MakeRustlsConnect) -> Self {
        Self {
            hosts: each_host(config).into(),
            last_good: Arc::default(),
            warnings: Arc::default(),
            tls,
        }
    }

    /// Opens a connection to the host that accepts writes.
    pub(crate) async fn connect(
        &self,
    ) -> Result<(Client, Connection<Socket, EncryptedStream>), Error> {
        let (first, count) = (self.last_good.load(Ordering::Relaxed), self.hosts.len());
        let mut fault = None;
        for place in (0..count).map(|step| (first + step) % count) {
            let host = &self.hosts[place];
            let connecting = host.connect(self.tls.clone());
            let is_last = (place + 1) % count == first;
            let connected = match host.get_connect_timeout() {
                // No host is left to try after this one, and the caller has a limit of its own.
                Some(limit) if !(is_last && fault.is_none()) => {
                    tokio::time::timeout(*limit, connecting).await
                }
                _ => Ok(connecting.await),
            };
            match connected {
                Ok(Ok(connected)) => {
                    self.last_good.store(place, Ordering::Relaxed);
                    return Ok(connected);
                }
                Ok(Err(error)) => fault = Some(error),
                Err(_) => {}
            }
        }
        Err(fault.expect("without another fault, the last host is awaited without a timeout"))
    }

    /// Asks the server of a connection to cancel the statement that it runs there. That takes a
    /// connection of its own.
    pub(crate) async fn cancel(&self, token: &CancelToken) -> Result<(), Error> {
        token.cancel_query(self.tls.clone()).await
    }

    /// The longest time in which every host was tried.
    pub(crate) fn time_max(&self) -> Duration {
        self.hosts.iter().filter_map(Config::get_connect_timeout).sum()
    }

    /// How many warnings about itself the database has sent so far, on any connection of the pool.
    /// The warnings of a statement are counted before the statement is answered.
    pub(crate) fn warnings(&self) -> Arc<AtomicU64> {
        self.warnings.clone()
    }

    /// The manager of a connection pool.
    pub(crate) fn manager(&self, config: ManagerConfig) -> Manager {
        Manager::from_connect(Config::new(), self.clone(), config)
    }
}

impl Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(async move {
            let (client, connection) = Self::connect(self).await?;
            Ok((client, tokio::spawn(drive(connection, self.warnings()))))
        })
    }
}

/// Drives a connection until it ends. Logs the database's warnings, and counts those of its own:
/// a coordinator also sends on the warnings of nodes.
async fn drive(mut connection: Connection<Socket, EncryptedStream>, warnings: Arc<AtomicU64>) {
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) if is_warning(&notice) => {
                tracing::warn!(%notice, "the database warns");
                if !is_sent_on(&notice) {
                    warnings.fetch_add(1, Ordering::Release);
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection to the database ended");
                return;
            }
        }
    }
}

/// Whether the database says that something went wrong. Warnings about the beginning or the end of
/// a transaction are common: a read that failed is ended twice, and the nodes of a cluster send
/// such warnings on.
fn is_warning(notice: &DbError) -> bool {
    const TRANSACTION_STATE: &str = "25";
    let about_state = notice.code().code().starts_with(TRANSACTION_STATE);
    notice.parsed_severity() == Some(Severity::Warning) && !about_state
}

/// Whether a coordinator sends on the warning of a node, which thus is there and answers. Citus
/// says so in the detail, `from HOST:PORT`. It warns of a node without an answer by itself.
fn is_sent_on(notice: &DbError) -> bool {
    notice.detail().is_some_and(|detail| detail.starts_with("from "))
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

/// One address for each host of an address.
fn each_host(config: &Config) -> Vec<Config> {
    let (names, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let ports = config.get_ports();
    let one = |place: usize| {
        let mut one = without_hosts(config);
        match names.get(place) {
            Some(tokio_postgres::config::Host::Tcp(name)) => drop(one.host(name)),
            Some(tokio_postgres::config::Host::Unix(folder)) => drop(one.host_path(folder)),
            None => {}
        }
        if let Some(address) = addresses.get(place) {
            one.hostaddr(*address);
        }
        if let Some(port) = ports.get(place).or_else(|| ports.first()) {
            one.port(*port);
        }
        one
    };
    (0..names.len().max(addresses.len())).map(one).collect()
}

/// The settings of an address without its hosts.
fn without_hosts(config: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(limit) = config.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs());
    one
}
