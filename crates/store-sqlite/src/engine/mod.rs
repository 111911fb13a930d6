//! The connections to a SQLite file: one writer thread that commits in groups, a pool of readers, a
//! checkpoint thread, and a lock file that admits one server. This module does not know the tables.
//! Invariant: a write that returned `Ok` is durable, and no call blocks async code.

mod checkpoint;
mod command;
mod connection;
pub(crate) mod error;
mod gauges;
mod lock;
mod migrate;
mod presence;
mod queue;
mod readers;
mod thread;
mod work_limit;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_model::ids::DomainId;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::Fault;
use crate::leftovers::rewrite;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::{DurationCounts, OpenMode, StoreError};
use checkpoint::Checkpointer;
pub(super) use checkpoint::empty_log;
pub(super) use command::{LastMember, Member, Weight, WriteContext};
pub(super) use connection::open_reader;
use gauges::Gauges;
pub(super) use lock::{FILE_MODE, Locks};
pub(super) use migrate::open_in_memory;
pub use presence::look;
pub(super) use readers::{FurtherReaders, READ_BUDGET, Readers};
pub(super) use thread::on_blocking_thread;
pub(super) use work_limit::WorkLimit;
use writer::Writer;

/// The pause between two attempts to empty the log.
const EMPTY_LOG_PAUSE: Duration = Duration::from_millis(200);

/// An opened database file.
#[derive(Debug)]
pub(super) struct Engine {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    checkpointer: Checkpointer,
    gauges: Arc<Gauges>,
    mode: OpenMode,
    locks: Locks,
}

impl Engine {
    /// Opens the file and migrates its tables. If the mode makes stores, creates a missing file
    /// with its folders. In server mode, a second server is refused. `prepare` runs first, on the
    /// connection that writes, and commits by itself. `last_member` makes the final command of each
    /// group in which tasks may have become runnable.
    pub(super) fn open(
        path: &Path,
        mode: OpenMode,
        prepare: impl FnOnce(&Connection) -> Result<(), Fault>,
        last_member: Option<LastMember>,
    ) -> Result<Self, Fault> {
        let (path, locks, first) = open_first(path, mode, mode.makes_store())?;
        let path = path.as_path();
        if mode.is_server() {
            presence::report_lax_modes(path);
        }
        prepare(&first)?;
        if mode == OpenMode::Server {
            // After a crash it may have a person who was erased.
            empty_log(&first)?;
        }
        let gauges = Arc::new(Gauges::default());
        let checkpointer = Checkpointer::start(path, mode, gauges.clone())?;
        let signal = checkpointer.signal();
        let writer = Writer::start(path, first, gauges.clone(), signal, last_member)?;
        Ok(Self {
            path: path.to_owned(),
            writer,
            readers: Readers::new(path, gauges.clone()),
            checkpointer,
            gauges,
            mode,
            locks,
        })
    }

    /// Opens the file with a single connection, and creates it if it is missing and `may_create`.
    /// It fails while a server has the file, and no server can open the file until the lock is
    /// released.
    pub(super) fn open_alone(path: &Path, may_create: bool) -> Result<(Connection, Locks), Fault> {
        let (_, locks, conn) = open_first(path, OpenMode::Server, may_create)?;
        Ok((conn, locks))
    }

    /// Closes the handle of a file that this process will not open again.
    pub(super) fn forget(path: &Path) {
        lock::forget(path);
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails with [`StoreError::ServerRunning`] if a server has the file open.
    pub(super) fn refuse_if_served(path: &Path) -> Result<(), Fault> {
        lock::lock_for_server(&presence::resolved(path)).map(drop)
    }

    /// Runs a command on the writer thread, in a savepoint of its own. Returns once its group is
    /// committed and durable. An error rolls back this command alone.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &WriteContext<'_>) -> Result<T, Fault> + Send + 'static,
    {
        self.write_in(NO_DOMAIN, Weight::Small, work).await
    }

    /// [`Engine::write`] for a command of any weight. Its domain takes turns with the others.
    pub(super) async fn write_in<T, F>(
        &self,
        domain: DomainId,
        weight: Weight,
        work: F,
    ) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &WriteContext<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let answer = self.writer.submit(domain, weight, work).await;
        self.gauges.note_damage(&answer);
        answer
    }

    /// Fails with the first damage that a read or a write found, if one did.
    pub(super) fn require_undamaged(&self) -> Result<(), Fault> {
        match self.gauges.damage.lock().clone() {
            Some(damage) => Err(StoreError::Corrupt(damage).into()),
            None => Ok(()),
        }
    }

