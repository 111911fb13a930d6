//! Servers for tests (`caseload serve --ephemeral`): the time from their start to the line that
//! says they are ready, the time of a reset, and the memory of many side by side.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use crate::figures::{Limit, median, millis, print_head, print_line, real};

const ROUNDS: usize = 20;
const ISSUES: usize = 10_000;
const SERVERS: usize = 50;
const START_MS_MAX: f64 = 50.0;
const RESET_MS_MAX: f64 = 10.0;
const MEMORY_MIB_MAX: f64 = 2048.0;

struct TestServer {
    child: Child,
    /// Host and port.
    address: String,
    /// How long it took to be ready.
    start_ms: f64,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestServer {
    fn start(flags: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("caseload");
        let mut command = Command::new(program);
        command.args(["serve", "--ephemeral", "--listen", "127.0.0.1:0", "--ready-json"]);
        command.args(["--key", "secret"]).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begun = Instant::now();
        let mut child = command.spawn().context("the program cannot be started")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let start_ms = millis(begun.elapsed());
        let url = line.split('"').find_map(|text| text.strip_prefix("http://"));
        let address = url.with_context(|| format!("not ready: {line:?}"))?.to_owned();
        Ok(Self { child, address, start_ms })
    }

    /// The time of a call, and its answer.
    fn call(&self, method: &str, path: &str) -> Result<(f64, String)> {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(&self.address)?;
        let head = "Authorization: Bearer secret\r\nConnection: close\r\nContent-Length: 0";
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {}\r\n{head}\r\n\r\n", self.address)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        Ok((millis(begun.elapsed()), answer))
    }

    /// The memory of the process in MiB: a field of the kernel's sums.
    fn memory(&self, field: &str) -> Result<f64> {
        let path = format!("/proc/{}/smaps_rollup", self.child.id());
        let sums = std::fs::read_to_string(path)?;
        let line = sums.lines().find(|line| line.starts_with(field)).context("no such sum")?;
        let kib = line.split_whitespace().nth(1).context("no number")?;
        Ok(real(kib.parse()?) / 1024.0)
    }
}

pub(crate) fn measure() -> Result<()> {
    print_head();
    let starts = (0..ROUNDS).map(|_| TestServer::start(&["--test-endpoints"]));
    let starts = starts.map(|server| Ok(server?.start_ms)).collect::<Result<Vec<f64>>>()?;
    let at_most = Limit::AtMost;
    print_line("start, median", median(starts), "ms", at_most(START_MS_MAX));

    let folder = tempfile::tempdir()?;
    let seed = folder.path().join("issues.jsonl");
    let mut lines = String::new();
    for n in 0..ISSUES {
        let at = format!("\"created_at\":{}", 1_767_225_600_000_u64 + n as u64);
        let body = "\"body\":\"It stopped working this morning.\",\"origin\":\"end-user\"";
        writeln!(lines, "{{\"title\":\"issue {n}\",{at},\"messages\":[{{{body},{at}}}]}}")?;
    }
    std::fs::write(&seed, lines)?;
    let Some(seed) = seed.to_str() else { bail!("the folder has no name") };
    let server = TestServer::start(&["--test-endpoints", "--seed", seed])?;
    print_line("start with 10,000 issues", server.start_ms, "ms", Limit::None);
    for (name, pause_ms, limit) in [
        ("reset of 10,000 issues, 100 ms apart, median", 100, at_most(RESET_MS_MAX)),
        ("reset of 10,000 issues, one after another, median", 0, Limit::None),
    ] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            std::thread::sleep(std::time::Duration::from_millis(pause_ms));
            times.push(server.call("POST", "/_test/reset")?.0);
            let (_, list) = server.call("GET", "/v1/acme/issues?page-size=1")?;
            ensure!(list.contains(&format!("\"total-hits\":{ISSUES}")), "{list}");
        }
        print_line(name, median(times), "ms", limit);
    }
    drop(server);

    let begun = Instant::now();
    let servers = (0..SERVERS).map(|_| TestServer::start(&["--test-endpoints"]));
    let servers = servers.collect::<Result<Vec<_>>>()?;
    print_line("start of 50, one after another", millis(begun.elapsed()), "ms", Limit::None);
    for server in &servers {
        server.call("GET", "/v1/acme/issues")?;
        server.call("POST", "/_test/reset")?;
        server.call("GET", "/v1/acme/issues")?;
    }
    for (name, field, limit) in [
        ("memory of 50, shared pages once", "Pss:", at_most(MEMORY_MIB_MAX)),
        ("memory of 50, shared pages each time", "Rss:", Limit::None),
    ] {
        let sum = servers.iter().map(|server| server.memory(field)).sum::<Result<f64>>()?;
        print_line(name, sum, "MiB", limit);
    }
    Ok(())
}
