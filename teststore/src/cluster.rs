//! PostgreSQL servers that belong to one test, which may stop or crash them, add a standby and
//! promote it. All other tests share one server. `TEST_POSTGRES_BIN` names the folder of the
//! programs;
//! `scripts/with-postgres` sets it. Each server is a child of the test in the same process group,
//! so that a signal to the test reaches it. Invariant: dropping the value removes server and
//! folder.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::query;

/// The variable with the folder of PostgreSQL's programs.
const VARIABLE: &str = "TEST_POSTGRES_BIN";
/// The name of a standby on its primary server.
const STANDBY: &str = "standby";
/// Time for a server to start, to stop or to catch up on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// Without fsync: no test crashes the machine, and a crash of a process loses no written bytes.
const SETTINGS: &str = "listen_addresses = '127.0.0.1'\nfsync = off\nmax_connections = 100\n\
                        jit = off\nwal_receiver_status_interval = 1\n\
                        wal_retrieve_retry_interval = 200ms\n";

/// How to stop a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Ends connections and shuts down cleanly.
    Fast,
    /// Like a crash: the next start recovers from the log.
    Immediate,
}

/// A server with a database for a store.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    password: String,
    port: u16,
    child: Option<Child>,
}

impl Cluster {
    /// A server that takes writes, with an empty database.
    pub fn start() -> Self {
        let mut cluster = Self::unmade(password());
        let passfile = cluster.folder.path().join("password");
        std::fs::write(&passfile, &cluster.password).expect("a file for the password");
        own(&passfile, 0o600);
        let pwfile = format!("--pwfile={}", passfile.display());
        let args = [
            "--no-sync",
            "--data-checksums",
            "--auth=scram-sha-256",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            &pwfile,
        ];
        run(program("initdb").args(args).arg("--pgdata").arg(cluster.data()));
        let settings = cluster.data().join("postgresql.conf");
        let made = std::fs::read_to_string(&settings).expect("the settings that initdb makes");
        std::fs::write(&settings, format!("{made}\n{SETTINGS}")).expect("settings");
        cluster.launch();
        query(&cluster.address("postgres"), "CREATE DATABASE caseload");
        cluster
    }

    /// A standby of this server. From then on the server acknowledges commits only if the standby
    /// has them.
    #[must_use]
    pub fn standby(&self) -> Self {
        let mut standby = Self::unmade(self.password.clone());
        let source =
            format!("host=127.0.0.1 port={} user=postgres application_name={STANDBY}", self.port);
        run(program("pg_basebackup")
            .env("PGPASSWORD", &self.password)
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname", &source])
            .arg("--pgdata")
            .arg(standby.data()));
        standby.launch();
        let maintenance = self.address("postgres");
        query(&maintenance, &format!("ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'"));
        query(&maintenance, "SELECT pg_reload_conf()");
        let state = "SELECT sync_state FROM pg_stat_replication";
        wait_until("the standby follows", || query(&maintenance, state) == ["sync"]);
        standby
    }

