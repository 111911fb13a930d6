//! The servers of one database, each behind a wire of its own, and the calls to them. A call comes
//! to one of three ends: an answer, "not now" (503, and the few others that say to come again), or
//! none at all. An answer that no fault outside of the server excuses ends the run.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use caseload_client::Client;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::task::block_in_place;

use super::database::Database;
use super::wire::Wire;
use crate::laws::DOMAINS;
use bench::server::{Process, Store};

/// Seconds after which another server goes on with a task.
pub(super) const LEASE_SECONDS: u64 = 3;
/// Time for a server to answer whatever happens to it. Longer than any fault lasts.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// Time for a server to be ready after what happened to it is over.
const READY_MAX: Duration = Duration::from_mins(1);

pub(super) struct Fleet {
    members: Vec<Member>,
    store: Store,
    pub(super) keys: [String; 2],
    http: reqwest::Client,
    pub(super) seen: Seen,
}

struct Member {
    wire: Wire,
    place: String,
    url: Mutex<String>,
    process: Mutex<Option<Process>>,
}

/// What calls came to.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) unavailable: AtomicU64,
    pub(super) in_progress: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) slowest_ms: AtomicU64,
}

/// A call to make: a form where there is one.
#[derive(Clone, Default)]
pub(super) struct Call<'a> {
    pub(super) domain: usize,
    pub(super) path: &'a str,
    pub(super) put: bool,
    pub(super) form: Option<&'a [(&'a str, &'a str)]>,
    pub(super) key: Option<&'a str>,
    /// Given up after this, where it is not the longest.
    pub(super) patience: Option<Duration>,
}

pub(super) enum Answer {
    Good(String),
    /// Refused for now, and nothing is known of what was asked before.
    NotNow,
    /// The task was completed already.
    Late,
    Lost,
}

impl Fleet {
    pub(super) async fn start(database: &Database, servers: usize) -> Result<Self> {
        let store = Store::in_database_with_logs(database.url())?;
        let keys = [store.domain(DOMAINS[0])?, store.domain(DOMAINS[1])?];
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build()?;
        let mut fleet = Self { members: Vec::new(), store, keys, http, seen: Seen::default() };
        for n in 0..servers {
            let wire = Wire::to(database.port()).await?;
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

    pub(super) fn wire(&self, n: usize) -> &Wire {
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
        lock(&member.url).clone_from(&process.url);
        *lock(&member.process) = Some(process);
        Ok(())
    }

    pub(super) fn kill(&self, n: usize) -> Result<()> {
        let process = lock(&self.members[n].process).take().context("no process to kill")?;
        block_in_place(|| process.kill())
    }

    pub(super) fn pid(&self, n: usize) -> u32 {
        lock(&self.members[n].process).as_ref().map_or(0, Process::pid)
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
        let url = lock(&self.members[n].url).clone();
        let client = |d: usize| Client::new(&url, DOMAINS[d], &self.keys[d]);
        Ok([client(0)?, client(1)?])
    }

    /// Waits until every server says that it is ready.
    pub(super) async fn ready(&self) -> Result<()> {
        let begun = Instant::now();
        for (n, member) in self.members.iter().enumerate() {
            loop {
                let url = format!("{}/readyz", lock(&member.url));
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

    /// Calls a server. An error is a broken law.
    pub(super) async fn call(&self, n: usize, call: &Call<'_>) -> Result<Answer> {
        let url = lock(&self.members[n].url).clone();
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
            self.seen.slowest_ms.fetch_max(took.as_millis() as u64, Ordering::Relaxed);
        }
        let Ok(answer) = answer else {
            ensure!(took < SILENCE_MAX, "server {n} did not answer {} at all", call.path);
            self.seen.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(Answer::Lost);
        };
        let (status, again) = (answer.status(), answer.headers().contains_key("retry-after"));
        let Ok(text) = answer.text().await else {
            self.seen.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(Answer::Lost);
        };
        if status.is_success() {
            return Ok(Answer::Good(text));
        }
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        match (status.as_u16(), problem["code"].as_str()) {
            (503, Some(code)) => {
                ensure!(again || code == "query_too_expensive", "503 without Retry-After: {text}");
                self.seen.unavailable.fetch_add(1, Ordering::Relaxed);
                Ok(Answer::NotNow)
            }
            (409, Some("idempotency_in_progress")) => {
                self.seen.in_progress.fetch_add(1, Ordering::Relaxed);
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

/// The content of a lock, also after a panic.
pub(super) fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
