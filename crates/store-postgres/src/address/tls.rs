//! Encryption of connections, with the parameters of libpq. `sslmode` selects the verification, and
//! `sslrootcert` names the trusted roots. `prefer` and `require` encrypt but trust any server;
//! `verify-ca` requires a certificate of a trusted root, and `verify-full` also the right host
//! name. With a root certificate, `require` means `verify-ca`, as in libpq.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How much of the server's certificate is verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Verify {
    Disable,
    #[default]
    Prefer,
    Require,
    Chain,
    Full,
}

impl Verify {
    /// The values of `sslmode`.
    pub(super) const NAMES: [&str; 5] =
        ["disable", "prefer", "require", "verify-ca", "verify-full"];

    pub(super) fn parse(word: &str) -> Option<Self> {
        let all = [Self::Disable, Self::Prefer, Self::Require, Self::Chain, Self::Full];
        all.into_iter().zip(Self::NAMES).find(|(_, name)| *name == word).map(|(verify, _)| verify)
    }
}

/// The parameters of an address about encryption.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tls {
    pub(super) verify: Verify,
    /// The file of the roots, or `system`.
    pub(super) root: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl Tls {
    pub(super) fn fault(&self) -> Option<String> {
        let half = self.certificate.is_some() != self.key.is_some();
        half.then(|| "sslcert and sslkey must be given together".to_owned())
    }

    /// Reads the files and makes the TLS connector.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be used: {error}"))?;
        let builder =
            builder.dangerous().with_custom_certificate_verifier(self.verifier(provider)?);
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let chain = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| unreadable("sslkey", key, &error))?;
                builder.with_client_auth_cert(chain, secret).map_err(|error| {
                    format!("sslcert {} cannot be used: {error}", certificate.display())
                })?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, String> {
        let named = match self.verify {
            Verify::Full => true,
            Verify::Chain => false,
            Verify::Require if self.root.is_some() => false,
            Verify::Disable | Verify::Prefer | Verify::Require => {
                return Ok(Arc::new(AnyName { provider, chain: None }));
            }
        };
        let roots = self.roots()?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|error| format!("no certificate can be verified: {error}"))?;
        Ok(if named { verifier } else { Arc::new(AnyName { provider, chain: Some(verifier) }) })
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = self.root.as_deref().filter(|file| *file != Path::new("system")) {
            for certificate in certificates(file)? {
                roots.add(certificate).map_err(|error| {
                    format!("sslrootcert {} cannot be used: {error}", file.display())
                })?;
            }
            return Ok(roots);
        }
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err("the system has no trusted certificates; name a file of them with \
                        sslrootcert"
                .to_owned());
        }
        Ok(roots)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match all {
        Ok(all) if all.is_empty() => {
            Err(format!("{} contains no certificate in PEM format", file.display()))
        }
        Ok(all) => Ok(all),
        Err(error) => Err(unreadable("the certificate file", file, &error)),
    }
}

fn unreadable(what: &str, file: &Path, error: &rustls::pki_types::pem::Error) -> String {
    format!("cannot read {what} {}: {error}", file.display())
}

/// Verifies the certificate chain but not the host name. Without roots it accepts any certificate
/// whose private key the server has.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        // The verifier checks the name last, after everything else was right.
        match chain.verify_server_cert(certificate, between, name, revocation, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
