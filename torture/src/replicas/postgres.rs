//! PostgreSQL's own means: connections to a server, and the programs that stop and start it and
//! make a standby.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use tokio_postgres::{Client, NoTls};

/// The name of the database that the servers share.
pub(super) const NAME: &str = "attacked";

/// Runs `pg_ctl` on a server's folder, as its owner.
pub(super) async fn pg_ctl(bin: &Path, folder: &Path, args: &[&str]) -> Result<()> {
    let data = format!("--pgdata={}", folder.display());
    let log = format!("--log={}", folder.with_extension("log").display());
    let mut all = [args, &["--wait", "--silent", &data]].concat();
    if args[0] != "stop" && args[0] != "promote" {
        all.push(&log);
    }
    run(bin, "pg_ctl", folder, &all).await
}

/// Makes a standby of a server in a new folder, which is not started yet and will use this port.
pub(super) async fn make_standby(
    bin: &Path,
    (folder, port): (&Path, u16),
    (new, new_port): (&Path, u16),
) -> Result<()> {
    let (data, port) = (format!("--pgdata={}", new.display()), format!("--port={port}"));
    let args = [
        "--host=127.0.0.1",
        "--username=postgres",
        "--write-recovery-conf",
        "--checkpoint=fast",
        &port,
        &data,
    ];
    run(bin, "pg_basebackup", folder, &args).await?;
    let mut settings = OpenOptions::new().append(true).open(new.join("postgresql.conf"))?;
    Ok(writeln!(settings, "port = {new_port}")?)
}

/// Runs a program of the database as the owner of a folder. The servers of a cluster read the
/// password for each other from `TEST_PASSFILE`.
async fn run(bin: &Path, name: &str, folder: &Path, args: &[&str]) -> Result<()> {
    let program = bin.join(name);
    let owner = std::fs::metadata(folder)?.uid();
    let mut command = if owner == std::fs::metadata("/proc/self")?.uid() {
        Command::new(program)
    } else {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &owner.to_string(), "--clear-groups", "--"]).arg(program);
        command
    };
    command.args(args);
    if let Some(passfile) = std::env::var_os("TEST_PASSFILE") {
        command.env("PGPASSFILE", passfile);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = tokio::task::spawn_blocking(move || command.status()).await??;
    ensure!(status.success(), "{name} {} failed", args.join(" "));
    Ok(())
}

pub(super) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
