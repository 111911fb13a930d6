//! A server for other people's tests: its store ends with it, its clock can be set, and its test
//! endpoints break it on purpose. It is the server that serves everyone, over a temporary SQLite
//! store that waits for no disk. The endpoints themselves are in the api crate.

mod copies;
mod folder;
mod seed;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use caseload_api::{ApiConfig, AppState, ClockStart, Restart, Restarted, TestClock, TestEndpoints};
use caseload_location::StoreLocation;
use caseload_model::change::Author;
use caseload_model::ids::DomainName;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use caseload_store::{AdminOrigin, CreateDomain, CreateKey, OpenMode, Store, StoreError};
use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::args::parse_domain;
use crate::clock::system_clock;
use crate::failure::Failure;
use crate::printer::{Printer, note};
use crate::secret::{hash_of_key, new_key, random_bytes};
use crate::server::{Running, Server, ServiceConfig, Services};
use crate::tls::is_loopback;
use copies::{Copies, DATABASE};
pub(crate) use folder::Folder;

/// The domain of a test server, unless one is named.
const DOMAIN: &str = "acme";
/// The longest key.
const KEY_BYTES_MAX: usize = 256;

/// The flags of a test server. They have no variables: one that was left in the environment would
/// make a real server lose its data.
#[derive(Debug, Args)]
pub(crate) struct TestServerArgs {
    /// Serve a temporary store for tests, which ends with the server: nothing is on disk afterwards
    #[arg(long, conflicts_with = "store")]
    pub(crate) ephemeral: bool,
    /// Name of the domain of a test server; without it, acme
    #[arg(long, value_name = "NAME", requires = "ephemeral", value_parser = parse_domain)]
    domain: Option<DomainName>,
    /// Admin key of a test server; without it, a random one
    #[arg(long, value_name = "KEY", requires = "ephemeral", value_parser = parse_key)]
    key: Option<String>,
    /// File of issues or profiles, one a line as JSON, that a test server begins with; may be given
    /// several times
    #[arg(long, value_name = "FILE", requires = "ephemeral")]
    seed: Vec<PathBuf>,
    /// Time at which the clock of a test server begins, such as 2026-01-31T12:00:00Z; with ,frozen
    /// after it the clock does not run, with ,x60 it runs 60 times as fast
    #[arg(long, value_name = "TIME", requires = "ephemeral")]
    clock: Option<ClockStart>,
    /// Let callers on this machine reset a test server, turn its clock, and break it, at /_test and
    /// without a key; docs/testing.md
    #[arg(long, requires = "ephemeral", conflicts_with = "admin_listen")]
    pub(crate) test_endpoints: bool,
}

/// How a program that starts the server knows it, and how the server knows that program.
#[derive(Debug, Args)]
pub(crate) struct StarterArgs {
    /// Print one line on standard output when ready, a JSON map with url, domain, key and pid
    #[arg(long)]
    ready_json: bool,
    /// End when standard input closes, as it does when the program that started the server ends
    #[arg(long)]
    exit_with_parent: bool,
}

/// A key that `Authorization` can carry.
fn parse_key(text: &str) -> Result<String, String> {
    let is_fit = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    if !text.is_empty() && text.len() <= KEY_BYTES_MAX && text.bytes().all(is_fit) {
        return Ok(text.to_owned());
    }
    Err(format!("write 1 to {KEY_BYTES_MAX} visible ASCII characters without a colon"))
}

impl TestServerArgs {
    /// Refuses test endpoints at an address that other machines reach.
    pub(crate) async fn check(&self, listen: &str) -> Result<(), Failure> {
        if !self.test_endpoints || is_loopback(listen).await {
            return Ok(());
        }
        let message = format!(
            "other machines can reach {listen}, and --test-endpoints lets every caller reset and \
             break the server without a key"
        );
        Err(Failure::usage(message).with_hint("listen on 127.0.0.1, or leave --test-endpoints out"))
    }
}

impl StarterArgs {
    /// Prints the line for the program that waits for the server.
    pub(crate) fn tell_ready(
        &self,
        url: &str,
        account: Option<&Account>,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        if self.ready_json {
            let line = json!({
                "url": url,
                "domain": account.map(|account| account.domain.as_str()),
                "key": account.map(|account| &account.key),
                "pid": std::process::id(),
            });
            printer.line(line)?;
            return printer.flush();
        }
        if let Some(Account { domain, key }) = account {
            note(format_args!("domain {domain}, admin key {key}"));
        }
        Ok(())
    }

