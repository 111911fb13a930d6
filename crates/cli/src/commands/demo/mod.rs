//! `caseload demo`: shows the product in one process. It makes a store of its own, starts a server
//! on it, and then is a client of that server: it imports and exports profiles, imports a file with
//! faults, and imports, lists and walks through issues. It prints each step and commands to copy,
//! and then serves, with a dry run that can be made real in the console.
//! Another run on the same store uses the same domain with a new key and new data.

mod report;
mod steps;

use std::io;

use caseload_api::ApiConfig;
use caseload_client::Client;
use caseload_location::StoreLocation;
use caseload_model::ids::DomainName;
use caseload_model::key::Access;
use caseload_store::{CreateApp, CreateDomain, Domain, OpenMode, Store, StoreError};
use clap::Args;
use tokio::net::TcpListener;

use crate::args::parse_listen;
use crate::commands::console::{link, next_link};
use crate::commands::key::make_key;
use crate::commands::session::{domain_named, origin};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::samples::apps;
use crate::secret::random_bytes;
use crate::server::{Server, ServiceConfig, StopSignals, bind, on_threads, try_bind};
use crate::store::{STORE_HELP, parse_store};
use crate::tls::InClearArg;

/// The domain that the demo works in.
const DOMAIN: &str = "acme";
/// The ways to serve beyond loopback.
const WAYS: &str = "listen on 127.0.0.1, or give --insecure-http if all of the network may read \
                    everything; `caseload serve` has TLS (--tls-cert, --tls-key) and takes \
                    --trusted-proxy";

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// End after the steps instead of serving
    #[arg(long)]
    exit: bool,
    /// Address and port to serve on; if the port is in use, any free port
    #[arg(
        long,
        env = "CASELOAD_LISTEN",
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    listen: String,
    #[command(flatten)]
    in_clear: InClearArg,
    #[arg(
        long,
        env = "CASELOAD_STORE",
        help = STORE_HELP,
        hide_env_values = true,
        value_name = "STORE",
        default_value = "sqlite:caseload-data/demo.db",
        value_parser = parse_store
    )]
    store: StoreLocation,
}

pub(crate) fn run(args: &DemoArgs, printer: &mut Printer) -> Result<Done, Failure> {
    on_threads(async {
        args.in_clear.check(&args.listen, WAYS).await?;
        let store = caseload_location::open(&args.store, OpenMode::Server).await?;
        let mut signals = StopSignals::listen()?;
        let (domain, key) = prepare(store.as_ref()).await?;
        let console_store = store.clone();
        let (listener, port_taken) = listen(&args.listen).await?;
        let server =
            Server::start(store, (listener, None), ApiConfig::default(), ServiceConfig::default())?;
        let url = format!("http://{}", server.address());
        let client = Client::new(&url, DOMAIN, &key)?;
        report::opening(printer, &args.store, &url, port_taken.then_some(&*args.listen))?;
        let job = async {
            let faulty = steps::run(&client, printer).await?;
            report::by_hand(printer, &client, &key, &faulty, !args.exit)
        };
        // An interrupted demo shuts its server down gracefully, too.
        let worked = tokio::select! {
            worked = job => worked,
            () = signals.wait() => Err(Failure::interrupted()),
        };
        if worked.is_ok() && !args.exit {
            steps::dry_run(&client).await?;
            let link = link(console_store.as_ref(), &domain, Access::Admin, &url, "demo").await?;
            note(format_args!("console, once and within 60 s: {link}"));
            note(format_args!("the next link: {}", next_link(DOMAIN, &url, &args.store)));
            note(format_args!("serving on {url} until Ctrl-C"));
            signals.wait().await;
        }
        let stopped = server.stop().await;
        worked?;
        stopped?;
        Ok(Done::Good)
    })
}

/// Creates the domain and its apps if they are missing, and a key for it.
async fn prepare(store: &dyn Store) -> Result<(Domain, String), Failure> {
    let name = DomainName::parse(DOMAIN).map_err(|error| Failure::usage(error.to_string()))?;
    let random = u64::from_le_bytes(random_bytes()?);
    let create = CreateDomain { name: name.clone(), origin: origin("demo"), random };
    let domain = match store.create_domain(create).await {
        Ok(domain) => {
            tracing::info!(domain = domain.name.as_str(), "a domain was created");
            domain
        }
        // By an earlier run, or by one that started at the same moment.
        Err(StoreError::AlreadyExists { .. }) => domain_named(store, &name).await?,
        Err(error) => return Err(error.into()),
    };
    for (id, title) in apps(DOMAIN) {
        let create =
            CreateApp { domain: domain.id, id, title: title.to_owned(), origin: origin("demo") };
        match store.create_app(create).await {
            Ok(_) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (_, key) = make_key(store, &domain, Access::Write, "demo", None, origin("demo")).await?;
    Ok((domain, key))
}

/// Binds the address, or any free port of the same host if the port is in use. The flag says which.
async fn listen(address: &str) -> Result<(TcpListener, bool), Failure> {
    match try_bind(address).await {
        Ok(listener) => Ok((listener, false)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            Ok((bind(&format!("{host}:0")).await?, true))
        }
        Err(_) => Ok((bind(address).await?, false)),
    }
}
