//! Moving the write-ahead log into the database, on a thread and a connection of its own, so that
//! no commit pays for it. Small logs are left alone while writes come, and moved when they stop. A
//! log beyond its bound begins anew: nearly all of it is moved beside the writer, which moves the
//! rest itself between two groups, because it leaves nobody else the time for it. While a long read
//! pins the log that is tried again every second.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Gauges;
use super::connection::{self, PAGE_BYTES};
use crate::Fault;
use caseload_store::StoreError;

/// Pages of the log from which on it is moved beside the writer: a few tasks of 10,000, so that
/// what one of them wrote is not moved while the next reads it.
const LOG_PAGES_WANTED: u32 = (64 << 20) / PAGE_BYTES;
/// Pages beyond which the log is to begin anew.
const LOG_PAGES_MAX: u32 = (160 << 20) / PAGE_BYTES;
/// Pages that make another try worthwhile while reads pin the log.
const LOG_PAGES_STEP: u32 = (16 << 20) / PAGE_BYTES;
/// A pause of the writer's that counts as idle, and the time between tries to cut a pinned log.
const PAUSE: Duration = Duration::from_secs(1);
/// How often one try looks whether it may go on, and the time between: writers wait meanwhile.
const CUT_LOOKS: i32 = 75;
const CUT_LOOK_PAUSE: Duration = Duration::from_micros(200);

/// Pages of the log that the writer may have to move, and how often what came meanwhile is moved
/// beside it to get there.
const LAST_PAGES: u32 = (8 << 20) / PAGE_BYTES;
const BESIDE_MAX: u32 = 4;

const _: () = assert!(LOG_PAGES_WANTED < LOG_PAGES_MAX);

/// What the writer tells the checkpointer.
#[derive(Debug, Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    committed: bool,
    stop: bool,
}

impl Signal {
    pub(super) fn committed(&self) {
        self.tell(|state| state.committed = true);
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    /// Waits for a commit, at most `PAUSE`. `None` when it is time to stop.
    fn wait(&self) -> Option<bool> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, PAUSE, |s| !s.committed && !s.stop)
            .unwrap_or_else(PoisonError::into_inner);
        if state.stop { None } else { Some(std::mem::take(&mut state.committed)) }
    }
}

