//! A proxy between a store and its database that can cut the connection before or after the nth
//! statement. The store notices the cut only after the session has ended in the database, with its
//! locks, so that a test never meets a session that is about to end. It can also fall silent: both
//! ends stay connected, and no bytes get through. It records the statements that were sent. Of the
//! protocol it knows only the framing of messages, which messages execute a statement, and which
//! contain its text.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Messages that execute a statement: execute, simple query, the end of a copy.
const STATEMENTS: &[u8] = b"EQc";
/// The message with a piece of a copy.
const COPY_DATA: u8 = b'd';

/// Whether the wire is cut before or after a statement is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Before,
    After,
}

/// When to cut the wire: the number of statements until then, and the side. Without a plan the wire
/// is not cut.
#[derive(Debug)]
struct Plan {
    left: AtomicI64,
    after: AtomicI64,
    /// Whether the wire stays cut, for all connections.
    stays_cut: AtomicBool,
    silent: AtomicBool,
    /// Fall silent at the next bytes of a copy.
    silent_in_copy: AtomicBool,
    /// Open connections of the store.
    open: AtomicUsize,
    /// The texts of statements that were sent.
    texts: Mutex<BTreeSet<String>>,
}

/// A wire that can be cut. Connections that are opened after a cut work.
pub(crate) struct Cutter {
    url: String,
    plan: Arc<Plan>,
    task: JoinHandle<()>,
}

