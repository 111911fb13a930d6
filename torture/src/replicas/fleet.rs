//! The servers of one database, each connected through a wire of its own, and the requests to them.
//! A request ends with an answer, with "not now" (503, and the few other codes that mean: repeat it
//! later), or without an answer. Any answer that no fault excuses ends the run.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use caseload_client::Client;
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::task::block_in_place;

use super::database::Database;
use crate::laws::DOMAINS;
use bench::relay::Relay;
use bench::server::{Process, Store};

/// The lease of the servers in seconds.
pub(super) const LEASE_SECONDS: u64 = 3;
/// Time limit for any answer. It is longer than every fault.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// Time limit for a server to be ready after a fault.
const READY_MAX: Duration = Duration::from_mins(1);

pub(super) struct Fleet {
    members: Vec<Member>,
    store: Store,
    pub(super) keys: [String; 2],
    http: reqwest::Client,
    pub(super) counts: CallCounts,
}

struct Member {
    wire: Relay,
    place: String,
    url: Mutex<String>,
    process: Mutex<Option<Process>>,
}

/// Counts of the outcomes of requests.
#[derive(Default)]
pub(super) struct CallCounts {
    pub(super) unavailable: AtomicU64,
    pub(super) in_progress: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) slowest_ms: AtomicU64,
}

/// A request, with a form if it is a write.
#[derive(Clone, Default)]
pub(super) struct Call<'a> {
    pub(super) domain: usize,
    pub(super) path: &'a str,
    pub(super) put: bool,
    pub(super) form: Option<&'a [(&'a str, &'a str)]>,
    pub(super) key: Option<&'a str>,
    /// Time limit, if it is shorter than the usual one.
    pub(super) patience: Option<Duration>,
}

pub(super) enum Answer {
    Good(String),
    /// Refused for now; whether an earlier attempt took effect is unknown.
    NotNow,
    /// The task was already completed.
    Late,
    Lost,
}

impl Fleet {
    pub(super) async fn start(database: &Database, servers: usize) -> Result<Self> {
        let store = Store::in_database_with_logs(database.url())?;
        let keys = [store.domain(DOMAINS[0])?, store.domain(DOMAINS[1])?];
        let http = caseload_client::client_builder().no_proxy().tls_certs_only([]).build()?;
        let mut fleet =
            Self { members: Vec::new(), store, keys, http, counts: CallCounts::default() };
        for n in 0..servers {
            let wire = Relay::to(database.port()).await?;
            let place = database.by_way_of(wire.port, n)?;
            let (url, process) = (Mutex::default(), Mutex::default());
            fleet.members.push(Member { wire, place, url, process });
            fleet.serve(n)?;
        }
        Ok(fleet)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn wire(&self, n: usize) -> &Relay {
        &self.members[n].wire
    }

    /// Starts a server that is not running.
    pub(super) fn serve(&self, n: usize) -> Result<()> {
        let member = &self.members[n];
        let log = self.store.folder().join(format!("server-{n}.log"));
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let lease = LEASE_SECONDS.to_string();
        let more = ["--lease", &lease];
        // This blocks; the wires must go on carrying bytes on the same runtime.
        let process = block_in_place(|| Store::serve_at(&member.place, &more, Box::new(log)))?;
        member.url.lock().clone_from(&process.url);
        *member.process.lock() = Some(process);
        Ok(())
    }

    pub(super) fn kill(&self, n: usize) -> Result<()> {
        let process = self.members[n].process.lock().take().context("no process to kill")?;
        block_in_place(|| process.kill())
    }

    pub(super) fn pid(&self, n: usize) -> u32 {
        self.members[n].process.lock().as_ref().map_or(0, Process::pid)
    }

    /// Sends a signal to a server by its process id.
    pub(super) fn signal(&self, n: usize, signal: &str) -> Result<()> {
        let pid = self.pid(n).to_string();
        let status = std::process::Command::new("kill").args([signal, &pid]).status()?;
        ensure!(status.success(), "kill {signal} {pid} failed");
        Ok(())
    }

    pub(super) fn check(&self) -> Result<String> {
        block_in_place(|| self.store.check())
    }

    /// Clients of a server, one for each domain.
    pub(super) fn clients(&self, n: usize) -> Result<[Client; 2]> {
        let url = self.members[n].url.lock().clone();
        let client = |d: usize| Client::new(&url, DOMAINS[d], &self.keys[d]);
        Ok([client(0)?, client(1)?])
    }

    /// Waits until every server reports ready.
    pub(super) async fn ready(&self) -> Result<()> {
        let begun = Instant::now();
        for (n, member) in self.members.iter().enumerate() {
            loop {
                let url = format!("{}/readyz", member.url.lock());
                let asked = self.http.get(url).timeout(Duration::from_secs(10)).send().await;
                if asked.is_ok_and(|answer| answer.status() == StatusCode::OK) {
                    break;
                }
                ensure!(begun.elapsed() < READY_MAX, "server {n} does not become ready again");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Sends a request to a server. An error means a broken law.
    pub(super) async fn call(&self, n: usize, call: &Call<'_>) -> Result<Answer> {
        let url = self.members[n].url.lock().clone();
        let version = if call.path.contains("bulk_actions") { "v2" } else { "v1" };
        let url = format!("{url}/{version}/{}/{}", DOMAINS[call.domain], call.path);
        let method = match (call.form, call.put) {
            (None, _) => Method::GET,
            (_, true) => Method::PUT,
            _ => Method::POST,
        };
        let mut request = self.http.request(method, url).bearer_auth(&self.keys[call.domain]);
        request = request.timeout(call.patience.unwrap_or(SILENCE_MAX));
        if let Some(form) = call.form {
            request = request.form(form);
        }
        if let Some(key) = call.key {
            request = request.header("Idempotency-Key", key);
        }
        let begun = Instant::now();
        let answer = request.send().await;
        let took = begun.elapsed();
        if !call.path.contains("wait=") {
            self.counts.slowest_ms.fetch_max(took.as_millis() as u64, Ordering::Relaxed);
        }
        let Ok(answer) = answer else {
            ensure!(took < SILENCE_MAX, "server {n} did not answer {} at all", call.path);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(Answer::Lost);
        };
        let (status, again) = (answer.status(), answer.headers().contains_key("retry-after"));
        let Ok(text) = answer.text().await else {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(Answer::Lost);
        };
        if status.is_success() {
            return Ok(Answer::Good(text));
        }
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        match (status.as_u16(), problem["code"].as_str()) {
            (503, Some(code)) => {
                ensure!(again || code == "query_too_expensive", "503 without Retry-After: {text}");
                self.counts.unavailable.fetch_add(1, Ordering::Relaxed);
                Ok(Answer::NotNow)
            }
            (409, Some("idempotency_in_progress")) => {
                self.counts.in_progress.fetch_add(1, Ordering::Relaxed);
                Ok(Answer::NotNow)
            }
            (409, Some("already_completed")) => Ok(Answer::Late),
            _ => bail!("server {n} answered {} with {status}: {text}", call.path),
        }
    }

    /// Ends all servers and leaves their logs for a look.
    pub(super) fn leave_logs(self) -> std::path::PathBuf {
        self.store.leave_folder()
    }
}
