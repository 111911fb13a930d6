//! PostgreSQL's own means: connections to a server, and the program that stops and starts it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use tokio_postgres::{Client, NoTls};

/// The name of the database that the servers share.
pub(super) const NAME: &str = "attacked";

/// Runs `pg_ctl` on a server's folder, as its owner. The servers of a cluster read the password for
/// each other from `TEST_PASSFILE`.
pub(super) async fn pg_ctl(bin: &Path, folder: &Path, args: &[&str]) -> Result<()> {
    let program = bin.join("pg_ctl");
    let owner = std::fs::metadata(folder)?.uid();
    let mut command = if owner == std::fs::metadata("/proc/self")?.uid() {
        Command::new(program)
    } else {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &owner.to_string(), "--clear-groups", "--"]).arg(program);
        command
    };
    let data = format!("--pgdata={}", folder.display());
    let log = format!("--log={}", folder.with_extension("log").display());
    command.args(args).args(["--wait", "--silent", &data]);
    if args[0] != "stop" {
        command.arg(&log);
    }
    if let Some(passfile) = std::env::var_os("TEST_PASSFILE") {
        command.env("PGPASSFILE", passfile);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = tokio::task::spawn_blocking(move || command.status()).await??;
    ensure!(status.success(), "pg_ctl {} failed", args.join(" "));
    Ok(())
}

pub(super) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
