//! Groups of flags that several commands share. A flag wins over its environment variable, if it
//! has one, the variable over the file of `--config`, and the file over the default.

use std::path::PathBuf;
use std::time::Duration;

use caseload_client::{Client, ClientError, Params};
use caseload_location::StoreLocation;
use caseload_model::ids::DomainName;
use clap::Args;
use tracing_subscriber::filter::Targets;

use crate::failure::Failure;
use crate::logging::{LogFormat, parse_filter};
use crate::printer::note;
use crate::store::{STORE_HELP, parse_store};

/// The file with settings. Every command takes this flag.
#[derive(Debug, Args)]
pub(crate) struct ConfigArg {
    /// TOML file with settings; flags and environment variables win over it. `caseload config`
    /// prints one
    #[arg(long, global = true, env = "CASELOAD_CONFIG", value_name = "FILE", display_order = 899)]
    config: Option<PathBuf>,
}

/// The log. Every command takes these flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Which log lines go to standard error: error, warn, info, debug, trace, or target=level,…
    #[arg(
        long,
        global = true,
        env = "CASELOAD_LOG",
        value_name = "FILTER",
        default_value = "warn",
        value_parser = parse_filter,
        display_order = 900
    )]
    pub(crate) log: Targets,
    /// Format of log lines
    #[arg(
        long,
        global = true,
        env = "CASELOAD_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        display_order = 901
    )]
    pub(crate) log_format: LogFormat,
}

/// Which store a command works on.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[arg(
        long,
        env = "CASELOAD_STORE",
        help = STORE_HELP,
        hide_env_values = true,
        value_name = "STORE",
        default_value = "sqlite:caseload-data/caseload.db",
        value_parser = parse_store
    )]
    pub(crate) store: StoreLocation,
}

/// Which domain of the store a command works on.
#[derive(Debug, Args)]
pub(crate) struct DomainArgs {
    /// Name of the domain
    #[arg(long, env = "CASELOAD_DOMAIN", value_name = "NAME", value_parser = parse_domain)]
    pub(crate) domain: DomainName,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How to print a list.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON, one map per line; without it, a table on a terminal and tab-separated lines
    /// elsewhere
    #[arg(long)]
    pub(crate) json: bool,
}

/// The idempotency key of a request.
#[derive(Debug, Args)]
pub(crate) struct KeyArg {
    /// A text of your choice that names this request. If the command is repeated with the same
    /// text, nothing new is started, and the id of the first task or import is printed
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
}

/// Names a person.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct PersonArgs {
    /// An identity of the person, such as email:ada@example.org
    #[arg(long, value_name = "TYPE:VALUE")]
    identity: Option<String>,
    /// The id of a core profile
    #[arg(long, value_name = "ID")]
    core_profile_id: Option<String>,
    /// The id of an app profile
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
}

impl PersonArgs {
    /// The fields of the API that name the person.
    pub(crate) fn fields(&self) -> Params {
        let Self { identity, core_profile_id, pid } = self;
        let mut fields = Params::default();
        fields.push_given("identity", identity.as_deref());
        fields.push_given("core-profile-id", core_profile_id.as_deref());
        fields.push_given("pid", pid.as_deref());
        fields
    }
}

/// Whether a file that was submitted before is submitted again.
#[derive(Debug, Args)]
pub(crate) struct AgainArg {
    /// Create the records of FILE again, although the domain has them from an earlier run of this
    /// command. Without it, the same file with the same options creates nothing twice: the command
    /// shows the first import instead
    #[arg(long)]
    pub(crate) again: bool,
}

/// Which server a command calls.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Address of the server
    #[arg(long, env = "CASELOAD_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Name of the domain
    #[arg(long, env = "CASELOAD_DOMAIN", value_name = "NAME")]
    domain: String,
    /// API key
    #[arg(long, env = "CASELOAD_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: String,
    #[command(flatten)]
    trust: TrustArg,
}

impl ServerArgs {
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.trust.client(&self.url, &self.domain, &self.api_key)
    }
}

/// Whose signature makes the certificate of a server valid.
#[derive(Debug, Args)]
pub(crate) struct TrustArg {
    /// Trust the authorities in this PEM file alone, if no public authority has signed the
    /// certificate of the server
    #[arg(long, env = "CASELOAD_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}

impl TrustArg {
    /// A client that reports each of its waits.
    pub(crate) fn client(&self, url: &str, domain: &str, key: &str) -> Result<Client, Failure> {
        let say = |refusal: &ClientError, wait: Duration| {
            note(format_args!("waiting {} s: {refusal}", wait.as_secs()));
        };
        let client = match self.pem()? {
            Some(pem) => Client::trusting(url, domain, key, &pem)?,
            None => Client::new(url, domain, key)?,
        };
        Ok(client.on_wait(say))
    }

    /// The file with the authorities to trust, if one is named.
    pub(crate) fn pem(&self) -> Result<Option<Vec<u8>>, Failure> {
        let read = |file: &PathBuf| {
            std::fs::read(file).map_err(|error| Failure::file("read", file, &error))
        };
        self.tls_ca.as_ref().map(read).transpose()
    }
}

pub(crate) fn parse_domain(text: &str) -> Result<DomainName, String> {
    DomainName::parse(text).map_err(|error| error.to_string())
}

/// Checks that an address to listen on has a port.
pub(crate) fn parse_listen(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err("write HOST:PORT, for example 127.0.0.1:8080".to_owned()),
    }
}
