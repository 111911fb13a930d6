//! The address of a PostgreSQL database, `postgres://USER@HOST/DATABASE?…`, in the format of libpq.
//! It is parsed before the first connection, and all its faults are reported together. Parameters
//! that the driver does not know (verification of certificates, files of passwords and
//! certificates) are handled here. The files are read when a store is opened, so that a new
//! certificate only needs a restart. Invariant: a password is sent to the database and never shown.

mod connector;
mod fault;
mod passfile;
mod shown;
#[cfg(test)]
mod tests;
mod tls;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::{Config, Error};

use caseload_store::{InvalidLocation, StoreError};
pub(crate) use connector::Connector;
pub use shown::shown;
use tls::{Tls, Verify};

/// How the address of a PostgreSQL database is written.
pub const ADDRESS_EXAMPLE: &str = "postgres://USER@HOST/DATABASE";

/// How long a host may take to answer, if the address does not say it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The same if the address names several hosts, which are tried one after the other.
const CONNECT_TIMEOUT_OF_SEVERAL: Duration = Duration::from_secs(2);
/// How long sent bytes may go unacknowledged.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(10);
/// How long a connection may be idle before keepalive probes are sent.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;

/// The location of a database and the settings of its connections.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    config: Config,
    tls: Tls,
    passfile: Option<PathBuf>,
    shown: String,
}

impl PostgresAddress {
    /// Whether a text looks like such an address.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres:") || text.starts_with("postgresql:")
    }

    /// Parses an address and reports all its faults.
    pub fn parse(text: &str) -> Result<Self, InvalidLocation> {
        let mut faults = Vec::new();
        let (place, parameters) = parts(text, &mut faults);
        let (mut tls, mut passfile) = (Tls::default(), None);
        let mut driver = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let Some((name, raw)) = parameter.split_once('=') else {
                faults.push(format!("the parameter {parameter} has no value"));
                continue;
            };
            let value = percent_decode_str(raw).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => match Verify::parse(&value) {
                    Some(verify) => tls.verify = verify,
                    None => faults.push(format!(
                        "sslmode is one of {}, not {value:?}",
                        Verify::NAMES.join(", ")
                    )),
                },
                "sslrootcert" => tls.root = Some(value.into()),
                "sslcert" => tls.certificate = Some(value.into()),
                "sslkey" => tls.key = Some(value.into()),
                "passfile" => passfile = Some(value.into()),
                "target_session_attrs" if value != "read-write" => {
                    faults.push("target_session_attrs can only be read-write".to_owned());
                }
                _ => match format!("postgres://h/d?{parameter}").parse::<Config>() {
                    Ok(_) => driver.push(parameter),
                    Err(error) => faults.push(reason(&error)),
                },
            }
        }
        faults.extend(tls.fault());
        let config = match format!("{place}?{}", driver.join("&")).parse::<Config>() {
            Ok(config) => {
                faults.extend(missing(&config));
                Some(config)
            }
            Err(error) => {
                faults.push(reason(&error));
                None
            }
        };
        match config {
            Some(mut config) if faults.is_empty() => {
                defaults(&mut config, &driver);
                config.ssl_mode(tls.verify.driver_mode());
                Ok(Self { config, tls, passfile, shown: shown(text) })
            }
            _ => Err(InvalidLocation { shown: shown(text), reason: faults.join("; ") }),
        }
    }

    /// Uses this password if the address has none.
    #[must_use]
    pub fn or_password(mut self, password: &str) -> Self {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// Reads the files that the address names and prepares connecting.
    pub(crate) fn connector(&self) -> Result<Connector, StoreError> {
        let unreadable =
            |reason| StoreError::NotOpened { store: self.shown.clone(), reason, hint: None };
        let mut config = self.config.clone();
        if let (None, Some(file)) = (config.get_password(), &self.passfile)
            && let Some(password) = passfile::password(file, &config).map_err(unreadable)?
        {
            config.password(password);
        }
        let tls = self.tls.connector().map_err(unreadable)?;
        Ok(Connector::new(&config, tls))
    }
}

/// The address without its password and parameters.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({})", self.shown)
    }
}

/// Splits an address before its parameters. A password may contain a question mark.
fn parts<'t>(text: &'t str, faults: &mut Vec<String>) -> (&'t str, &'t str) {
    let after_scheme = text.find("://").map(|at| at + 3);
    let Some(begin) = after_scheme else {
        faults.push("the host must follow a colon and two slashes".to_owned());
        return (ADDRESS_EXAMPLE, "");
    };
    let host = text[begin..].find('@').map_or(begin, |at| begin + at + 1);
    let (place, parameters) = match text[host..].find('?') {
        Some(at) => (&text[..host + at], &text[host + at + 1..]),
        None => (text, ""),
    };
    if place[host..].contains('@') {
        faults.push("write an @ in a user name or password as %40".to_owned());
    }
    (place, parameters)
}

/// The required parts that an address lacks.
fn missing(config: &Config) -> Vec<String> {
    let mut faults = Vec::new();
    let no_host = config.get_hosts().iter().all(|host| match host {
        tokio_postgres::config::Host::Tcp(name) => name.is_empty(),
        tokio_postgres::config::Host::Unix(_) => false,
    });
    if no_host && config.get_hostaddrs().is_empty() {
        faults.push("it has no host".to_owned());
    }
    if config.get_dbname().is_none() {
        faults.push("it has no database".to_owned());
    }
    faults
}

/// Sets the parameters that the address leaves open: dead connections are detected within half a
/// minute, and of several hosts the one that accepts writes is used.
fn defaults(config: &mut Config, given: &[&str]) {
    let is_given = |name: &str| given.iter().any(|parameter| parameter.starts_with(name));
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    if config.get_application_name().is_none() {
        config.application_name("caseload");
    }
    if !is_given("connect_timeout=") {
        let several = config.get_hosts().len().max(config.get_hostaddrs().len()) > 1;
        config.connect_timeout(if several { CONNECT_TIMEOUT_OF_SEVERAL } else { CONNECT_TIMEOUT });
    }
    if !is_given("tcp_user_timeout=") {
        config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
    }
    if !is_given("keepalives") {
        config.keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES);
    }
}

/// The driver's reason for refusing a text. It names parameters, never their values.
fn reason(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

impl Verify {
    fn driver_mode(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::Chain | Self::Full => SslMode::Require,
        }
    }
}
