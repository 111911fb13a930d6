//! TLS with real clients: both protocols by ALPN, a certificate that is replaced while requests are
//! answered, and clients that do not speak TLS, stop in the middle of a handshake, or leave the
//! answers on an HTTP/2 connection unread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use caseload_api::{ApiConfig, MinimumRateLimits, Tls};
use h2::client::{SendRequest, handshake};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::tls::TlsInfo;
use reqwest::{Certificate, Client, ClientBuilder, Method, Response, Version};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::server::{PATIENCE, Server, WRITE, http_client, until};

const LIST: &str = "/v1/acme/issues";
/// A long answer that needs no key.
const LONG: &str = "/openapi.json";

/// A server over TLS, the folder of its files, and the authority that signs them.
struct Secured {
    server: Server,
    folder: TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Secured {
    async fn start(config: ApiConfig) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = TempDir::new().unwrap();
        renew(&folder, &authority);
        let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
        let tls = Some(Tls::load(&certificate, &key).unwrap());
        let server = Server::configured(ApiConfig { tls, ..config }).await;
        Self { server, folder, authority }
    }

    fn client(&self, build: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Client {
        let root = Certificate::from_pem(self.authority.pem().as_bytes()).unwrap();
        build(http_client().tls_certs_only([root]).tls_info(true)).build().unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.server.address.port())
    }

    /// A request on an HTTP/2 connection of its own.
    async fn http2(&self) -> SendRequest<axum::body::Bytes> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let mut config =
            ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(self.server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (requests, connection) = handshake(stream).await.unwrap();
        tokio::spawn(connection);
        requests
    }

    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = http::Request::builder().method(method).uri(self.url(path));
        request.header("authorization", format!("Bearer {WRITE}"))
    }
}

fn renew(folder: &TempDir, authority: &CertifiedIssuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(folder.path().join("cert.pem"), certificate.pem()).unwrap();
}

/// The certificate of the server on the connection of this answer.
fn certificate_of(answer: &Response) -> CertificateDer<'static> {
    let info = answer.extensions().get::<TlsInfo>().unwrap();
    info.peer_certificate().unwrap().to_vec().into()
}

async fn list(client: &Client, secured: &Secured) -> Response {
    client.get(secured.url(LIST)).bearer_auth(WRITE).send().await.unwrap()
}

#[tokio::test]
async fn a_client_chooses_the_protocol_and_links_begin_with_https() {
    let secured = Secured::start(ApiConfig::default()).await;
    let both = secured.client(|builder| builder);
    let one = secured.client(ClientBuilder::http1_only);
    for (client, version) in [(both, Version::HTTP_2), (one, Version::HTTP_11)] {
        let answer = list(&client, &secured).await;
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
        let link = answer.headers()["link"].to_str().unwrap();
        assert!(link.starts_with(&format!("<{}?", secured.url(LIST))), "{link}");
        let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
        let url = secured.url("/v2/acme/identity/bulk_actions");
        let answer = client.post(&url).bearer_auth(WRITE).form(&form).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{version:?}");
        let location = answer.headers()["location"].to_str().unwrap();
        assert!(location.starts_with(&url), "{location}");
        let long = client.get(secured.url(LONG)).send().await.unwrap().bytes().await.unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&long).is_ok(), "{version:?}");
    }
}

#[tokio::test]
async fn a_new_certificate_is_for_new_connections_and_none_is_lost() {
    let secured =
        Arc::new(Secured::start(ApiConfig { rate_limit: 0, ..ApiConfig::default() }).await);
    let ends = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicU64::new(0));
    let mut clients = Vec::new();
    for n in 0..4 {
        let client = secured.client(|builder| if n < 2 { builder } else { builder.http1_only() });
        let (secured, ends, asked) = (secured.clone(), ends.clone(), asked.clone());
        clients.push(tokio::spawn(async move {
            let first = certificate_of(&list(&client, &secured).await);
            while !ends.load(Ordering::Relaxed) {
                let answer = list(&client, &secured).await;
                assert_eq!(answer.status(), 200);
                assert_eq!(certificate_of(&answer), first, "it is the same connection");
                answer.bytes().await.unwrap();
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }));
    }
    let fresh = async || {
        let answer = list(&secured.client(|builder| builder), &secured).await;
        assert_eq!(answer.status(), 200);
        certificate_of(&answer)
    };
    let before = fresh().await;
    let other = KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(secured.folder.path().join("key.pem"), other).unwrap();
    tokio::time::sleep(Duration::from_millis(4500)).await;
    assert_eq!(fresh().await, before, "the wrong key stays out");
    renew(&secured.folder, &secured.authority);
    until("the new certificate is in use", async || fresh().await != before).await;
    let now = asked.load(Ordering::Relaxed);
    until("requests go on", async || asked.load(Ordering::Relaxed) > now + 20).await;
    ends.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no request failed");
    }
}

