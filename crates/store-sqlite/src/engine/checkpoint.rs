//! The checkpoint thread. It moves the write-ahead log (WAL) into the database on a connection of
//! its own, so that no commit pays for it. A short log is moved when writes pause. A log beyond its
//! limit is restarted: this thread moves nearly all of it while the writer continues, and the
//! writer moves the rest between two groups, because another thread cannot win that gap from a busy
//! writer. While a long read pins the log, the restart is tried again every second.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::connection::{self, PAGE_BYTES};
use super::gauges::Gauges;
use super::lock::database_file;
use super::thread::WorkerThread;
use crate::Fault;
use caseload_store::{OpenMode, StoreError};

/// A longer log is moved while the writer continues. It holds a few tasks of 10,000 entries, so
/// that pages that one task wrote are not moved while the next task still reads them.
const LOG_PAGES_WANTED: u32 = (64 << 20) / PAGE_BYTES;
/// A longer log is restarted.
const LOG_PAGES_MAX: u32 = (160 << 20) / PAGE_BYTES;
/// By how many pages the log has to grow before the next attempt while reads pin it.
const LOG_PAGES_STEP: u32 = (16 << 20) / PAGE_BYTES;
/// A writer without commits for this long is idle. Also the time between attempts to restart a
/// pinned log.
const PAUSE: Duration = Duration::from_secs(1);
/// How often one attempt retries a busy lock, and the time between. Writers wait during it.
const BUSY_RETRIES: i32 = 75;
const BUSY_PAUSE: Duration = Duration::from_micros(200);

/// How long emptying the log waits for reads and writes that began before; new writes wait for it.
const EMPTY_WAIT: Duration = Duration::from_millis(100);

/// The most pages that the writer has to move itself, and how many rounds of moving new pages this
/// thread makes to get there.
const LAST_PAGES: u32 = (8 << 20) / PAGE_BYTES;
const ROUNDS_MAX: u32 = 4;

const _: () = assert!(LOG_PAGES_WANTED < LOG_PAGES_MAX);

/// How the writer notifies the checkpoint thread.
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
        self.notify(|state| state.committed = true);
    }

    fn notify(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_one();
    }

    /// Waits up to [`PAUSE`] for a commit and returns whether there was one. `None` if the thread
    /// has to stop.
    fn wait(&self) -> Option<bool> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |s| !s.committed && !s.stop, PAUSE);
        if state.stop { None } else { Some(std::mem::take(&mut state.committed)) }
    }
}

#[derive(Debug)]
pub(super) struct Checkpointer {
    signal: Arc<Signal>,
    thread: WorkerThread,
}

impl Checkpointer {
    pub(super) fn start(path: &Path, mode: OpenMode, gauges: Arc<Gauges>) -> Result<Self, Fault> {
        let signal = Arc::new(Signal::default());
        let (seen, path) = (signal.clone(), path.to_owned());
        let (file, _) = database_file(&path)?;
        let thread = WorkerThread::start("store-checkpoint", move || match open(mode, &path) {
            Ok(conn) => run(&conn, &file, &gauges, &seen),
            Err(e) => tracing::error!(error = %e, "no checkpoints: the log will grow"),
        })?;
        Ok(Self { signal, thread })
    }

    pub(super) fn signal(&self) -> Arc<Signal> {
        self.signal.clone()
    }

    pub(super) fn stop(&self) {
        self.signal.notify(|state| state.stop = true);
        self.thread.join();
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.signal.notify(|state| state.stop = true);
    }
}

fn open(mode: OpenMode, path: &Path) -> Result<Connection, Fault> {
    let mut conn = connection::open_in(mode, path)?;
    conn.busy_handler(Some(retry_briefly))?;
    Ok(conn)
}

fn retry_briefly(retries: i32) -> bool {
    std::thread::sleep(BUSY_PAUSE);
    retries < BUSY_RETRIES
}

