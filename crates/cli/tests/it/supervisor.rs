//! `caseload serve` under a supervisor such as systemd: it notifies the supervisor, and takes
//! the sockets that it passes. A shell passes them as systemd does: as descriptors from 3 on, named
//! by variables.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Server, Workdir, transcript_of};
use crate::tls::write_files;

/// Moves the passed sockets from standard input and output to their places. A server replaces the
/// shell, so it has its process id.
const PASS: &str = r#"exec 3<&0 4<&1 0</dev/null 1>&2
export LISTEN_PID=${OTHER_PID:-$$} WATCHDOG_PID=$$
exec "$@""#;

/// A command that gets these sockets, with these names.
fn passing(plain: &Command, sockets: Vec<OwnedFd>, names: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", PASS, "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("LISTEN_FDS", sockets.len().to_string()).env("LISTEN_FDNAMES", names);
    let mut sockets = sockets.into_iter().map(Stdio::from);
    command.stdin(sockets.next().unwrap_or_else(Stdio::null));
    command.stdout(sockets.next().unwrap_or_else(Stdio::null)).stderr(Stdio::piped());
    command
}

fn bound(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Starts a server on a copy of the listener.
fn start_on<'w>(listener: &TcpListener, workdir: &'w Workdir, key: &str) -> Server<'w> {
    let plain = workdir.caseload(&["serve", "--listen", "127.0.0.1:1"]);
    let copy = listener.try_clone().unwrap().into();
    Server::spawn(workdir, key.to_owned(), passing(&plain, vec![copy], ""))
}

/// Sends a request, whose answer a later server may write.
fn ask(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

fn assert_answered(mut stream: TcpStream) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
}

/// A supervisor that receives the state of a server.
struct Supervisor {
    socket: UnixDatagram,
    /// All that it received.
    heard: Vec<String>,
}

impl Supervisor {
    fn of(command: &mut Command, workdir: &Workdir, watchdog: Duration) -> Self {
        let path = workdir.path("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        command.env("NOTIFY_SOCKET", path);
        command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        Self { socket, heard: Vec::new() }
    }

    /// Waits for a message that has this line, and returns it whole.
    fn hear(&mut self, line: &str) -> String {
        loop {
            let mut message = [0; 4096];
            let bytes = self.socket.recv(&mut message).unwrap_or_else(|error| {
                panic!("{line} did not arrive ({error}): {:?}", self.heard);
            });
            let message = String::from_utf8_lossy(&message[..bytes]).into_owned();
            self.heard.push(message.clone());
            if message.lines().any(|found| found.starts_with(line)) {
                return message;
            }
        }
    }
}

#[test]
fn a_supervisor_is_notified_that_the_server_is_ready_lives_and_stops() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let plain = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = passing(&plain, Vec::new(), "");
    let mut supervisor = Supervisor::of(&mut command, &workdir, Duration::from_millis(400));
    let server = Server::spawn(&workdir, key, command);
    let ready = supervisor.hear("READY=1");
    assert!(ready.contains(&format!("STATUS=serving on {}\n", server.url)), "{ready}");
    let begun = Instant::now();
    for _ in 0..4 {
        supervisor.hear("WATCHDOG=1");
    }
    let pinged = begun.elapsed();
    assert!(pinged >= Duration::from_millis(500), "four pings within {pinged:?}");
    assert_eq!(server.small_call().status.code(), Some(0));
    let (status, _) = server.terminate();
    assert_eq!(status.code(), Some(0));
    supervisor.hear("STOPPING=1");
    let all = supervisor.heard.concat();
    assert_eq!(all.matches("READY=1").count(), 1, "{all}");
}