#[tokio::test]
async fn a_request_in_clear_is_answered_and_an_unfinished_handshake_ends() {
    let config = ApiConfig { head_timeout: Duration::from_millis(300), ..ApiConfig::default() };
    let secured = Secured::start(config).await;
    let address = secured.server.address;
    // The beginning of a handshake that promises more.
    for begin in [&b""[..], b"\x16\x03\x01\x02\x00\x01", b"\x00"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(begin).await.unwrap();
        let begun = Instant::now();
        let quick = list(&secured.client(|builder| builder), &secured).await;
        assert_eq!(quick.status(), 200, "others do not wait");
        let mut rest = Vec::new();
        let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is cut off");
        assert!(begun.elapsed() < PATIENCE / 2, "{begin:?}");
    }
    let in_clear = http_client().build().unwrap().get(format!("http://{address}{LIST}"));
    let answer = timeout(PATIENCE, in_clear.send()).await.unwrap().unwrap();
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("https"), "it says what would be right");
}

#[tokio::test]
async fn requests_of_one_connection_are_answered_at_the_same_time() {
    let secured = Arc::new(Secured::start(ApiConfig::default()).await);
    let requests = secured.http2().await;
    let answers = (0..100).map(|_| {
        let (mut requests, secured) = (requests.clone(), secured.clone());
        tokio::spawn(async move {
            requests = requests.ready().await.unwrap();
            let request = secured.request(Method::GET, LONG).body(()).unwrap();
            let answer = requests.send_request(request, true).unwrap().0.await.unwrap();
            assert_eq!(answer.status(), 200);
            let (mut body, mut bytes) = (answer.into_body(), 0);
            while let Some(part) = body.data().await {
                let part = part.unwrap();
                bytes += part.len();
                body.flow_control().release_capacity(part.len()).unwrap();
            }
            bytes
        })
    });
    let mut lengths = Vec::new();
    for answer in answers.collect::<Vec<_>>() {
        lengths.push(answer.await.unwrap());
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 1, "all are whole: {lengths:?}");
    assert!(lengths[0] > 100_000, "an answer has many pieces: {lengths:?}");
}

/// Limits of a test that does not wait for long.
fn impatient() -> ApiConfig {
    let span = Duration::from_millis(200);
    let minimum_rate =
        MinimumRateLimits { grace: span, window: span, ..MinimumRateLimits::default() };
    ApiConfig { minimum_rate, idle_timeout: Duration::from_millis(700), ..ApiConfig::default() }
}

/// Waits until the server ends the connection.
async fn ends(requests: SendRequest<axum::body::Bytes>, why: &str) {
    let end = async {
        while requests.clone().ready().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(PATIENCE, end).await.is_ok(), "{why}");
}

#[tokio::test]
async fn an_answer_that_is_not_taken_ends_its_connection() {
    let secured = Secured::start(impatient()).await;
    let mut requests = secured.http2().await;
    let request = secured.request(Method::GET, LONG).body(()).unwrap();
    let (answer, _) = requests.send_request(request, true).unwrap();
    let mut body = answer.await.unwrap().into_body();
    // The window of the client is never opened again.
    let mut received = 0;
    while let Ok(Some(Ok(part))) = timeout(PATIENCE, body.data()).await {
        received += part.len();
    }
    assert!(received > 0 && received < 100_000, "{received}");
    ends(requests, "the answer is not taken").await;
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_refused_and_a_silent_connection_ends() {
    let secured = Secured::start(impatient()).await;
    let mut requests = secured.http2().await;
    let request = secured.request(Method::POST, "/v2/acme/identity/bulk_actions");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let (answer, mut body) = requests.send_request(request.body(()).unwrap(), false).unwrap();
    body.send_data("action=".into(), false).unwrap();
    // Another request of the same connection is not concerned.
    let other = secured.request(Method::GET, LIST).body(()).unwrap();
    let (other, _) = requests.send_request(other, true).unwrap();
    assert_eq!(other.await.unwrap().status(), 200);
    let answer = timeout(PATIENCE, answer).await.unwrap().unwrap();
    assert_eq!(answer.status(), 408);
    drop((answer, body));
    let begun = Instant::now();
    ends(requests, "the connection is silent").await;
    assert!(begun.elapsed() >= Duration::from_millis(200), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_stops_finishes_requests_over_tls() {
    let secured = Secured::start(ApiConfig::default()).await;
    let unfinished = TcpStream::connect(secured.server.address).await.unwrap();
    let mut requests = secured.http2().await;
    let request = secured.request(Method::GET, LIST).body(()).unwrap();
    assert_eq!(requests.send_request(request, true).unwrap().0.await.unwrap().status(), 200);
    let begun = Instant::now();
    secured.server.stop().await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "a handshake does not delay the end");
    ends(requests, "the server has stopped").await;
    drop(unfinished);
}
