//! A server on a free port over the scripted store, and snapshots of its answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use caseload_api::{ApiConfig, AppState, serve};
use caseload_model::key::Access;
use caseload_model::time::{Clock, UnixMillis};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder, Response};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::scripted_store::{NOW, ScriptedStore};

/// How long an event may take on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The texts of the keys that every server knows.
pub(crate) const WRITE: &str = "write-key";
pub(crate) const READ: &str = "read-key";
/// A write key of the domain `other`.
pub(crate) const OTHER: &str = "other-key";

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<ScriptedStore>,
    pub(crate) now: Arc<AtomicI64>,
    pub(crate) client: Client,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<std::io::Result<()>>,
}

/// Builds the clients of the tests.
pub(crate) fn http_client() -> ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::configured(ApiConfig::default()).await
    }

    pub(crate) async fn configured(config: ApiConfig) -> Self {
        let store = Arc::new(ScriptedStore::default());
        store.add_key(WRITE, 1, "acme", Access::Write);
        store.add_key(READ, 1, "acme", Access::Read);
        store.add_key(OTHER, 2, "other", Access::Write);
        let now = Arc::new(AtomicI64::new(NOW.0));
        let time = now.clone();
        let clock = Clock::new(move || UnixMillis(time.load(Ordering::SeqCst)));
        let state = AppState::new(store.clone(), clock, config);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve(listener, state, async {
            let _ = stopped.await;
        }));
        Self {
            address,
            store,
            now,
            client: http_client().build().unwrap(),
            stop: Some(stop),
            serving,
        }
    }

    /// Asks the server to stop. The returned task ends once it has stopped.
    pub(crate) fn stop(mut self) -> JoinHandle<std::io::Result<()>> {
        self.stop.take().unwrap().send(()).unwrap();
        self.serving
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        url_of(self.address, path)
    }

    /// A request without a key, to a path or to a URL that an answer has.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, url_of(self.address, path))
    }

    /// A request with the write key of `acme`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(WRITE)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    /// The whole answer to a GET.
    pub(crate) async fn snapshot(&self, path: &str) -> String {
        snapshot(self.get(path).await).await
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let so = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, so).await.is_ok(), "not in time: {what}");
}

/// The URL of a path; a URL is itself.
pub(crate) fn url_of(address: SocketAddr, path: &str) -> String {
    if path.starts_with('/') { format!("http://{address}{path}") } else { path.to_owned() }
}

/// A whole answer: status, headers by name, body. Ids and the address of the server are
/// replaced, and headers that depend on the machine are left out.
pub(crate) async fn snapshot(response: Response) -> String {
    let mut headers: Vec<String> = response
        .headers()
        .iter()
        .filter(|(name, _)| {
            let name = name.as_str();
            // Other tests check the quota.
            !["date", "content-length", "transfer-encoding"].contains(&name)
                && !name.contains("rate-limit")
                && !name.starts_with("ratelimit")
        })
        .map(|(name, value)| match (name.as_str(), value.to_str().unwrap()) {
            // A tag depends on the port of the server.
            ("etag", tag) => format!("etag: {}\"[tag]\"", &tag[..tag.find('"').unwrap()]),
            (name, value) => format!("{name}: {value}"),
        })
        .collect();
    headers.sort();
    let status = response.status();
    let base = response.url().origin().ascii_serialization();
    let body = response.text().await.unwrap();
    let body = match serde_json::from_str::<serde_json::Value>(&body) {
        Ok(json) => serde_json::to_string_pretty(&json).unwrap(),
        Err(_) => body,
    };
    let answer = format!("{status}\n{}\n\n{body}", headers.join("\n"));
    redact_ids(&answer.replace(&base, "http://[server]"))
}

/// Replaces every UUID.
fn redact_ids(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_id = rest.get(..36).is_some_and(|word| {
            word.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        });
        let taken = if is_id { 36 } else { first.len_utf8() };
        out.push_str(if is_id { "[id]" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    out
}