impl Cutter {
    /// In front of the database at `url`.
    pub(crate) async fn new(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut through = url::Url::parse(url).unwrap();
        through.set_host(Some("127.0.0.1")).unwrap();
        through.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        // The proxy cannot read encrypted messages.
        through.set_query(Some("sslmode=disable"));
        let target: Config = url.parse().unwrap();
        let plan = Arc::new(Plan {
            left: AtomicI64::new(i64::MAX),
            after: AtomicI64::new(0),
            stays_cut: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            silent_in_copy: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            texts: Mutex::default(),
        });
        let planned = Arc::clone(&plan);
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                client.set_nodelay(true).unwrap();
                let (target, plan) = (target.clone(), Arc::clone(&planned));
                tokio::spawn(async move {
                    plan.open.fetch_add(1, Ordering::SeqCst);
                    join(client, &target, &plan).await;
                    plan.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { url: through.into(), plan, task }
    }

    /// The address of the database through this wire.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Cuts the wire at the `nth` statement from now, counted from 1.
    pub(crate) fn plan(&self, nth: i64, cut: Cut) {
        self.plan.after.store(i64::from(cut == Cut::After), Ordering::SeqCst);
        self.plan.left.store(nth, Ordering::SeqCst);
    }

    /// Cuts the wire at the `nth` statement from now and leaves it cut until [`Self::was_cut`] is
    /// asked.
    pub(crate) fn plan_outage(&self, nth: i64) {
        self.plan.stays_cut.store(true, Ordering::SeqCst);
        self.plan(nth, Cut::Before);
    }

    /// Statements until the planned cut.
    pub(crate) fn left(&self) -> i64 {
        self.plan.left.load(Ordering::SeqCst)
    }

    /// From now on no bytes get through, and neither side notices.
    pub(crate) fn fall_silent(&self) {
        self.plan.silent.store(true, Ordering::SeqCst);
    }

    /// Falls silent as soon as a copy is open and its first bytes are sent.
    pub(crate) fn fall_silent_in_a_copy(&self) {
        self.plan.silent_in_copy.store(true, Ordering::SeqCst);
    }

    /// How many connections the store has, including those that are still opening.
    pub(crate) fn open(&self) -> usize {
        self.plan.open.load(Ordering::SeqCst)
    }

    /// Every statement so far, with one blank between its words.
    pub(crate) fn texts(&self) -> BTreeSet<String> {
        self.plan.texts.lock().unwrap().clone()
    }

    /// Cancels the plan. Returns whether the wire was cut.
    pub(crate) fn was_cut(&self) -> bool {
        self.plan.stays_cut.store(false, Ordering::SeqCst);
        self.plan.left.swap(i64::MAX, Ordering::SeqCst) <= 0
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn join(client: TcpStream, target: &Config, plan: &Plan) {
    let ports = target.get_ports();
    for (n, host) in target.get_hosts().iter().enumerate() {
        let port = ports.get(n).or(ports.last()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(host) => {
                let Ok(server) = TcpStream::connect((host.as_str(), port)).await else { continue };
                server.set_nodelay(true).unwrap();
                return carry(client, server, plan).await;
            }
            Host::Unix(folder) => {
                let socket = folder.join(format!(".s.PGSQL.{port}"));
                let Ok(server) = UnixStream::connect(socket).await else { continue };
                return carry(client, server, plan).await;
            }
        }
    }
}

/// Carries messages both ways until one side ends or the wire is cut.
async fn carry<S>(client: TcpStream, server: S, plan: &Plan)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    tokio::select! {
        _ = answers(&mut from_server, &mut to_client, plan) => return,
        ended = to_the_cut(&mut from_client, &mut to_server, plan) => {
            if !matches!(ended, Ok(true)) {
                return;
            }
        }
    }
    // The database executes the messages that it has. Then it reads the end of the connection, ends
    // the session, and closes its side.
    if to_server.shutdown().await.is_ok() {
        // The answers are dropped. A session may also end with a fault.
        let _ = tokio::io::copy(&mut from_server, &mut tokio::io::sink()).await;
    }
}

/// Forwards answers. Answers that arrive during silence are lost, and the connection stays silent.
async fn answers(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    plan: &Plan,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut lost = false;
    loop {
        let length = from.read(&mut buffer).await?;
        lost |= plan.silent.load(Ordering::SeqCst);
        match length {
            // The store must not notice the end of the connection either.
            0 if lost => std::future::pending().await,
            0 => return Ok(()),
            length if !lost => to.write_all(&buffer[..length]).await?,
            _ => {}
        }
    }
}

/// Forwards messages until the planned cut. Returns whether it is reached.
async fn to_the_cut(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    plan: &Plan,
) -> std::io::Result<bool> {
    // The first message of a connection has no kind.
    let length = from.read_u32().await?;
    let mut lost = plan.silent.load(Ordering::SeqCst);
    pass(from, (!lost).then_some(&mut *to), None, length, plan).await?;
    let mut cut_after = false;
    loop {
        let kind = from.read_u8().await?;
        let length = from.read_u32().await?;
        let left = match kind {
            kind if STATEMENTS.contains(&kind) => plan.left.fetch_sub(1, Ordering::SeqCst),
            _ => i64::MAX,
        };
        let reached = left == 1 || (left < 1 && plan.stays_cut.load(Ordering::SeqCst));
        if reached && plan.after.load(Ordering::SeqCst) == 0 {
            return Ok(true);
        }
        cut_after |= reached;
        if kind == COPY_DATA && plan.silent_in_copy.swap(false, Ordering::SeqCst) {
            plan.silent.store(true, Ordering::SeqCst);
        }
        lost |= plan.silent.load(Ordering::SeqCst);
        pass(from, (!lost).then_some(&mut *to), Some(kind), length, plan).await?;
        // The database executes a statement of several messages at the latest at the sync message.
        if cut_after && (kind == b'Q' || kind == b'S') {
            return Ok(true);
        }
    }
}

async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: Option<&mut (impl AsyncWrite + Unpin)>,
    kind: Option<u8>,
    length: u32,
    plan: &Plan,
) -> std::io::Result<()> {
    let mut message: Vec<u8> = kind.into_iter().collect();
    message.extend(length.to_be_bytes());
    let body = message.len();
    message.resize(body + length as usize - 4, 0);
    from.read_exact(&mut message[body..]).await?;
    // A prepared statement has its name before its text.
    let mut words = message[body..].split(|byte| *byte == 0);
    let text = match kind {
        Some(b'P') => words.nth(1),
        Some(b'Q') => words.next(),
        _ => None,
    };
    if let Some(text) = text {
        let text = String::from_utf8_lossy(text);
        let text: Vec<_> = text.split_whitespace().collect();
        plan.texts.lock().unwrap().insert(text.join(" "));
    }
    match to {
        Some(to) => to.write_all(&message).await,
        None => Ok(()),
    }
}