    /// Has the server wait for a standby that does not exist with each commit, or stop waiting.
    pub fn wait_for_missing_standby(&self, wait: bool) {
        let maintenance = self.address("postgres");
        let names = if wait { "missing" } else { "" };
        query(&maintenance, &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        query(&maintenance, "SELECT pg_reload_conf()");
        let shown = "SHOW synchronous_standby_names";
        wait_until("the setting is in effect", || query(&maintenance, shown) == [names]);
    }

    /// Turns TLS on with a certificate and key (PEM) and demands client certificates of `roots`.
    pub fn encrypt(&self, certificate: &str, key: &str, roots: &str) {
        let serial = query(&self.address("postgres"), "SELECT txid_current()").remove(0);
        let maintenance = self.address("postgres");
        let mut set = vec!["ALTER SYSTEM SET ssl = on".to_owned()];
        for (setting, text) in
            [("ssl_cert_file", certificate), ("ssl_key_file", key), ("ssl_ca_file", roots)]
        {
            let name = format!("{setting}-{serial}.pem");
            let file = self.data().join(&name);
            std::fs::write(&file, text).expect("a file for the server");
            own(&file, 0o600);
            set.push(format!("ALTER SYSTEM SET {setting} = '{name}'"));
        }
        set.push("SELECT pg_reload_conf()".to_owned());
        for statement in set {
            query(&maintenance, &statement);
        }
        let shown = "SELECT current_setting('ssl') || current_setting('ssl_ca_file')";
        let expected = format!("onssl_ca_file-{serial}.pem");
        wait_until("it is encrypted", || query(&maintenance, shown) == [expected.as_str()]);
    }

    /// Puts lines in front of the rules for connections.
    pub fn admit(&self, lines: &str) {
        let file = self.data().join("pg_hba.conf");
        let before = std::fs::read_to_string(&file).expect("the rules for connections");
        std::fs::write(&file, format!("{lines}\n{before}")).expect("the rules for connections");
        let maintenance = self.address("postgres");
        let loaded = "SELECT pg_conf_load_time()";
        let before = query(&maintenance, loaded);
        query(&maintenance, "SELECT pg_reload_conf()");
        wait_until("it is read", || query(&maintenance, loaded) != before);
    }

    /// Promotes a standby, which then takes writes.
    pub fn promote(&self) {
        let promoted = query(&self.address("postgres"), "SELECT pg_promote(true, 30)");
        assert_eq!(promoted, ["t"], "the standby is promoted");
    }

    /// Stops the server and waits for its end.
    pub fn stop(&mut self, how: Stop) {
        let Some(mut child) = self.child.take() else { return };
        let signal = if how == Stop::Fast { "-INT" } else { "-QUIT" };
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server gets the signal");
        child.wait().expect("the server ends");
    }

    /// Turns the checksums of pages off or on; the server restarts.
    pub fn set_data_checksums(&mut self, on: bool) {
        self.stop(Stop::Fast);
        let change = if on { "--enable" } else { "--disable" };
        run(program("pg_checksums").args([change, "--no-sync"]).arg("--pgdata").arg(self.data()));
        self.start_again();
    }

    /// Starts the server again on the same port.
    pub fn start_again(&mut self) {
        self.launch();
    }

    /// `HOST:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address of the database of the store, with these servers as its hosts.
    pub fn url_with(hosts: &[&Self], parameters: &str) -> String {
        let names: Vec<_> = hosts.iter().map(|host| host.host()).collect();
        let password = &hosts[0].password;
        format!("postgres://postgres:{password}@{}/caseload{parameters}", names.join(","))
    }

    pub(crate) fn address(&self, database: &str) -> String {
        format!("postgres://postgres:{}@{}/{database}", self.password, self.host())
    }

    /// A cluster that is only an empty folder, owned by the server's user.
    fn unmade(password: String) -> Self {
        // No socket is made here, so the length of the path does not matter.
        let folder = tempfile::tempdir().expect("a folder for a server");
        own(folder.path(), 0o700);
        Self { folder, password, port: 0, child: None }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server. If another program took the port, tries another one, unless the address
    /// of the server is known already.
    fn launch(&mut self) {
        let begun = Instant::now();
        let known = self.port != 0;
        while begun.elapsed() < PATIENCE {
            if !known {
                self.port = free_port();
            }
            let log = self.folder.path().join("log");
            let log = std::fs::File::options().create(true).append(true).open(log);
            let log = log.expect("a file for the server's log");
            let mut child = program("postgres")
                .arg("-D")
                .arg(self.data())
                .args(["-p", &self.port.to_string(), "-c", "unix_socket_directories="])
                .stderr(log)
                .spawn()
                .expect("postgres starts");
            while child.try_wait().expect("the state of a child").is_none() {
                if self.answers() {
                    self.child = Some(child);
                    return;
                }
                assert!(begun.elapsed() < PATIENCE, "{}", self.log());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        panic!("PostgreSQL does not start: {}", self.log());
    }

    fn answers(&self) -> bool {
        crate::server::aside(|runtime| {
            let url = self.address("postgres");
            runtime.block_on(async move {
                tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok()
            })
        })
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let sent = Command::new("kill").args(["-QUIT", &child.id().to_string()]).status();
            if !sent.is_ok_and(|status| status.success()) {
                let _ = child.kill();
            }
            let _ = child.wait();
        }
    }
}

/// A program of PostgreSQL, as a user that it accepts.
fn program(name: &str) -> Command {
    let bin = std::env::var(VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{VARIABLE} is not set: this test starts PostgreSQL itself. Run it under \
             scripts/with-postgres, or name the folder of initdb and postgres"
        )
    });
    let mut command = Command::new(Path::new(&bin).join(name));
    if let Some((user, group)) = other_user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// The user for the programs if this process is root, which they refuse.
fn other_user() -> Option<(u32, u32)> {
    if id(&["-u"])? != 0 {
        return None;
    }
    let found = ["postgres", "nobody"]
        .iter()
        .find_map(|name| Some((id(&["-u", name])?, id(&["-g", name])?)));
    Some(found.expect("a user `postgres` or `nobody`"))
}

fn id(args: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(args).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn own(path: &Path, mode: u32) {
    if let Some((user, group)) = other_user() {
        chown(path, Some(user), Some(group)).expect("the folder is given away");
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its mode");
}

fn run(command: &mut Command) {
    let output = command.output().expect("a program of PostgreSQL runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", command.get_program().display());
}

fn password() -> String {
    let mut random = [0; 16];
    let mut source = std::fs::File::open("/dev/urandom").expect("a source of randomness");
    source.read_exact(&mut random).expect("randomness");
    hex::encode(random)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its number").port()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "it takes too long: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
