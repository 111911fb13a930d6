//! Shared by the tests of the program: a working directory for each test, the built binary with a
//! clean environment, a server that ends with its test, and transcripts of whole runs with ids and
//! times redacted.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caseload_teststore::{Backend, StorePlace};

/// Time limit for a start, a shutdown or a task on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A folder in which the program runs. Its store is a file in the folder, or a database if the test
/// runs on each backend and this is the run for PostgreSQL.
pub(crate) struct Workdir {
    dir: tempfile::TempDir,
    database: Option<StorePlace>,
}

impl Workdir {
    pub(crate) fn new() -> Self {
        let chosen = Backend::chosen().filter(|backend| *backend != Backend::Sqlite);
        Self { dir: tempfile::tempdir().unwrap(), database: chosen.map(Backend::place) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with these arguments and without the `CASELOAD_` variables of this environment.
    pub(crate) fn caseload(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caseload"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CASELOAD_")) {
            command.env_remove(name);
        }
        if let Some(database) = &self.database {
            // Other servers notice a dead server only when its lease has expired.
            command.env("CASELOAD_STORE", database.url()).env("CASELOAD_LEASE", "2");
        }
        command.current_dir(self.dir.path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.caseload(args).output().unwrap()
    }

    /// Standard output of a run, which must succeed.
    pub(crate) fn good(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", transcript_of(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The transcript of a run.
    pub(crate) fn transcript(&self, args: &[&str]) -> String {
        let output = self.run(args);
        format!("$ caseload {}\n{}", args.join(" "), transcript_of(&output))
    }

    /// A server on the default store, with the domain `acme` and a write key.
    pub(crate) fn serve(&self) -> Server<'_> {
        self.good(&["domain", "create", "acme"]);
        let key = self.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
        Server::start(self, key)
    }
}

/// The exit status and both outputs of a run.
pub(crate) fn transcript_of(output: &Output) -> String {
    let status = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let mut transcript = format!("exit {status}\n");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let _ = write!(transcript, "--- {name}\n{}", String::from_utf8_lossy(bytes));
        }
    }
    transcript
}

/// Snapshot settings for texts that are the same each time.
pub(crate) fn plain() -> insta::internals::SettingsBindDropGuard {
    settings().bind_to_scope()
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Snapshot settings that redact ids, times and addresses.
pub(crate) fn redacted() -> insta::internals::SettingsBindDropGuard {
    let mut settings = settings();
    for (pattern, word) in [
        (r"caseload_[0-9a-f]{64}", "[KEY]"),
        (r"key-[0-9a-f]{12}", "[KEY-ID]"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "[TASK]"),
        (r"_(app|profile)_\d{17}-[0-9a-f]{15}", "_${1}_[ID]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "[TIME]"),
        (r#""([a-z_]+_at)":\d{13}"#, r#""$1":"[TIME]""#),
        (r#""core-profile-id":"\d+""#, r#""core-profile-id":"[ID]""#),
        (r"127\.0\.0\.1:\d+", "[ADDRESS]"),
        (r"( +\d+(\.\d)? ms| +\d+\.\d+ s)\b( +[\d,]+/s)?", " [TIMES]"),
        (r"(URL=http://\S+|run\d+)", "[RUN]"),
        (r"\d{13}", "[TIME]"),
        // On a slow machine, progress is reported between the other lines.
        (r"(?m)^[a-z ]+: (\d+ %|[\d,]+ of [\d,]+|[\d,]+, [\d,]+ a second).*\n", ""),
    ] {
        settings.add_filter(pattern, word);
    }
    settings.bind_to_scope()
}

/// A running `caseload serve`.
pub(crate) struct Server<'p> {
    pub(crate) workdir: &'p Workdir,
    /// The process, until the test ends it.
    pub(crate) child: Option<Child>,
    pub(crate) url: String,
    pub(crate) key: String,
    /// Its log so far.
    pub(crate) log: Arc<Mutex<String>>,
}

impl<'p> Server<'p> {
    pub(crate) fn start(workdir: &'p Workdir, key: String) -> Self {
        Self::spawn(workdir, key, workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]))
    }

    /// A server that starts with the given command.
    pub(crate) fn spawn(workdir: &'p Workdir, key: String, mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // At `info`, lines of the log come first.
        let mut before = String::new();
        let url = loop {
            let Some(Ok(line)) = lines.next() else { panic!("the server printed: {before}") };
            match line.strip_prefix("listening on ") {
                Some(url) => break url.to_owned(),
                None => before = before + &line + "\n",
            }
        };
        // A full pipe would block the server, so its log is read until it ends.
        let log = Arc::new(Mutex::new(before));
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                eprintln!("{line}");
                let _ = writeln!(written.lock().unwrap(), "{line}");
            }
        });
        Self { workdir, child: Some(child), url, key, log }
    }

    /// The server's log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The program as a client of this server.
    pub(crate) fn caseload(&self, args: &[&str]) -> Command {
        let mut command = self.workdir.caseload(args);
        command
            .env("CASELOAD_URL", &self.url)
            .env("CASELOAD_DOMAIN", "acme")
            .env("CASELOAD_API_KEY", &self.key);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.caseload(args).output().unwrap()
    }

    /// Standard output of a run, which must succeed.
    pub(crate) fn good(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", transcript_of(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The transcript of a run as a client.
    pub(crate) fn transcript(&self, args: &[&str]) -> String {
        format!("$ caseload {}\n{}", args.join(" "), transcript_of(&self.run(args)))
    }

    /// A run as a client with `input` on standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = self.caseload(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    /// A small request that any valid key may make.
    pub(crate) fn small_call(&self) -> Output {
        let args = ["bulk", "submit", "get_core_profiles", "-"];
        self.run_with_input(&args, b"{\"core-profile-id\":\"1\"}\n")
    }

    /// Sends SIGTERM and waits until the server has ended.
    pub(crate) fn terminate(mut self) -> (ExitStatus, Duration) {
        let begun = Instant::now();
        let mut child = self.child.take().unwrap();
        signal(&child, "TERM");
        (child.wait().unwrap(), begun.elapsed())
    }

    /// Kills the server with signal 9.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends a signal to a child.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Entries of `create_core_profiles`, each with an identity of its own.
pub(crate) fn profiles(count: usize, tag: &str) -> String {
    let entry = |n| format!("{{\"identities\":[{{\"uid\":\"{tag}-{n}\"}}],\"age\":{}}}\n", n % 90);
    (0..count).map(entry).collect()
}

/// Whether a file is there.
pub(crate) fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

/// A proxy that cuts each connection after so many bytes of its answers.
pub(crate) fn cutting_proxy(server: &str, bytes: usize) -> String {
    use std::io::Read;
    use std::net::{Shutdown, TcpListener, TcpStream};
    let server = server.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, upstream) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (mut asking, mut asked) =
                (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut asking, &mut asked));
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut (&upstream).take(bytes as u64), &mut client);
                let _ = client.shutdown(Shutdown::Both);
                let _ = upstream.shutdown(Shutdown::Both);
            });
        }
    });
    url
}
