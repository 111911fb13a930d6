//! The server under measurement or attack: the `caseload` program next to this one, on a free port,
//! with a store of its own in a temporary folder. A [`Store`] outlives its processes: after a kill
//! it can be served again with everything in it. Dropping a [`Process`] kills it by its id.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

/// A store, and the folder for its file or for the logs of its servers.
#[derive(Debug)]
pub struct Store {
    /// Removes the folder when it is dropped; `None` if the folder stays.
    removal: Option<TempDir>,
    folder: PathBuf,
    /// As `caseload --store` takes it.
    location: String,
}

impl Store {
    /// An empty store in a temporary folder.
    pub fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        Ok(Self::of(dir.path().to_owned(), Some(dir)))
    }

    /// The store in a folder that stays when this is dropped.
    pub fn at(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self::of(folder.to_owned(), None))
    }

    fn of(folder: PathBuf, removal: Option<TempDir>) -> Self {
        let location = format!("sqlite:{}", folder.join("store.db").display());
        Self { removal, folder, location }
    }

    /// The store in a PostgreSQL database, which the caller removes.
    pub fn in_database(url: &str) -> Self {
        Self { removal: None, folder: PathBuf::new(), location: url.to_owned() }
    }

    /// The same with a temporary folder for the logs of its servers.
    pub fn in_database_with_logs(url: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        Ok(Self { folder: dir.path().to_owned(), removal: Some(dir), location: url.to_owned() })
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.folder.join("store.db")
    }

    /// Creates a domain; returns a write key for it.
    pub fn domain(&self, name: &str) -> Result<String> {
        self.domain_with(name, "write")
    }

    /// The same with a key of this access.
    fn domain_with(&self, name: &str, access: &str) -> Result<String> {
        self.run(&["domain", "create", name])?;
        let key = self.run(&["key", "create", "--domain", name, "--access", access])?;
        Ok(key.trim().to_owned())
    }

    /// Runs `caseload check`, with or without a server running on the store.
    pub fn check(&self) -> Result<String> {
        self.run(&["check"])
    }

    /// Starts a server on the store.
    pub fn serve(&self) -> Result<Process> {
        Self::serve_at(&self.location, &[], Box::new(std::io::sink()))
    }

    /// Starts a server on the store at `location`, with more arguments, and writes its log to
    /// `log`.
    pub fn serve_at(
        location: &str,
        arguments: &[&str],
        log: Box<dyn std::io::Write + Send>,
    ) -> Result<Process> {
        Self::serve_in(location, arguments, &[], log)
    }

    /// The same with more variables in its environment.
    pub fn serve_in(
        location: &str,
        arguments: &[&str],
        environment: &[(&str, OsString)],
        mut log: Box<dyn std::io::Write + Send>,
    ) -> Result<Process> {
        let mut process = Command::new(binary()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0"])
            .args(arguments)
            .env("CASELOAD_STORE", location)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().context("the server has no stderr")?;
        let mut process = Process { url: String::new(), process };
        let mut stderr = BufReader::new(stderr);
        let mut output = String::new();
        loop {
            let mut line = String::new();
            if stderr.read_line(&mut line)? == 0 {
                bail!("the server ended before it listened: {output}");
            }
            if let Some(url) = line.trim().strip_prefix("listening on ") {
                url.clone_into(&mut process.url);
                break;
            }
            output.push_str(&line);
        }
        // A full pipe would block the server, so it is read until the server ends.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut log));
        Ok(process)
    }

    /// Runs a command of the program on the store; returns its standard output.
    pub fn run(&self, args: &[&str]) -> Result<String> {
        let output =
            Command::new(binary()?).args(args).env("CASELOAD_STORE", &self.location).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "caseload {args:?} failed: {stderr}{stdout}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The folder for the store's file or for its servers' logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves the folder in place, so that a failure can be examined.
    pub fn leave_folder(self) -> PathBuf {
        self.removal.map_or(self.folder, TempDir::keep)
    }
}

/// A running server. Dropping it kills the server.
#[derive(Debug)]
pub struct Process {
    pub url: String,
    process: Child,
}

impl Process {
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills the process with signal 9 and waits until it has ended.
    pub fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server with an empty domain `bench` and a key for it.
#[derive(Debug)]
pub struct Server {
    pub url: String,
    pub key: String,
    process: Process,
    _store: Store,
}

impl Server {
    /// With a write key.
    pub fn start() -> Result<Self> {
        Self::start_with("write", &[])
    }

    /// With a key of this access, and with more arguments.
    pub fn start_with(access: &str, arguments: &[&str]) -> Result<Self> {
        let store = Store::new()?;
        let key = store.domain_with("bench", access)?;
        let process = Store::serve_at(&store.location, arguments, Box::new(std::io::sink()))?;
        Ok(Self { url: process.url.clone(), key, process, _store: store })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn stop(self) -> Result<()> {
        self.process.kill()
    }
}

/// The `caseload` program next to this one.
fn binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("caseload");
    ensure!(path.exists(), "build it first, in the same profile: cargo build -p caseload");
    Ok(path)
}
