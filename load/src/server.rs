//! The server under measurement: the binary beside this one with a store of its own in a temporary
//! folder, on a free port. Ended by its process id. A [`Store`] outlives its processes: it may be
//! served again after a kill, with all that was in it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

/// A fresh store in a folder that goes when this does.
pub(crate) struct Store {
    /// What removes the folder at the end, where it does not stay.
    removal: Option<TempDir>,
    folder: PathBuf,
    place: String,
}

impl Store {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        Ok(Self::of(dir.path().to_owned(), Some(dir)))
    }

    /// The store in a folder that stays.
    pub(crate) fn at(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self::of(folder.to_owned(), None))
    }

    fn of(folder: PathBuf, removal: Option<TempDir>) -> Self {
        let place = format!("sqlite:{}", folder.join("load.db").display());
        Self { removal, folder, place }
    }

    /// The store in a database, which is the caller's.
    pub(crate) fn in_database(url: &str) -> Self {
        Self { removal: None, folder: PathBuf::new(), place: url.to_owned() }
    }

    /// A store that is elsewhere; the folder has its servers' logs.
    pub(crate) fn elsewhere(place: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        Ok(Self { folder: dir.path().to_owned(), removal: Some(dir), place: place.to_owned() })
    }

    /// The database file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("load.db")
    }

    /// Makes a domain; returns a write key of it.
    pub(crate) fn domain(&self, name: &str) -> Result<String> {
        self.run(&["domain", "create", name])?;
        let key = self.run(&["key", "create", "--domain", name])?;
        Ok(key.trim().to_owned())
    }

    /// Verifies the laws of the stored data, with or without a server at work on it.
    pub(crate) fn check(&self) -> Result<String> {
        self.run(&["check"])
    }

    /// Starts a server on the store.
    pub(crate) fn serve(&self) -> Result<Process> {
        Self::serve_by(&self.place, &[], Box::new(std::io::sink()))
    }

    /// Starts a server of the store at `place` and writes its log to `log`.
    pub(crate) fn serve_by(
        place: &str,
        more: &[&str],
        mut log: Box<dyn std::io::Write + Send>,
    ) -> Result<Process> {
        let mut process = Command::new(binary()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0"])
            .args(more)
            .env("CASELOAD_STORE", place)
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().context("the server has no stderr")?;
        let mut process = Process { url: String::new(), process };
        let mut stderr = BufReader::new(stderr);
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if stderr.read_line(&mut line)? == 0 {
                bail!("the server ended before it listened: {said}");
            }
            if let Some(url) = line.trim().strip_prefix("listening on ") {
                url.clone_into(&mut process.url);
                break;
            }
            said.push_str(&line);
        }
        // The pipe is read to its end, or the server would wait for room in it.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut log));
        Ok(process)
    }

    fn run(&self, args: &[&str]) -> Result<String> {
        let output =
            Command::new(binary()?).args(args).env("CASELOAD_STORE", &self.place).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "caseload {args:?} failed: {stderr}{stdout}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The folder of the store, or of its servers' logs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves the folder where it is, for a look at what went wrong.
    pub(crate) fn keep(self) -> PathBuf {
        self.removal.map_or(self.folder, TempDir::keep)
    }
}

/// A running server, killed when this goes.
pub(crate) struct Process {
    pub(crate) url: String,
    process: Child,
}

impl Process {
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends the process at once, as `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server with one empty domain `load` and a write key.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) key: String,
    process: Process,
    _store: Store,
}

impl Server {
    pub(crate) fn start() -> Result<Self> {
        let store = Store::new()?;
        let key = store.domain("load")?;
        let process = store.serve()?;
        Ok(Self { url: process.url.clone(), key, process, _store: store })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.process.kill()
    }
}

/// The program beside this one.
fn binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("caseload");
    ensure!(path.exists(), "build it first, in the same profile: cargo build --package caseload");
    Ok(path)
}
