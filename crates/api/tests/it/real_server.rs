//! A server as the program runs it: with a store of its own, the bulk runner and a running clock.
//! The test chooses the backend of the store (`on_each_store!`). It is slower than the scripted
//! server, so only tests that need all parts use it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use caseload_api::{ApiConfig, AppState, serve};
use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{CreateDomain, CreateKey, OpenMode, Store};
use caseload_teststore::{Backend, StorePlace};
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::scripted_store::NOW;
use crate::server::{READ, WRITE, http_client, url_of};

/// How long a task of a test may take.
const TASK_SECONDS_MAX: u64 = 60;

pub(crate) struct RealServer {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) domain: DomainId,
    pub(crate) clock: Clock,
    pub(crate) client: Client,
    /// How many milliseconds the clock has been set forward.
    pub(crate) turned: Arc<AtomicI64>,
    runner: Option<Runner>,
    pub(crate) place: StorePlace,
}

impl RealServer {
    /// Makes the domain `other` with a key of this access, whose text is `other`.
    pub(crate) async fn add_other_domain(&self, access: Access) {
        let (name, origin) = (DomainName::parse("other").unwrap(), self.clock.now().into());
        let domain = CreateDomain { name, origin, random: 2 };
        let domain = self.store.create_domain(domain).await.unwrap().id;
        let (id, name) = ("key-other".to_owned(), "other".to_owned());
        let (hash, origin) = (Sha256::digest("other").into(), self.clock.now().into());
        let key = CreateKey { domain, id, hash, name, access, origin, expires_at: None };
        self.store.create_key(key).await.unwrap();
    }

    pub(crate) async fn start() -> Self {
        let mut real = Self::without_runner(ApiConfig::default()).await;
        real.run_tasks();
        real
    }

    /// Starts the runner of a server that was made without one.
    pub(crate) fn run_tasks(&mut self) {
        let purge_every = Duration::from_millis(20);
        // The clock of the tests is right whenever it is turned.
        let config = RunnerConfig {
            purge_every,
            purge_after_start: Duration::ZERO,
            purge_after_jump: Duration::ZERO,
            ..RunnerConfig::new("test")
        };
        self.runner =
            Some(Runner::start(self.store.clone(), self.store.clone(), self.clock.clone(), config));
    }

    /// A server that does not run its tasks.
    pub(crate) async fn without_runner(config: ApiConfig) -> Self {
        let backend = Backend::current();
        let place = tokio::task::spawn_blocking(move || backend.place()).await.unwrap();
        let store = caseload_location::open(&place.location(), OpenMode::Server).await.unwrap();
        let begun = Instant::now();
        let turned = Arc::new(AtomicI64::new(0));
        let offset = turned.clone();
        let clock = Clock::new(move || {
            let since = begun.elapsed().as_millis() as i64 + offset.load(Ordering::SeqCst);
            UnixMillis(NOW.0 + since)
        });
        let now = clock.now();
        let name = DomainName::parse("acme").unwrap();
        let domain = store
            .create_domain(CreateDomain { name, origin: now.into(), random: 1 })
            .await
            .unwrap()
            .id;
        for (text, access) in [(WRITE, Access::Write), (READ, Access::Read)] {
            let key = CreateKey {
                domain,
                id: format!("key-{text}"),
                hash: Sha256::digest(text).into(),
                name: text.to_owned(),
                access,
                origin: now.into(),
                expires_at: None,
            };
            store.create_key(key).await.unwrap();
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = AppState::new(store.clone(), clock.clone(), config);
        tokio::spawn(serve(listener, state, std::future::pending()));
        let client = http_client().build().unwrap();
        Self { address, store, domain, clock, client, turned, runner: None, place }
    }

    pub(crate) async fn stop(self) {
        if let Some(runner) = self.runner {
            runner.stop().await;
        }
        self.store.close().await.unwrap();
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        url_of(self.address, path)
    }

    /// A request to a path, or to a URL that an answer has.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, url_of(self.address, path)).bearer_auth(WRITE)
    }

    pub(crate) async fn text(&self, path: &str) -> String {
        let answer = self.request(Method::GET, path).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(path).await).unwrap()
    }

    /// Submits JSON lines, waits for the end and returns the completed task.
    pub(crate) async fn run(&self, family: &str, action: &str, lines: &str) -> Value {
        let part = Part::text(lines.to_owned()).file_name("payload.jsonl");
        let form = Form::new().text("action", action.to_owned()).part("payload", part);
        let path = format!("/v2/acme/{family}/bulk_actions");
        let answer = self.request(Method::POST, &path).multipart(form).send().await.unwrap();
        let status = answer.status();
        let task: Value = answer.json().await.unwrap();
        assert_eq!(status, 201, "{task}");
        self.completed(task["links"]["self"].as_str().unwrap()).await
    }

    pub(crate) async fn completed(&self, path: &str) -> Value {
        let poll = async {
            loop {
                let task = self.json(&format!("{path}?wait=60")).await;
                if task["status"] == "completed" {
                    return task;
                }
            }
        };
        let limit = Duration::from_secs(TASK_SECONDS_MAX);
        tokio::time::timeout(limit, poll).await.expect("the task completes")
    }

    /// The records of a task as JSON lines.
    pub(crate) async fn lines(&self, task: &Value, kind: &str) -> String {
        self.text(&format!("{}?format=jsonl", task["links"][kind].as_str().unwrap())).await
    }
}