    /// Whether the writer is idle.
    pub(super) fn is_idle(&self) -> bool {
        !self.gauges.at_work.load(Ordering::Relaxed) && !self.gauges.has_waiters()
    }

    /// Runs a read in one transaction, within [`READ_BUDGET`].
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        self.readers.read(NO_DOMAIN, Some(READ_BUDGET), false, |conn, _| work(conn)).await
    }

    /// The pool of readers.
    pub(super) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Moves the whole log into the database and truncates it, so that no page of the log is left.
    /// Waits for reads that began before.
    pub(super) async fn empty_log(&self) -> Result<(), Fault> {
        for attempt in 0.. {
            let path = self.path.clone();
            let empty = move || connection::open(&path).and_then(|conn| empty_log(&conn));
            if on_blocking_thread(empty).await? {
                break;
            }
            if attempt == 0 {
                tracing::info!("waiting for reads to end, so that the log can be emptied");
            }
            tokio::time::sleep(EMPTY_LOG_PAUSE).await;
        }
        Ok(())
    }

    /// Rewrites the whole file, on a connection of its own; other writes wait.
    pub(super) async fn rewrite(&self) -> Result<(), Fault> {
        let path = self.path.clone();
        on_blocking_thread(move || rewrite(&connection::open(&path)?)).await
    }

    /// Groups committed since the store was opened.
    pub(super) fn commits(&self) -> u64 {
        *self.gauges.commits.borrow()
    }

    /// The same, to wait for the next one.
    pub(super) fn commits_watch(&self) -> watch::Receiver<u64> {
        self.gauges.commits.subscribe()
    }

    /// The durations of small commands.
    pub(super) fn writes(&self) -> DurationCounts {
        self.gauges.writes.lock().clone()
    }

    /// The time since the last failed commit or checkpoint.
    pub(super) fn last_fault(&self) -> Option<Duration> {
        self.gauges.fault_at.lock().map(|at| at.elapsed())
    }

    /// Bytes of the database file and of its log; 0 for a missing file.
    pub(super) fn file_bytes(&self) -> (u64, u64) {
        presence::file_bytes(&self.path)
    }

    /// Bytes that the file may still take on its disk.
    pub(super) fn disk_free_bytes(&self) -> Option<u64> {
        presence::disk_free_bytes(&self.path)
    }

    /// Whether a server has the file open: this process or another one.
    pub(super) fn is_served(&self) -> Result<bool, Fault> {
        Ok(self.mode.is_server() || lock::is_served(&self.path)?)
    }

    /// Runs the queued commands, moves the log into the database and closes the files. Blocks.
    pub(super) fn close(&self) -> Result<(), Fault> {
        self.readers.close();
        let closed = self.writer.close();
        self.checkpointer.stop();
        // An admin command leaves the log alone: a running server would have to wait.
        if closed && self.mode.is_server() {
            connection::open_in(self.mode, &self.path)
                .and_then(|conn| checkpoint::truncate(&conn, Duration::from_secs(1)))?;
        }
        self.locks.release();
        if self.mode == OpenMode::Ephemeral {
            lock::forget(&self.path);
        }
        Ok(())
    }
}

/// Locks the file, opens its first connection and migrates the tables; the file, without symbolic
/// links. Makes the file if it is missing and `may_create`.
fn open_first(
    path: &Path,
    mode: OpenMode,
    may_create: bool,
) -> Result<(PathBuf, Locks, Connection), Fault> {
    lock::refuse_second_name(&presence::resolved(path))?;
    if may_create {
        presence::make_folders(path)?;
        presence::refuse_foreign(path)?;
    } else {
        presence::require(path)?;
    }
    let given = path;
    let path = presence::resolved(given);
    let server = mode.is_server().then(|| lock::lock_for_server(&path)).transpose();
    let server = server.map_err(|fault| named_as(given, fault))?;
    if may_create {
        presence::refuse_foreign_tables(&path)?;
    }
    // The lock file of migrations comes first: it shows that an empty file is ours.
    let turn = lock::lock_for_migration(&path)?;
    if may_create {
        presence::make_file(&path)?;
    }
    let locks = Locks::new(lock::PlaceLock::take(&path, &turn)?, server);
    let first = migrate::open_current(&path, mode)?;
    drop(turn);
    Ok((path, locks, first))
}

/// Names the file of a running server as the operator does.
fn named_as(path: &Path, fault: Fault) -> Fault {
    match fault.0 {
        StoreError::ServerRunning { .. } => {
            StoreError::ServerRunning { path: path.to_owned() }.into()
        }
        other => other.into(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
