//! The server under attack, with a hostile tenant, a calm one, and its log.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bench::server::{Process, Store};
use caseload_teststore::{Backend, StorePlace};
use parking_lot::Mutex;
use tokio::task::block_in_place;

use super::scale::Scale;
use super::tenant::Tenant;

/// The memory budget of the server, and the memory that it may have beyond budget and page caches.
const BUDGET_BRIEF_MIB: u32 = 64;
const BUDGET_MIB: u32 = 512;
const BEYOND_MIB: u32 = 128;
/// Page caches of SQLite: that of the writer, and one of each reader.
const WRITER_CACHE_MIB: u32 = 64;
const READER_CACHE_MIB: u32 = 8;
/// A brief attack is for builds with debugging code on machines with other work: they have more.
const BEYOND_BRIEF_MIB: u32 = 384;
/// The time between two looks at the memory of the server.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Time limit of a plain request: a later answer does not count.
const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) struct Arena {
    pub(crate) scale: Scale,
    pub(crate) store: Store,
    pub(crate) hostile: Tenant,
    pub(crate) calm: Tenant,
    pub(crate) log: Log,
    process: Option<Process>,
    peak_kib: Arc<AtomicU64>,
    arguments: Vec<String>,
    place: StorePlace,
}

/// The server's log so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Arena {
    /// A store with two domains, and a server that has `more` arguments.
    pub(crate) fn open(backend: Backend, scale: Scale, more: &[&str]) -> Result<Self> {
        let place = block_in_place(|| backend.place());
        let store = Store::in_database(place.url());
        let mut arguments: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
        let budget = format!("{}", u64::from(budget_mib(scale)) << 20);
        // A program without the flag is attacked, too: that shows the state before the defence.
        if block_in_place(|| store.run(&["serve", "--help"]))?.contains("--memory-budget") {
            arguments.extend(["--memory-budget".to_owned(), budget]);
        }
        let (hostile, calm) = (tenant(&store, "hostile")?, tenant(&store, "calm")?);
        let mut arena = Self {
            scale,
            store,
            hostile,
            calm,
            log: Log::default(),
            process: None,
            peak_kib: Arc::default(),
            arguments,
            place,
        };
        arena.start()?;
        Ok(arena)
    }

    /// A further tenant.
    pub(crate) fn another(&self, domain: &'static str) -> Result<Tenant> {
        Ok(Tenant { url: self.hostile.url.clone(), ..tenant(&self.store, domain)? })
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.take().map_or(Ok(()), Process::kill)
    }

    pub(crate) fn start(&mut self) -> Result<()> {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let log = Box::new(self.log.clone());
        let process = block_in_place(|| Store::serve_at(self.place.url(), &arguments, log))?;
        self.hostile.url.clone_from(&process.url);
        self.calm.url.clone_from(&process.url);
        self.watch(process.pid());
        self.process = Some(process);
        Ok(())
    }

    /// `HOST:PORT` of the server.
    pub(crate) fn address(&self) -> String {
        self.hostile.url.trim_start_matches("http://").to_owned()
    }

    /// Runs a command of the program on the store.
    pub(crate) fn command(&self, arguments: &[&str]) -> Result<String> {
        block_in_place(|| self.store.run(arguments))
    }

    /// The store as `--store` takes it.
    pub(crate) fn location(&self) -> &str {
        self.place.url()
    }

    /// The file of a SQLite store.
    pub(crate) fn file(&self) -> Result<std::path::PathBuf> {
        Ok(self.place.url().strip_prefix("sqlite:").context("not a file")?.into())
    }

    /// Forgets the peak: only memory from here on counts.
    pub(crate) fn reset_peak(&self) {
        self.peak_kib.store(0, Ordering::Relaxed);
    }

    /// The peak of the server's anonymous memory in MiB. Pages of the mapped file do not count: the
    /// system takes them back when it needs them.
    pub(crate) fn peak_mib(&self) -> f64 {
        f64::from(u32::try_from(self.peak_kib.load(Ordering::Relaxed)).unwrap_or(u32::MAX)) / 1024.0
    }

    /// Looks at the memory of the server until it ends.
    fn watch(&self, pid: u32) {
        let peak = Arc::downgrade(&self.peak_kib);
        std::thread::spawn(move || {
            while let Some(peak) = peak.upgrade() {
                let Some(kib) = anonymous_kib(pid) else { return };
                peak.fetch_max(kib, Ordering::Relaxed);
                drop(peak);
                std::thread::sleep(LOOK_EVERY);
            }
        });
    }

    /// The most memory that the server may have, in MiB.
    pub(crate) fn memory_bound_mib(&self) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let readers = (2 * cores).max(4);
        let caches = if self.location().starts_with("sqlite:") {
            WRITER_CACHE_MIB + readers * READER_CACHE_MIB
        } else {
            0
        };
        let beyond = match self.scale {
            Scale::Brief => BEYOND_BRIEF_MIB,
            Scale::Long => BEYOND_MIB,
        };
        f64::from(budget_mib(self.scale) + caches + beyond)
    }
}

/// The anonymous memory of a process; none once it has ended.
fn anonymous_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

fn tenant(store: &Store, domain: &'static str) -> Result<Tenant> {
    let key = block_in_place(|| store.domain(domain))?;
    let http = caseload_client::client_builder()
        .no_proxy()
        .tls_certs_only([])
        .timeout(PATIENCE)
        .build()?;
    Ok(Tenant { http, url: String::new(), domain, key })
}

const fn budget_mib(scale: Scale) -> u32 {
    match scale {
        Scale::Brief => BUDGET_BRIEF_MIB,
        Scale::Long => BUDGET_MIB,
    }
}
