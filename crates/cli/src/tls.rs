//! How a server encrypts its connections. Without TLS it starts only where no other machine reaches
//! it, unless the operator says that a proxy encrypts them or that nothing has to.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use caseload_api::Tls;
use clap::Args;
use clap::builder::FalseyValueParser;

use crate::failure::Failure;
use crate::printer::note;

/// The permission of everyone to read a file.
const READ_BY_OTHERS: u32 = 0o004;

#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    /// Serve over TLS with this certificate: a PEM file, with the certificates of its issuers after
    /// it. It is read again when it changes
    #[arg(long, env = "CASELOAD_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate: a PEM file, not encrypted
    #[arg(long, env = "CASELOAD_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
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
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let tls = Tls::load(certificate, key).map_err(|error| Failure::usage(error.to_string()))?;
        warn_of_readers(key);
        Ok(Some(tls))
    }
}

fn warn_of_readers(key: &Path) {
    let mode = key.metadata().map_or(0, |metadata| metadata.permissions().mode());
    if mode & READ_BY_OTHERS != 0 {
        let key = key.display();
        note(format_args!(
            "warning: every user of this machine can read the private key; chmod o-r {key}"
        ));
    }
}

impl InClearArg {
    /// Refuses to serve in clear at an address that other machines reach. The hint names the ways
    /// out.
    pub(crate) async fn check(&self, listen: &str, hint: &str) -> Result<(), Failure> {
        // An address that cannot be found cannot be bound either, and that error says so.
        let Ok(mut addresses) = tokio::net::lookup_host(listen).await else { return Ok(()) };
        if addresses.all(|address| address.ip().to_canonical().is_loopback()) {
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
