//! `caseload serve`: runs the server until SIGTERM or SIGINT. It prints its address on standard
//! error when it is ready; the log goes there too.

use std::io::IsTerminal as _;
use std::time::Duration;

use caseload_api::{ApiConfig, PublicUrl, Tls, TrustedProxies, connections_within};
use caseload_model::webhook::AddressRule;
use clap::Args;
use clap::builder::{FalseyValueParser, RangedU64ValueParser};

use super::console::next_link;
use crate::args::{StoreArgs, parse_listen};
use crate::clock::parse_span;
use crate::descriptors::connections_max;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::server::{LEASE_SECONDS, Server, ServiceConfig, StopSignals, on_threads};
use crate::store::open_for_server;
use crate::supervisor::{self, PassedSockets};
use crate::test_server::{self, Account, StarterArgs, TestServerArgs};
use crate::tls::{InClearArg, TlsArgs};

/// The ways to serve beyond loopback.
const WAYS: &str = "give --tls-cert FILE and --tls-key FILE; or --trusted-proxy ADDRESS, if a \
                    proxy there ends TLS; or --insecure-http, if all of the network may read \
                    everything";

/// Groups of flags in the help.
const ADDRESS: &str = "Address";
const MEMORY: &str = "Memory and connections";

/// All flags of the command.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    settings: ServeSettings,
    #[command(flatten, next_help_heading = "Test server")]
    test: TestServerArgs,
    #[command(flatten, next_help_heading = "Test server")]
    starter: StarterArgs,
}

/// The flags that have a variable and a key in a configuration file.
#[derive(Debug, Args)]
pub(crate) struct ServeSettings {
    /// Address and port for callers; 0.0.0.0 means all addresses of this machine, and port 0 any
    /// free port
    #[arg(
        long,
        env = "CASELOAD_LISTEN",
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen,
        help_heading = ADDRESS
    )]
    listen: String,
    /// Address and port for health, readiness and metrics, for operators alone: they need no key
    /// there. Without it, they are at --listen, and the metrics need a key or a caller on this
    /// machine
    #[arg(long, env = "CASELOAD_ADMIN_LISTEN", value_name = "HOST:PORT",
          value_parser = parse_listen, help_heading = ADDRESS)]
    admin_listen: Option<String>,
    #[command(flatten, next_help_heading = "TLS")]
    tls: TlsArgs,
    #[command(flatten, next_help_heading = "TLS")]
    in_clear: InClearArg,
    #[command(flatten, next_help_heading = "Store")]
    store: StoreArgs,
    /// How long to wait at start for a PostgreSQL database that does not answer
    #[arg(long, env = "CASELOAD_STORE_WAIT", value_name = "SECONDS", default_value = "60",
          value_parser = clap::value_parser!(u64).range(0..=86_400), help_heading = "Store")]
    store_wait: u64,
    /// How long the tasks of a dead server wait before another server of the store continues them
    #[arg(long, env = "CASELOAD_LEASE", value_name = "SECONDS", default_value_t = LEASE_SECONDS,
          value_parser = clap::value_parser!(u64).range(2..=3600), help_heading = "Store")]
    lease: u64,
    #[command(flatten, next_help_heading = "Proxy and links")]
    links: LinkArgs,
    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitArgs,
}

/// How callers reach the server, for the links in answers.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// URL under which callers reach the server, for the links in answers; it may have a path.
    /// Without it, links begin with the host that the request names
    #[arg(long, env = "CASELOAD_PUBLIC_URL", value_name = "URL")]
    public_url: Option<PublicUrl>,
    /// Address or network of a proxy that says in Forwarded or X-Forwarded-… headers how a caller
    /// reached it; may be given several times, or as a list with commas
    #[arg(long, env = "CASELOAD_TRUSTED_PROXY", value_name = "ADDRESS", value_delimiter = ',')]
    trusted_proxy: Vec<TrustedProxies>,
}

impl LinkArgs {
    /// Adds them to the settings of a server.
    fn add_to(&self, config: &mut ApiConfig) {
        let mut trusted_proxies = TrustedProxies::default();
        trusted_proxies.extend(self.trusted_proxy.iter().cloned());
        config.public_url.clone_from(&self.public_url);
        config.trusted_proxies = trusted_proxies;
    }
}

