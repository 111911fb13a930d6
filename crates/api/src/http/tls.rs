//! The certificate of the server, from two PEM files that the operator may replace at any time. New
//! connections get the newest certificate that can be used; open connections stay as they are. A
//! certificate that cannot be used is logged once, and the one before stays.
//! Invariant: no error and no line of the log has a byte of the files.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, ServerConfig};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The protocols that a client may choose by ALPN, the preferred one first.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// How often the files are read again.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The most bytes of a file: longer than any chain.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The most bytes that are encrypted before the network takes them.
const UNSENT_BYTES_MAX: usize = 16 << 10;
/// The answer to a request in clear.
const IN_CLEAR: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 61\r\nconnection: close\r\n\r\n\
    This address takes requests over TLS only: begin with https.\n";

/// A certificate and its key, which follow their files. Cheap to clone.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    certificate: PathBuf,
    key: PathBuf,
    in_use: Mutex<InUse>,
    reload_failures: AtomicU64,
}

struct InUse {
    config: Arc<ServerConfig>,
    files: Fingerprint,
}

/// Differs between two states of the files, also if neither can be read.
type Fingerprint = [u8; 32];

/// Why two files cannot be used as certificate and key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: io::Error },
    #[error(
        "{} has no certificate that can be read; it is a PEM file with the certificate of the \
         server first and those of its issuers after it, each between \
         -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----",
        file.display()
    )]
    NoCertificate { file: PathBuf },
    #[error(
        "{} has no private key that can be read; it is a PEM file with an unencrypted key, which \
         begins with -----BEGIN PRIVATE KEY----- or the same with RSA or EC",
        file.display()
    )]
    NoKey { file: PathBuf },
    #[error(
        "the key in {} does not belong to the first certificate in {}; give the key with which \
         this certificate was requested, and the certificate of the server first",
        key.display(), certificate.display()
    )]
    WrongKey { certificate: PathBuf, key: PathBuf },
}

/// The contents of both files.
struct Files {
    certificate: Result<Vec<u8>, io::Error>,
    key: Result<Vec<u8>, io::Error>,
}

impl Files {
    fn read(certificate: &Path, key: &Path) -> Self {
        Self { certificate: read(certificate), key: read(key) }
    }

    fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        for file in [&self.certificate, &self.key] {
            match file {
                Ok(bytes) => hash.update(Sha256::digest(bytes)),
                Err(error) => hash.update(error.to_string()),
            }
        }
        hash.finalize().into()
    }

    fn config(self, certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
        let unreadable =
            |file: &Path, reason| TlsError::Unreadable { file: file.to_owned(), reason };
        let chain = self.certificate.map_err(|reason| unreadable(certificate, reason))?;
        let secret = self.key.map_err(|reason| unreadable(key, reason))?;
        // The errors of the reader quote lines, which may be those of a key.
        let no_certificate = || TlsError::NoCertificate { file: certificate.to_owned() };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
        let chain = chain.ok().filter(|all| !all.is_empty()).ok_or_else(no_certificate)?;
        let no_key = || TlsError::NoKey { file: key.to_owned() };
        let secret = PrivateKeyDer::from_pem_slice(&secret).map_err(|_| no_key())?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| no_key())?;
        let config = builder.with_no_client_auth().with_single_cert(chain, secret);
        let mut config = config.map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                TlsError::WrongKey { certificate: certificate.to_owned(), key: key.to_owned() }
            }
            Error::InvalidCertificate(_) => no_certificate(),
            _ => no_key(),
        })?;
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        Ok(config)
    }
}

fn read(file: &Path) -> Result<Vec<u8>, io::Error> {
    let mut bytes = Vec::new();
    File::open(file)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Tls {
    /// Reads the files for the first time.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = Files::read(certificate, key);
        let fingerprint = files.fingerprint();
        let config = Arc::new(files.config(certificate, key)?);
        let in_use = Mutex::new(InUse { config, files: fingerprint });
        Ok(Self(Arc::new(Inner {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            in_use,
            reload_failures: AtomicU64::new(0),
        })))
    }

    /// How many new certificates could not be used.
    pub(crate) fn reload_failures(&self) -> u64 {
        self.0.reload_failures.load(Ordering::Relaxed)
    }

    /// Makes a handshake with the certificate in use. A caller that speaks HTTP in clear gets an
    /// answer in clear, which says so.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        limit: Duration,
    ) -> io::Result<TlsStream<TcpStream>> {
        let handshake = async {
            let mut first = [0];
            if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
                return refuse_in_clear(stream).await;
            }
            let config = self.0.in_use.lock().config.clone();
            let mut stream = TlsAcceptor::from(config).accept(stream).await?;
            stream.get_mut().1.set_buffer_limit(Some(UNSENT_BYTES_MAX));
            Ok(stream)
        };
        tokio::time::timeout(limit, handshake).await?
    }

    /// Follows the files, for ever.
    pub(crate) async fn follow(&self) {
        let mut unusable = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let (tls, before) = (self.clone(), unusable);
            if let Ok(now) = tokio::task::spawn_blocking(move || tls.look(before)).await {
                unusable = now;
            }
        }
    }

    /// Reads the files again. A certificate and its key are replaced one after the other, so files
    /// that cannot be used are reported by the second look that finds them. Returns them with
    /// the number of looks.
    fn look(&self, unusable: Option<(Fingerprint, u8)>) -> Option<(Fingerprint, u8)> {
        let Inner { certificate, key, in_use, reload_failures } = &*self.0;
        let files = Files::read(certificate, key);
        let found = files.fingerprint();
        if found == in_use.lock().files {
            return None;
        }
        let looks = unusable.filter(|(before, _)| *before == found).map_or(0, |(_, looks)| looks);
        match files.config(certificate, key) {
            Ok(config) => {
                *in_use.lock() = InUse { config: Arc::new(config), files: found };
                tracing::info!(file = %certificate.display(), "a new certificate is in use");
                None
            }
            Err(reason) => {
                if looks == 1 {
                    reload_failures.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(%reason, "the new certificate is unusable; the old one stays");
                }
                Some((found, looks.saturating_add(1)))
            }
        }
    }
}