    /// Returns when the program that started the server has ended, if the server is to end then.
    pub(crate) async fn parent_ended(&self) {
        if !self.exit_with_parent {
            return std::future::pending().await;
        }
        let (ended, wait) = oneshot::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                match std::io::stdin().read(&mut bytes) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
            let _ = ended.send(());
        });
        let _ = wait.await;
    }
}

/// The domain of a test server, and its admin key.
#[derive(Debug)]
pub(crate) struct Account {
    domain: DomainName,
    key: String,
}

/// Starts a test server.
pub(crate) async fn start(
    args: &TestServerArgs,
    listeners: (TcpListener, Option<TcpListener>),
    config: ApiConfig,
    services: ServiceConfig,
) -> Result<(Server, Account), Failure> {
    let folder = Folder::create()?;
    let clock = TestClock::new(args.clock.unwrap_or_default(), system_clock());
    let domain = match &args.domain {
        Some(domain) => domain.clone(),
        None => DomainName::parse(DOMAIN).map_err(|error| Failure::usage(error.to_string()))?,
    };
    let key = args.key.clone().map_or_else(new_key, Ok)?;
    let account = Account { domain, key };
    let first = folder.inside("first").map_err(|e| Failure::file("write", folder.path(), &e))?;
    let first = first.join(DATABASE);
    let mut store = open(&first).await?;
    account.create(store.as_ref(), clock.now()).await?;
    let endpoints = TestEndpoints::new(clock, account.key.clone(), services.keep_changes);
    let stores = |store: Arc<dyn Store>| (store.clone(), endpoints.faulty(store));
    if !args.seed.is_empty() {
        let own = (account.domain.as_str(), &*account.key);
        seed::load(stores(store), endpoints.clock(), own, services, &args.seed).await?;
        caseload_location::forget_tasks(&first)?;
        endpoints.restart_clock();
        store = open(&first).await?;
    }
    if !args.test_endpoints {
        let (clock, stores) = (endpoints.clock(), stores(store));
        let server = Server::start_at(clock, stores, listeners, config, services)?;
        return Ok((server.with_folder(folder), account));
    }
    store.close().await?;
    let starts = Starts {
        copies: Copies::start(folder.path(), &first),
        endpoints: endpoints.clone(),
        running: Running::default(),
        config: services,
    };
    let running = starts.running.clone();
    let Restarted { store, webhook_counts } = starts.restart().await?;
    let state = AppState::new(store, endpoints.clock(), config).with_webhook_counts(webhook_counts);
    endpoints.open(state, Box::new(starts));
    let server = Server::start_tests(endpoints, running, listeners)?;
    Ok((server.with_folder(folder), account))
}

async fn open(path: &Path) -> Result<Arc<dyn Store>, Failure> {
    let location = StoreLocation::Sqlite(path.to_owned());
    Ok(caseload_location::open(&location, OpenMode::Ephemeral).await?)
}

impl Account {
    /// Creates the domain and its key.
    async fn create(&self, store: &dyn Store, now: UnixMillis) -> Result<(), Failure> {
        let by = Author::Command { line: "caseload serve".to_owned() };
        let origin = AdminOrigin { by, ..now.into() };
        let random = u64::from_le_bytes(random_bytes()?);
        let create = CreateDomain { name: self.domain.clone(), origin: origin.clone(), random };
        let domain = store.create_domain(create).await?;
        let create = CreateKey {
            domain: domain.id,
            id: "key-1".to_owned(),
            hash: hash_of_key(&self.key),
            name: "test".to_owned(),
            access: Access::Admin,
            origin,
            expires_at: None,
        };
        Ok(store.create_key(create).await?)
    }
}

/// Starts the services of a test server, each time over a copy of the first state.
struct Starts {
    copies: Copies,
    endpoints: Arc<TestEndpoints>,
    /// The services that run.
    running: Running,
    config: ServiceConfig,
}

impl Restart for Starts {
    fn restart(&self) -> Pin<Box<dyn Future<Output = Result<Restarted, StoreError>> + Send + '_>> {
        Box::pin(async {
            let (store, folder) = self.copies.next().await?;
            let work = self.endpoints.faulty(store.clone());
            let clock = self.endpoints.clock();
            let services = Services::start((store.clone(), work), clock, &self.config)
                .map_err(|failure| StoreError::Unavailable(failure.message))?;
            let webhook_counts = services.webhook_counts();
            if let Some(old) = self.running.replace(services.in_folder(folder)) {
                tokio::spawn(old.end());
            }
            Ok(Restarted { store, webhook_counts })
        })
    }
}