#[derive(Debug)]
pub(super) struct Checkpointer {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpointer {
    pub(super) fn start(path: &Path, gauges: Arc<Gauges>) -> Result<Self, Fault> {
        let signal = Arc::new(Signal::default());
        let (seen, path) = (signal.clone(), path.to_owned());
        let file = database_file(&path)?;
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || match open(&path) {
                Ok(conn) => run(&conn, &file, &gauges, &seen),
                Err(e) => tracing::error!(error = %e, "no checkpoints: the log will grow"),
            })
            .map_err(|e| StoreError::Unavailable(format!("no thread for checkpoints: {e}")))?;
        Ok(Self { signal, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn signal(&self) -> Arc<Signal> {
        self.signal.clone()
    }

    pub(super) fn stop(&self) {
        self.signal.tell(|state| state.stop = true);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread had panicked");
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.signal.tell(|state| state.stop = true);
    }
}

fn open(path: &Path) -> Result<Connection, Fault> {
    let mut conn = connection::open(path)?;
    conn.busy_handler(Some(look_again))?;
    Ok(conn)
}

fn look_again(looks: i32) -> bool {
    std::thread::sleep(CUT_LOOK_PAUSE);
    looks < CUT_LOOKS
}

/// The database file, to be made durable beside SQLite. It stays open as long as the process runs:
/// closing it would end the locks that SQLite has on the same file.
fn database_file(path: &Path) -> Result<Arc<File>, Fault> {
    static OPENED: Mutex<BTreeMap<(u64, u64), Arc<File>>> = Mutex::new(BTreeMap::new());
    let cannot = |e| StoreError::Unavailable(format!("{} cannot be opened: {e}", path.display()));
    let file = std::fs::metadata(path).map_err(cannot)?;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    match opened.entry((file.dev(), file.ino())) {
        Entry::Occupied(file) => Ok(file.get().clone()),
        Entry::Vacant(place) => {
            Ok(place.insert(Arc::new(File::open(path).map_err(cannot)?)).clone())
        }
    }
}

fn run(conn: &Connection, file: &File, gauges: &Gauges, signal: &Signal) {
    // Pages that the last checkpoint left behind, and when a cut was last tried, until it is made.
    let mut left = 0;
    let mut last_cut: Option<Instant> = None;
    let mut clean = false;
    while let Some(committed) = signal.wait() {
        let pages = gauges.wal_pages.load(Ordering::Relaxed);
        left = left.min(pages);
        last_cut = last_cut.filter(|_| pages > LOG_PAGES_MAX);
        clean &= !committed;
        let may_cut = last_cut.is_none_or(|at| at.elapsed() >= PAUSE);
        let done = if !committed && !clean {
            // Idle: with no writer to disturb, a long log file is cut too.
            let kind = if pages > LOG_PAGES_WANTED { "TRUNCATE" } else { "PASSIVE" };
            checkpoint(conn, kind)
        } else if gauges.cut_now.load(Ordering::Relaxed) {
            // The writer is about to: two cannot move the log at once.
            continue;
        } else if committed && pages > LOG_PAGES_MAX && may_cut {
            last_cut = Some(Instant::now());
            prepare_cut(conn, file, gauges)
        } else if committed && pages > LOG_PAGES_WANTED && pages - left > LOG_PAGES_STEP {
            beside(conn, file)
        } else {
            continue;
        };
        match done {
            Ok(whole) => {
                left = pages;
                clean = whole && !committed;
            }
            Err(e) => {
                gauges.note_fault();
                tracing::warn!(error = %e, "a checkpoint failed and will be tried again");
            }
        }
    }
}

/// Moves nearly all of the log beside the writer and has that begin it anew.
fn prepare_cut(conn: &Connection, file: &File, gauges: &Gauges) -> Result<bool, Fault> {
    beside(conn, file)?;
    // From here on groups are short, and so is what they leave to be moved.
    gauges.cut_soon.store(true, Ordering::Relaxed);
    for _ in 0..BESIDE_MAX {
        let before = gauges.wal_pages.load(Ordering::Relaxed);
        beside(conn, file)?;
        let after = gauges.wal_pages.load(Ordering::Relaxed);
        if after.saturating_sub(before) <= LAST_PAGES {
            break;
        }
    }
    gauges.cut_now.store(true, Ordering::Relaxed);
    Ok(false)
}

/// Where the checkpointer asks for it, begins the log anew in the file that there is, on the
/// writer's own connection and between two of its groups: commits that make a file longer take more
/// time, and so do those that cut it.
pub(super) fn begin_anew(conn: &mut Connection, gauges: &Gauges) -> Result<(), Fault> {
    if !gauges.cut_now.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    gauges.cut_soon.store(false, Ordering::Relaxed);
    conn.busy_handler(Some(look_again))?;
    let begun = checkpoint(conn, "RESTART");
    conn.busy_handler(Some(connection::wait_for_others))?;
    begun.map(|_| ())
}

/// Moves what it can beside the writer, and has it on the disk: SQLite itself waits with that until
/// it moved all of the log, and then has writers wait as well.
fn beside(conn: &Connection, file: &File) -> Result<bool, Fault> {
    let whole = checkpoint(conn, "PASSIVE")?;
    file.sync_data().map_err(|e| StoreError::NotWritten(format!("the database: {e}")))?;
    Ok(whole)
}

/// One checkpoint; whether the whole log is in the database now.
fn checkpoint(conn: &Connection, kind: &str) -> Result<bool, Fault> {
    let (busy, log, moved): (i64, i64, i64) =
        conn.query_row(&format!("PRAGMA wal_checkpoint({kind})"), [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    Ok(busy == 0 && log == moved)
}

/// Moves the whole log into the database if nobody keeps it from that for `wait`.
pub(super) fn truncate(conn: &Connection, wait: Duration) -> Result<(), Fault> {
    conn.busy_timeout(wait)?;
    checkpoint(conn, "TRUNCATE").map(|_| ())
}