fn run(conn: &Connection, file: &File, gauges: &Gauges, signal: &Signal) {
    // Pages that the last checkpoint could not move, and the time of the last attempt at a restart.
    let mut left = 0;
    let mut last_attempt: Option<Instant> = None;
    let mut clean = false;
    while let Some(committed) = signal.wait() {
        let pages = gauges.wal_pages.load(Ordering::Relaxed);
        left = left.min(pages);
        last_attempt = last_attempt.filter(|_| pages > LOG_PAGES_MAX);
        clean &= !committed;
        let may_restart = last_attempt.is_none_or(|at| at.elapsed() >= PAUSE);
        let done = if !committed && !clean {
            // The writer is idle, so that truncating a long log file disturbs no commit.
            let kind = if pages > LOG_PAGES_WANTED { "TRUNCATE" } else { "PASSIVE" };
            checkpoint(conn, kind)
        } else if gauges.restart_now.load(Ordering::Relaxed) {
            // The writer is about to restart the log; only one connection can checkpoint at a time.
            continue;
        } else if committed && pages > LOG_PAGES_MAX && may_restart {
            last_attempt = Some(Instant::now());
            prepare_restart(conn, file, gauges)
        } else if committed && pages > LOG_PAGES_WANTED && pages - left > LOG_PAGES_STEP {
            move_and_sync(conn, file)
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

/// Moves nearly all of the log while the writer continues, and then asks the writer to restart it.
fn prepare_restart(conn: &Connection, file: &File, gauges: &Gauges) -> Result<bool, Fault> {
    move_and_sync(conn, file)?;
    // From here on groups are short, so that few pages remain to be moved.
    gauges.restart_soon.store(true, Ordering::Relaxed);
    for _ in 0..ROUNDS_MAX {
        let before = gauges.wal_pages.load(Ordering::Relaxed);
        move_and_sync(conn, file)?;
        let after = gauges.wal_pages.load(Ordering::Relaxed);
        if after.saturating_sub(before) <= LAST_PAGES {
            break;
        }
    }
    gauges.restart_now.store(true, Ordering::Relaxed);
    Ok(false)
}

/// Restarts the log if the checkpoint thread asked for it, on the writer's own connection and
/// between two groups. The log file is reused at its full length, because commits that extend or
/// truncate a file take longer.
pub(super) fn restart_log(conn: &mut Connection, gauges: &Gauges) -> Result<(), Fault> {
    if !gauges.restart_now.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    gauges.restart_soon.store(false, Ordering::Relaxed);
    conn.busy_handler(Some(retry_briefly))?;
    let begun = checkpoint(conn, "RESTART");
    conn.busy_handler(Some(connection::wait_for_others))?;
    begun.map(|_| ())
}

/// Moves the pages that it can while the writer continues, and syncs them. SQLite itself would sync
/// only after it has moved the whole log, and writers would wait for that sync.
fn move_and_sync(conn: &Connection, file: &File) -> Result<bool, Fault> {
    let whole = checkpoint(conn, "PASSIVE")?;
    file.sync_data().map_err(|e| StoreError::NotWritten(format!("the database: {e}")))?;
    Ok(whole)
}

/// Runs one checkpoint. Returns whether the whole log is in the database now.
fn checkpoint(conn: &Connection, kind: &str) -> Result<bool, Fault> {
    let (busy, log, moved): (i64, i64, i64) =
        conn.query_row(&format!("PRAGMA wal_checkpoint({kind})"), [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    Ok(busy == 0 && log == moved)
}

/// Moves the whole log into the database and truncates it. Returns false if others read or write
/// so long that it gives up; then it may be called again.
pub(crate) fn empty_log(conn: &Connection) -> Result<bool, Fault> {
    // Most of it first, while writers continue.
    checkpoint(conn, "PASSIVE")?;
    conn.busy_timeout(EMPTY_WAIT)?;
    let emptied = checkpoint(conn, "TRUNCATE");
    conn.busy_timeout(connection::BUSY_TIMEOUT)?;
    emptied
}

/// Moves the whole log into the database and truncates it. Gives up if readers or writers block it
/// for longer than `wait`.
pub(super) fn truncate(conn: &Connection, wait: Duration) -> Result<(), Fault> {
    conn.busy_timeout(wait)?;
    checkpoint(conn, "TRUNCATE").map(|_| ())
}