/// Answers a request in clear. Its bytes are read first, because a connection with unread bytes
/// is reset, and the caller would never see the answer.
async fn refuse_in_clear<T>(mut stream: TcpStream) -> io::Result<T> {
    let _ = stream.read(&mut vec![0; 8 << 10]).await?;
    stream.write_all(IN_CLEAR.as_bytes()).await?;
    stream.shutdown().await?;
    Err(io::Error::other("the request came in clear"))
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.0.certificate).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
    use tempfile::TempDir;

    use super::*;

    /// A folder with the files of a server.
    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Self(TempDir::new().unwrap());
            folder.renew();
            folder
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.path().join(name), text).unwrap();
        }

        /// Writes a new certificate with its key.
        fn renew(&self) {
            let CertifiedKey { cert, signing_key } = self_signed();
            self.write("cert.pem", &cert.pem());
            self.write("key.pem", &signing_key.serialize_pem());
        }

        fn load(&self) -> Result<Tls, TlsError> {
            Tls::load(&self.0.path().join("cert.pem"), &self.0.path().join("key.pem"))
        }
    }

    fn self_signed() -> CertifiedKey<KeyPair> {
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
    }

    fn config(tls: &Tls) -> Arc<ServerConfig> {
        tls.0.in_use.lock().config.clone()
    }

    #[test]
    fn an_unusable_file_is_named_with_the_fault_and_without_its_bytes() {
        let foreign = self_signed().signing_key.serialize_pem();
        let begin = "-----BEGIN PRIVATE KEY-----";
        for (name, text, reason) in [
            ("cert.pem", None, "cannot read "),
            ("key.pem", None, "cannot read "),
            ("cert.pem", Some(""), "has no certificate"),
            ("cert.pem", Some("topsecret"), "has no certificate"),
            ("cert.pem", Some(&*foreign), "has no certificate"),
            ("key.pem", Some("topsecret"), "has no private key"),
            ("key.pem", Some(&format!("{begin}\ntopsecret=\n")), "has no private key"),
            ("key.pem", Some(&foreign.replace("PRIVATE", "ENCRYPTED PRIVATE")), "unencrypted key"),
            ("key.pem", Some(&*foreign), "does not belong to the first certificate"),
        ] {
            let folder = Folder::new();
            match text {
                Some(text) => folder.write(name, text),
                None => std::fs::remove_file(folder.0.path().join(name)).unwrap(),
            }
            let error = folder.load().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(reason), "{error}");
            let secret = foreign.lines().nth(1).unwrap();
            assert!(!error.contains("topsecret") && !error.contains(secret), "{error}");
        }
    }

    #[test]
    fn a_new_certificate_is_used_and_an_unusable_one_is_not() {
        let folder = Folder::new();
        let tls = folder.load().unwrap();
        let first = config(&tls);
        assert_eq!(tls.look(None), None, "nothing has changed");
        assert!(Arc::ptr_eq(&first, &config(&tls)));
        let CertifiedKey { cert, signing_key } = self_signed();
        folder.write("cert.pem", &cert.pem());
        let half = tls.look(None);
        assert_eq!(half.map(|(_, looks)| looks), Some(1), "the key is still the one before");
        let again = tls.look(half);
        assert_eq!(again.map(|(_, looks)| looks), Some(2));
        assert!(Arc::ptr_eq(&first, &config(&tls)));
        folder.write("key.pem", "");
        let other = tls.look(again);
        assert_eq!(other.map(|(_, looks)| looks), Some(1), "another fault is another line");
        folder.write("key.pem", &signing_key.serialize_pem());
        assert_eq!(tls.look(other), None);
        assert_eq!(tls.reload_failures(), 1, "one was reported");
        assert!(!Arc::ptr_eq(&first, &config(&tls)), "both are new and fit");
    }
}
