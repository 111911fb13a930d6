//! The server under measurement: the released binary with a store of its own in a temporary
//! folder, on a free port. Ended by its process id.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) key: String,
    process: Child,
    _dir: TempDir,
}

impl Server {
    /// Starts a server with an empty domain `load` and a write key.
    pub(crate) fn start() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let store = format!("sqlite:{}", dir.path().join("load.db").display());
        run(&["domain", "create", "load", "--store", &store])?;
        let key = run(&["key", "create", "--domain", "load", "--store", &store])?;
        let mut process = Command::new(binary()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--store", &store])
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().context("the server has no stderr")?;
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        let url = line.trim().strip_prefix("listening on ").context(line.clone())?.to_owned();
        Ok(Self { url, key: key.trim().to_owned(), process, _dir: dir })
    }

    pub(crate) fn stop(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(args: &[&str]) -> Result<String> {
    let output = Command::new(binary()?).args(args).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "caseload {args:?} failed: {stderr}");
    Ok(String::from_utf8(output.stdout)?)
}

/// The program beside this one.
fn binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("caseload");
    ensure!(path.exists(), "build it first: cargo build --release --package caseload");
    Ok(path)
}