#[test]
fn while_the_database_is_away_the_start_may_take_longer_and_is_alive() {
    let workdir = Workdir::new();
    let nobody = bound("127.0.0.1:0").1;
    let store = format!("postgres://caseload@{nobody}/desk");
    let plain = workdir.caseload(&["serve", "--store", &store, "--store-wait", "3"]);
    let mut command = passing(&plain, Vec::new(), "");
    let mut supervisor = Supervisor::of(&mut command, &workdir, Duration::from_millis(400));
    let mut child = command.spawn().unwrap();
    let waiting = supervisor.hear("EXTEND_TIMEOUT_USEC=");
    assert!(waiting.contains(&format!("STATUS=waiting for {store}: ")), "{waiting}");
    let micros: u64 = waiting.trim().rsplit_once('=').unwrap().1.parse().unwrap();
    assert!((30_000_000..=33_000_000).contains(&micros), "{waiting}");
    for _ in 0..4 {
        supervisor.hear("WATCHDOG=1");
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(!supervisor.heard.concat().contains("READY"), "{:?}", supervisor.heard);
}

#[test]
fn requests_to_a_passed_socket_wait_for_the_next_server() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let (listener, address) = bound("127.0.0.1:0");
    let start = || start_on(&listener, &workdir, &key);
    let early = ask(address);
    let mut server = start();
    assert_eq!(server.url, format!("http://{address}"));
    let log = server.log();
    assert!(log.contains("the supervisor passed a socket, which comes before --listen"), "{log}");
    assert_answered(early);
    for _ in 0..2 {
        assert_eq!(server.terminate().0.code(), Some(0));
        let between = [ask(address), ask(address)];
        server = start();
        between.into_iter().for_each(assert_answered);
    }
}

#[test]
fn no_request_to_a_passed_socket_is_lost_while_servers_follow_one_another() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let (listener, address) = bound("127.0.0.1:0");
    let start = || start_on(&listener, &workdir, &key);
    let is_over = AtomicBool::new(false);
    let asked = thread::scope(|scope| {
        let ask_on = || {
            let mut asked = 0;
            while !is_over.load(Ordering::Relaxed) {
                assert_answered(ask(address));
                asked += 1;
            }
            asked
        };
        let callers = [scope.spawn(ask_on), scope.spawn(ask_on), scope.spawn(ask_on)];
        let mut server = start();
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(300));
            assert_eq!(server.terminate().0.code(), Some(0));
            server = start();
        }
        is_over.store(true, Ordering::Relaxed);
        callers.map(|caller| caller.join().unwrap()).iter().sum::<usize>()
    });
    assert!(asked > 50, "{asked}");
}

#[test]
fn a_passed_socket_serves_tls_and_one_named_admin_serves_operators() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    write_files(&workdir);
    let ((callers, at), (operators, admin)) = (bound("127.0.0.1:0"), bound("0.0.0.0:0"));
    let plain = workdir.caseload(&["serve", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let sockets = vec![operators.into(), callers.into()];
    let server = Server::spawn(&workdir, key, passing(&plain, sockets, "admin:caseload.socket"));
    assert_eq!(server.url, format!("https://{at}"));
    server.good(&["issues", "list", "--tls-ca", "ca.pem"]);
    assert_answered(ask(SocketAddr::from(([127, 0, 0, 1], admin.port()))));
}

#[test]
fn an_unsuitable_passed_socket_ends_the_start() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let tcp = |address| OwnedFd::from(bound(address).0);
    let unix = || UnixListener::bind(workdir.path("unix.sock")).unwrap().into();
    let (listener, address) = bound("127.0.0.1:0");
    let stream = TcpStream::connect(address).unwrap();
    drop(listener);
    for (sockets, names, reason) in [
        (vec![unix()], "", "serves no unix socket"),
        (vec![UdpSocket::bind("127.0.0.1:0").unwrap().into()], "", "over TCP"),
        (vec![stream.into()], "caller", "\"caller\" that the supervisor passed does not accept"),
        (vec![tcp("127.0.0.1:0"), tcp("127.0.0.1:0")], "a:b", "two sockets for callers: \"b\""),
        (vec![tcp("127.0.0.1:0"), tcp("127.0.0.1:0")], "admin:admin", "two sockets for operators"),
        (vec![tcp("0.0.0.0:0")], "", "other machines can reach 0.0.0.0:"),
    ] {
        let plain = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
        let output = passing(&plain, sockets, names).output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{names} {reason}: {said}");
        assert!(said.contains(reason), "{reason}: {said}");
    }
}

#[test]
fn sockets_for_another_process_are_left_alone() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let (listener, address) = bound("127.0.0.1:0");
    let plain = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = passing(&plain, vec![listener.into()], "");
    command.env("OTHER_PID", "1");
    let server = Server::spawn(&workdir, key, command);
    assert_ne!(server.url, format!("http://{address}"));
}
