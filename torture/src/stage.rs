//! The servers of a run, and the faults that strike them: one server on a file, or two on a
//! PostgreSQL with a standby that takes over. Their clocks are moved by a shim (`shim/clock.c`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bench::server::{Process, Store};
use caseload_testdata::SplitMix;
use caseload_teststore::{Backend, Cluster, Stop, StorePlace};
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::Value;
use tokio::task::block_in_place;
use tokio::time::sleep;

/// Time limit of an answer. An answer that comes later counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a server is away after a kill, in milliseconds.
const AWAY_MS: usize = 600;
/// The lease of the servers in seconds: a dead server's tasks go on soon.
const LEASE: &str = "3";
/// Seconds by which a clock jumps.
const JUMPS: [i64; 4] = [3_600, -3_600, 40, 0];
pub(crate) const DOMAIN: &str = "acme";

pub(crate) struct Stage {
    http: reqwest::Client,
    key: String,
    servers: Vec<Mutex<Serving>>,
    location: Mutex<String>,
    shim: PathBuf,
    folder: tempfile::TempDir,
    backing: Mutex<Backing>,
}

#[derive(Default)]
struct Serving {
    url: String,
    process: Option<Process>,
}

/// Where the store is.
enum Backing {
    File {
        _place: StorePlace,
    },
    /// The server that takes writes, and its standby until that took over.
    Clusters {
        primary: Box<Cluster>,
        standby: Option<Box<Cluster>>,
    },
}

/// A request of a client.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Below `/v1/{domain}/`, or below `/v2/{domain}/` for tasks.
    pub(crate) path: String,
    pub(crate) fields: Option<Value>,
}

/// A good answer.
pub(crate) struct Answered {
    pub(crate) text: String,
}

impl Stage {
    pub(crate) fn open(backend: Backend) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let shim = shim(folder.path())?;
        let (backing, location, servers) = match backend {
            Backend::Sqlite => {
                let place = backend.place();
                let location = place.url().to_owned();
                (Backing::File { _place: place }, location, 1)
            }
            Backend::Postgres => {
                let primary = Box::new(Cluster::start());
                let standby = Box::new(primary.standby());
                let location = Cluster::url_with(&[&primary, &standby], "");
                (Backing::Clusters { primary, standby: Some(standby) }, location, 2)
            }
        };
        let key = Store::in_database(&location).domain(DOMAIN)?;
        let http = caseload_client::client_builder()
            .no_proxy()
            .tls_certs_only([])
            .timeout(PATIENCE)
            .build()?;
        let stage = Self {
            http,
            key,
            servers: (0..servers).map(|_| Mutex::default()).collect(),
            location: Mutex::new(location),
            shim,
            folder,
            backing: Mutex::new(backing),
        };
        for n in 0..servers {
            stage.serve(n)?;
        }
        Ok(stage)
    }

    fn offset_file(&self, n: usize) -> PathBuf {
        self.folder.path().join(format!("offset-{n}"))
    }

    fn serve(&self, n: usize) -> Result<()> {
        let location = self.location.lock().clone();
        let environment: [(&str, OsString); 2] = [
            ("LD_PRELOAD", self.shim.clone().into()),
            ("CLOCK_OFFSET", self.offset_file(n).into()),
        ];
        let log = Box::new(std::io::sink());
        let process = Store::serve_in(&location, &["--lease", LEASE], &environment, log)?;
        *self.servers[n].lock() = Serving { url: process.url.clone(), process: Some(process) };
        Ok(())
    }

    /// Sends a request to a server; `None` if the answer is lost, or is "not now".
    pub(crate) async fn send(
        &self,
        server: usize,
        request: &Request,
        key: Option<&str>,
    ) -> Result<Option<Answered>> {
        let Request { method, path, fields } = request;
        let version = if path.starts_with("identity/") { "v2" } else { "v1" };
        let url = format!("/{version}/{DOMAIN}/{path}");
        let body = fields.as_ref().map(Value::to_string);
        match self.call(server, method, &url, body, key).await {
            None => Ok(None),
            Some((200..300, text)) => Ok(Some(Answered { text })),
            Some((status, text)) => bail!("{path} was answered {status}: {text}"),
        }
    }

    /// Sends a request to a server; returns the status and the text of the answer, or `None` if the
    /// answer is lost, or is "not now".
    pub(crate) async fn call(
        &self,
        server: usize,
        method: &Method,
        path: &str,
        body: Option<String>,
        key: Option<&str>,
    ) -> Option<(u16, String)> {
        let url = self.servers[server % self.servers.len()].lock().url.clone();
        let mut sending = self.http.request(method.clone(), format!("{url}{path}"));
        sending = sending.bearer_auth(&self.key);
        if let Some(body) = body {
            sending = sending.header("Content-Type", "application/json").body(body);
        }
        if let Some(key) = key {
            sending = sending.header("Idempotency-Key", key);
        }
        let answer = sending.send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        let not_now = status == 503 || (status == 409 && text.contains("idempotency_in_progress"));
        (!not_now).then_some((status, text))
    }

    /// Strikes once; returns the name of the fault.
    pub(crate) async fn strike(
        &self,
        random: &mut SplitMix,
        fail_over: bool,
    ) -> Result<&'static str> {
        let n = random.below(self.servers.len());
        let is_file = matches!(&*self.backing.lock(), Backing::File { .. });
        if fail_over && !is_file {
            return Ok(block_in_place(|| self.fail_over()));
        }
        match random.below(if is_file { 2 } else { 3 }) {
            0 => {
                let process = self.servers[n].lock().process.take().context("no process")?;
                block_in_place(|| process.kill())?;
                sleep(Duration::from_millis(random.below(AWAY_MS) as u64)).await;
                block_in_place(|| self.serve(n))?;
                Ok("kills of a server")
            }
            1 => {
                std::fs::write(self.offset_file(n), random.pick(&JUMPS).to_string())?;
                Ok("jumps of a clock")
            }
            _ => {
                block_in_place(|| {
                    if let Backing::Clusters { primary, .. } = &mut *self.backing.lock() {
                        primary.stop(Stop::Immediate);
                        primary.start_again();
                    }
                });
                Ok("crashes of the database")
            }
        }
    }

    /// The primary crashes for good, and the standby takes its place.
    fn fail_over(&self) -> &'static str {
        let mut backing = self.backing.lock();
        if let Backing::Clusters { primary, standby } = &mut *backing
            && let Some(next) = standby.take()
        {
            primary.stop(Stop::Immediate);
            next.promote();
            *primary = next;
            return "failovers";
        }
        "no standby left"
    }

    /// Verifies the store.
    pub(crate) fn check(&self) -> Result<()> {
        let location = self.location.lock().clone();
        let begun = Instant::now();
        loop {
            match block_in_place(|| Store::in_database(&location).check()) {
                // A database that was just promoted refuses connections for a moment.
                Err(error)
                    if begun.elapsed() < PATIENCE
                        && error.to_string().contains("cannot be reached") =>
                {
                    block_in_place(|| std::thread::sleep(Duration::from_millis(500)));
                }
                checked => return checked.map(drop),
            }
        }
    }
}

/// Builds the shim that moves clocks.
fn shim(folder: &Path) -> Result<PathBuf> {
    let built = folder.join("clock.so");
    crate::shim::build("clock.c", &built)?;
    Ok(built)
}