/// The limits that an operator can set.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Largest body of a request, before and after it is unpacked
    #[arg(long, env = "CASELOAD_BODY_LIMIT", value_name = "BYTES", default_value = "134217728",
          value_parser = RangedU64ValueParser::<usize>::new().range(1024..=1 << 40))]
    body_limit: usize,
    /// Largest file of an import, before and after it is unpacked
    #[arg(long, env = "CASELOAD_IMPORT_LIMIT", value_name = "BYTES", default_value = "2147483648",
          value_parser = clap::value_parser!(u64).range(1024..=1 << 40))]
    import_limit: u64,
    /// Largest file that is attached to a message
    #[arg(long, env = "CASELOAD_ATTACHMENT_LIMIT", value_name = "BYTES",
          default_value = "26214400",
          value_parser = RangedU64ValueParser::<usize>::new().range(0..=1 << 40))]
    attachment_limit: usize,
    /// Longest time that a read may take; after it, the request is answered 503
    #[arg(long, env = "CASELOAD_QUERY_TIMEOUT", value_name = "SECONDS", default_value = "10",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    query_timeout: u64,
    /// How long a connection may be silent between two requests. A proxy in front should close its
    /// idle connections sooner
    #[arg(long, env = "CASELOAD_IDLE_TIMEOUT", value_name = "SECONDS", default_value = "75",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    idle_timeout: u64,
    /// Requests that a key may make in 60 s; further ones are answered 429. 0 means no limit, the
    /// default of a test server
    #[arg(
        long,
        env = "CASELOAD_RATE_LIMIT",
        value_name = "NUMBER",
        default_value = "1500",
        default_value_if("ephemeral", "true", "0")
    )]
    rate_limit: u32,
    /// Unfinished tasks that a domain may have; further ones are answered 429
    #[arg(long, env = "CASELOAD_QUEUE_LIMIT", value_name = "NUMBER", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queue_limit: u32,
    /// Memory for all connections and requests together, apart from the page caches of the store: a
    /// number of bytes, or with KiB, MiB or GiB
    #[arg(long, env = "CASELOAD_MEMORY_BUDGET", value_name = "SIZE", default_value = "512MiB",
          value_parser = parse_bytes, help_heading = MEMORY)]
    memory_budget: usize,
    /// Connections at a time; by default as many as the system allows, less 64 for the store, and
    /// no more than half of the memory budget has room for
    #[arg(long, env = "CASELOAD_CONNECTIONS", value_name = "NUMBER",
          value_parser = RangedU64ValueParser::<usize>::new().range(16..=1 << 20),
          help_heading = MEMORY)]
    connections: Option<usize>,
    /// Connections with keys of one domain at a time; by default a quarter of all
    #[arg(long, env = "CASELOAD_DOMAIN_CONNECTIONS", value_name = "NUMBER",
          value_parser = RangedU64ValueParser::<usize>::new().range(4..=1 << 20),
          help_heading = MEMORY)]
    domain_connections: Option<usize>,
    /// Let webhooks call addresses that are not on the public internet: this machine, its networks,
    /// and the metadata services of clouds
    #[arg(long, env = "CASELOAD_WEBHOOK_ALLOW_PRIVATE", value_parser = FalseyValueParser::new(),
          help_heading = "Webhooks")]
    webhook_allow_private: bool,
    /// How long the results and the errors of a task can be read; then they are deleted
    #[arg(long, env = "CASELOAD_KEEP_RESULTS", value_name = "DAYS", default_value = "30",
          value_parser = clap::value_parser!(u64).range(1..=36_500))]
    keep_results: u64,
    /// How long the log of changes is retained, such as 400d or 2y; 0 means for ever
    #[arg(long, env = "CASELOAD_KEEP_CHANGES", value_name = "SPAN", default_value = "400d",
          value_parser = parse_keep)]
    keep_changes: Duration,
}

/// A span, or zero for ever.
fn parse_keep(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let span = parse_span(text).map_err(|fault| format!("{fault}; 0 means for ever"))?;
    Ok(Duration::from_millis(span.unsigned_abs()))
}

impl LimitArgs {
    /// How many connections the server may have: the descriptors and the memory set limits.
    fn connections(&self, are_tls: bool) -> Result<usize, Failure> {
        let wanted = connections_max(self.connections)?;
        let room = connections_within(self.memory_budget, are_tls);
        if self.connections.is_some_and(|wanted| wanted > room) {
            note(format_args!(
                "warning: half of the memory budget has room for {room} connections, not for \
                 {wanted}; raise --memory-budget for more"
            ));
        }
        Ok(wanted.min(room))
    }

    fn config(&self, connections_max: usize) -> ApiConfig {
        ApiConfig {
            memory_bytes: self.memory_budget,
            connections_max,
            connections_per_domain: self.domain_connections,
            body_bytes_max: self.body_limit,
            import_bytes_max: self.import_limit,
            attachment_bytes_max: self.attachment_limit,
            query_timeout: Duration::from_secs(self.query_timeout),
            idle_timeout: Duration::from_secs(self.idle_timeout),
            rate_limit: self.rate_limit,
            unfinished_tasks_max: self.queue_limit,
            webhook_addresses: if self.webhook_allow_private {
                AddressRule::All
            } else {
                AddressRule::Public
            },
            keep_results: Duration::from_hours(24 * self.keep_results),
            ..ApiConfig::default()
        }
    }
}

/// The least memory with which every request has room.
const MEMORY_BYTES_MIN: usize = 32 << 20;

/// A number of bytes, perhaps with a unit.
fn parse_bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => Some(0),
        "kib" => Some(10),
        "mib" => Some(20),
        "gib" => Some(30),
        _ => None,
    };
    let number = digits.trim_end().parse::<usize>().ok();
    let bytes = unit.and_then(|unit| number?.checked_mul(1 << unit));
    bytes.filter(|bytes| *bytes >= MEMORY_BYTES_MIN).ok_or_else(|| {
        "write a number of bytes, or one such as 512MiB or 2GiB; at least 32MiB".to_owned()
    })
}

