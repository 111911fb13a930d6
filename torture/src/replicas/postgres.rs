//! PostgreSQL's own means: connections to a server, and the programs that stop and start it and
//! make a standby.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio_postgres::{Client, NoTls};
use url::Url;

/// The name of the database that the servers share.
pub(super) const NAME: &str = "attacked";

/// Time limit for a standby to follow its server.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `pg_ctl` on a server's folder, as its owner.
pub(super) async fn pg_ctl(bin: &Path, folder: &Path, args: &[&str]) -> Result<()> {
    pg_ctl_in(bin, folder, args, &[]).await
}

/// The same with these variables, which a server that starts gets, too.
pub(super) async fn pg_ctl_in(
    bin: &Path,
    folder: &Path,
    args: &[&str],
    environment: &[(&str, PathBuf)],
) -> Result<()> {
    let data = format!("--pgdata={}", folder.display());
    let log = format!("--log={}", folder.with_extension("log").display());
    let mut all = [args, &["--wait", "--silent", &data]].concat();
    if args[0] != "stop" && args[0] != "promote" {
        all.push(&log);
    }
    run(bin, "pg_ctl", folder, &all, environment).await
}

/// Starts a standby of the server at `url`, whose files are in `folder`; returns the folder and the
/// port of the standby. From then on each commit of the server waits until the standby has it.
pub(super) async fn start_standby(bin: &Path, url: &str, folder: &Path) -> Result<(PathBuf, u16)> {
    let mut url = Url::parse(url)?;
    url.set_path("postgres");
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let standby = folder.with_file_name(format!("standby-{port}"));
    copy_server(bin, url.port().unwrap_or(5432), folder, &standby).await?;
    set_port(&standby, port)?;
    pg_ctl(bin, &standby, &["start"]).await?;
    let server = connect(url.as_str()).await?;
    server.batch_execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await?;
    server.batch_execute("SELECT pg_reload_conf()").await?;
    let begun = Instant::now();
    let follows = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    while server.query_one(follows, &[]).await?.get::<_, i64>(0) == 0 {
        ensure!(begun.elapsed() < PATIENCE, "the standby does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((standby, port))
}

/// Copies the files of a server to the folder of a standby.
async fn copy_server(bin: &Path, port: u16, folder: &Path, standby: &Path) -> Result<()> {
    let (data, port) = (format!("--pgdata={}", standby.display()), format!("--port={port}"));
    let args = [
        "--host=127.0.0.1",
        "--username=postgres",
        "--write-recovery-conf",
        "--checkpoint=fast",
        &port,
        &data,
    ];
    run(bin, "pg_basebackup", folder, &args, &[]).await
}

/// The port on which a server listens from its next start on.
pub(super) fn set_port(folder: &Path, port: u16) -> Result<()> {
    let path = folder.join("postgresql.conf");
    let mut settings = OpenOptions::new().append(true).open(path).context("no settings")?;
    Ok(writeln!(settings, "port = {port}")?)
}

/// Runs a program of the database as the owner of a folder. The servers of a cluster read the
/// password for each other from `TEST_PASSFILE`.
async fn run(
    bin: &Path,
    name: &str,
    folder: &Path,
    args: &[&str],
    environment: &[(&str, PathBuf)],
) -> Result<()> {
    let program = bin.join(name);
    let owner = std::fs::metadata(folder)?.uid();
    let mut command = if owner == std::fs::metadata("/proc/self")?.uid() {
        Command::new(program)
    } else {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &owner.to_string(), "--clear-groups", "--"]).arg(program);
        command
    };
    command.args(args).envs(environment.iter().map(|(name, value)| (name, value)));
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
