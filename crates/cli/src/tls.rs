//! How a server encrypts its connections. Without TLS it starts only where no other machine reaches
//! it, unless the operator says that a proxy encrypts them or that nothing has to.

use std::path::PathBuf;

use caseload_api::Tls;
use clap::Args;
use clap::builder::FalseyValueParser;

use crate::config_file::warn_of_readers;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    /// Serve over TLS with this certificate: a PEM file, with the certificates of its issuers after
    /// it. It is read again when it changes
    #[arg(long, env = "CASELOAD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate: a PEM file, not encrypted
    #[arg(long, env = "CASELOAD_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InClearArg {
    /// Serve without TLS beyond loopback: everyone on the way reads keys and data
    #[arg(long, env = "CASELOAD_INSECURE_HTTP", value_parser = FalseyValueParser::new())]
    insecure_http: bool,
}

impl TlsArgs {
    /// Reads the certificate and its key, if the command names them.
    pub(crate) fn load(&self) -> Result<Option<Tls>, Failure> {
        let (certificate, key) = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => (certificate, key),
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(without("--tls-cert", "--tls-key")),
            (None, Some(_)) => return Err(without("--tls-key", "--tls-cert")),
        };
        let tls = Tls::load(certificate, key).map_err(|error| Failure::usage(error.to_string()))?;
        warn_of_readers(key, "the private key");
        Ok(Some(tls))
    }
}

/// One of the two files without the other.
fn without(given: &str, missing: &str) -> Failure {
    Failure::usage(format!("{given} needs {missing} FILE, because TLS needs both files"))
}

/// Whether only this machine reaches the address. One that cannot be found cannot be bound either,
/// and that error says so.
pub(crate) async fn is_loopback(listen: &str) -> bool {
    let Ok(mut addresses) = tokio::net::lookup_host(listen).await else { return true };
    addresses.all(|address| address.ip().to_canonical().is_loopback())
}

impl InClearArg {
    /// Refuses to serve in clear at an address that other machines reach. The hint names the ways
    /// out.
    pub(crate) async fn check(&self, listen: &str, hint: &str) -> Result<(), Failure> {
        if is_loopback(listen).await {
            return Ok(());
        }
        let said = format!(
            "other machines can reach {listen}, and without TLS everyone on the way reads keys and \
             data"
        );
        if !self.insecure_http {
            return Err(Failure::usage(said).with_hint(hint));
        }
        tracing::warn!("{said}");
        Ok(())
    }
}