pub(crate) fn run(args: &ServeArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let passed = PassedSockets::take()?;
    let tls = args.settings.tls.load()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let connections = args.settings.limits.connections(tls.is_some())?;
    on_threads(async {
        if tls.is_none() && args.settings.links.trusted_proxy.is_empty() {
            args.settings.in_clear.check(&passed.address(&args.settings.listen), WAYS).await?;
        }
        args.test.check(&passed.address(&args.settings.listen)).await?;
        supervisor::start_watchdog();
        let mut signals = StopSignals::listen()?;
        let mut parent = std::pin::pin!(args.starter.parent_ended());
        let (server, account) = tokio::select! {
            started = start(args, passed, tls, connections) => started?,
            () = signals.wait() => return Ok(Done::Good),
            () = &mut parent => return Ok(Done::Good),
        };
        let address = format!("{scheme}://{}", server.address());
        supervisor::tell_ready(&format!("serving on {address}"));
        note(format_args!("listening on {address}"));
        if let Some(address) = server.admin_address() {
            note(format_args!("health and metrics on http://{address}"));
        }
        note_start(args, &server, &address).await;
        note(format_args!(
            "memory budget {} MiB, without the page caches of the store; up to {connections} \
             connections",
            args.settings.limits.memory_budget >> 20
        ));
        args.starter.tell_ready(&address, account.as_ref(), printer)?;
        tokio::select! {
            () = signals.wait() => {}
            () = parent => {}
        }
        supervisor::tell_stopping();
        server.stop().await?;
        Ok(Done::Good)
    })
}

/// Opens the store and starts to serve it.
async fn start(
    args: &ServeArgs,
    passed: PassedSockets,
    tls: Option<Tls>,
    connections: usize,
) -> Result<(Server, Option<Account>), Failure> {
    let store = if args.test.ephemeral {
        None
    } else {
        let patience = Duration::from_secs(args.settings.store_wait);
        Some(open_for_server(&args.settings.store.store, patience).await?)
    };
    let listeners =
        passed.listeners(&args.settings.listen, args.settings.admin_listen.as_deref()).await?;
    let mut config = args.settings.limits.config(connections);
    args.settings.links.add_to(&mut config);
    config.tls = tls;
    config.is_test_server = args.test.ephemeral;
    config.has_admin_address = listeners.1.is_some();
    let services = ServiceConfig {
        lease: Duration::from_secs(args.settings.lease),
        keep_changes: Some(args.settings.limits.keep_changes).filter(|kept| !kept.is_zero()),
        webhook_addresses: config.webhook_addresses,
        is_test_server: args.test.ephemeral,
    };
    if let Some(store) = store {
        return Ok((Server::start(store, listeners, config, services)?, None));
    }
    let (server, account) = test_server::start(&args.test, listeners, config, services).await?;
    Ok((server, Some(account)))
}

/// Says in one line the version, the store and the address. On a terminal it says which command
/// prints a link to the console, too.
async fn note_start(args: &ServeArgs, server: &Server, address: &str) {
    let version = env!("CARGO_PKG_VERSION");
    let location = &args.settings.store.store;
    let Some(store) = server.store().filter(|_| !args.test.ephemeral) else {
        note(format_args!("caseload {version} serves a store that ends with it, on {address}"));
        return;
    };
    let domains = store.domains().await.unwrap_or_default();
    let count = domains.len();
    let what = if count == 1 { "domain" } else { "domains" };
    note(format_args!("caseload {version} serves {location} with {count} {what} on {address}"));
    tracing::info!(version, store = %location, domains = count, address, "the server has started");
    if std::io::stderr().is_terminal() {
        let public = args.settings.links.public_url.as_ref().map(ToString::to_string);
        let url = public.unwrap_or_else(|| address.to_owned());
        let domain = if let [domain] = &domains[..] { domain.name.as_str() } else { "NAME" };
        note(format_args!("a link to the console: {}", next_link(domain, &url, location)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_retained_for_a_span_or_for_ever() {
        assert_eq!(parse_keep("400d"), Ok(Duration::from_hours(400 * 24)));
        assert_eq!(parse_keep("0"), Ok(Duration::ZERO));
        for text in ["0d", "-1d", "400", ""] {
            let fault = parse_keep(text).err().unwrap_or_default();
            assert!(fault.ends_with("; 0 means for ever"), "{text}: {fault}");
        }
    }

    #[test]
    fn a_memory_budget_is_a_number_of_bytes_with_or_without_a_unit() {
        for (text, bytes) in [
            ("33554432", Some(32 << 20)),
            ("512MiB", Some(512 << 20)),
            ("2 gib", Some(2 << 30)),
            ("65536KiB", Some(64 << 20)),
            ("31MiB", None),
            ("512MB", None),
            ("MiB", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("18446744073709551615GiB", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), bytes, "{text}");
        }
    }
}
