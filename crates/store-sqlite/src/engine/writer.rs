//! The writer thread (group commit). It owns the only connection that writes, takes all queued
//! commands, runs each in a savepoint, commits once and then answers all of them. A command that
//! fails or panics is rolled back alone; a commit that fails fails its whole group. A long command
//! ends early when a small one waits, and the small one joins its commit. Invariant: no command is
//! answered before its commit, and after a fault of the file the connection is reopened before its
//! next use.
//!
//! Reopening is sufficient even after a failed fsync, when the operating system may mark pages as
//! clean that never reached the disk. No committed state refers to the log frames of a failed
//! commit, and the next commit overwrites them, so that its own fsync covers every byte it needs.
//! Earlier answers rely on frames that an earlier fsync confirmed. A failed checkpoint changes
//! nothing and is repeated.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use rusqlite::{Connection, ErrorCode};

use super::checkpoint::{Signal, restart_log};
use super::command::{
    Command, GROUP_TIME, LastMember, Member, QueuedCommand, Weight, WriteContext,
};
use super::connection;
use super::gauges::Gauges;
use super::queue::Queue;
use super::thread::WorkerThread;
use crate::Fault;

/// The most commands in one group.
const GROUP_COMMANDS_MAX: usize = 256;
/// A group that takes longer is logged.
const SLOW: Duration = Duration::from_secs(1);
/// After so much time without a rest, the writer rests, so that a command of the program in another
/// process finds the file unlocked. It looks every [`connection::BUSY_PAUSE`].
const REST_EVERY: Duration = Duration::from_millis(500);
const REST: Duration = connection::BUSY_PAUSE.saturating_mul(3);

pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: WorkerThread,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread on an opened connection.
    pub(super) fn start(
        path: &Path,
        first: Connection,
        gauges: Arc<Gauges>,
        signal: Arc<Signal>,
        last_member: Option<LastMember>,
    ) -> Result<Self, Fault> {
        let queue = Arc::new(Queue::new(gauges.clone()));
        let mut worker = Worker { path: path.to_owned(), conn: None, gauges, signal, last_member };
        worker.adopt(first)?;
        let abandon = AbandonOnDrop(queue.clone());
        let thread = WorkerThread::start("store-writer", move || worker.run(&abandon.0))?;
        Ok(Self { queue, thread })
    }

    pub(super) async fn submit<T, F>(
        &self,
        domain: DomainId,
        weight: Weight,
        work: F,
    ) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &WriteContext<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (command, answer) = Command::new(work);
        self.queue.push(domain, Box::new(command), weight).await?;
        answer.await.unwrap_or(Err(StoreError::Closed.into()))
    }

    /// Runs the queued commands and ends the thread. Returns false if it has ended before.
    pub(super) fn close(&self) -> bool {
        self.queue.close();
        self.thread.join()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Fails the waiting callers when the thread ends, even if it panics.
struct AbandonOnDrop(Arc<Queue>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

struct Worker {
    path: PathBuf,
    conn: Option<Connection>,
    gauges: Arc<Gauges>,
    signal: Arc<Signal>,
    last_member: Option<LastMember>,
}

impl Worker {
    fn run(mut self, queue: &Queue) {
        let mut rested = Instant::now();
        loop {
            let idle_since = Instant::now();
            let Some(first) = queue.first() else { return };
            if idle_since.elapsed() >= REST {
                rested = Instant::now();
            }
            self.gauges.at_work.store(true, Ordering::Relaxed);
            let mut group = Vec::new();
            let done = self.run_group(first, &mut group, queue);
            if let Err(e) = done {
                self.gauges.note_fault();
                tracing::error!(error = %e, members = group.len(), "a group of writes failed");
                for queued in &mut group {
                    queued.member.fail(&format!("the write could not be committed: {e}"));
                }
            }
            for QueuedCommand { member, weight, since, .. } in group {
                if weight != Weight::Long {
                    self.gauges.note_write(since.elapsed());
                }
                member.answer();
            }
            self.gauges.at_work.store(false, Ordering::Relaxed);
            if rested.elapsed() >= REST_EVERY {
                std::thread::sleep(REST);
                rested = Instant::now();
            }
        }
    }

    /// Runs `first` and the commands queued after it as one transaction. Adds all of them to
    /// `group`, even if it fails.
    fn run_group(
        &mut self,
        first: QueuedCommand,
        group: &mut Vec<QueuedCommand>,
        queue: &Queue,
    ) -> Result<(), Fault> {
        group.push(first);
        if self.conn.is_none() {
            let conn = connection::open(&self.path)?;
            self.adopt(conn)?;
        }
        let Some(conn) = &mut self.conn else { return Err(StoreError::Closed.into()) };
        if let Err(error) = restart_log(conn, &self.gauges) {
            self.gauges.note_fault();
            tracing::warn!(%error, "the log could not restart; the next group tries again");
        }
        let began = Instant::now();
        let done = run_members(conn, &self.gauges, group, queue, self.last_member.as_ref());
        if began.elapsed() >= SLOW {
            let millis = began.elapsed().as_millis();
            tracing::info!(millis, members = group.len(), "a group of writes took long");
        }
        match done {
            Ok(()) => {
                self.gauges.commits.send_modify(|count| *count += 1);
                Ok(())
            }
            Err(e) => {
                // If another process only held the lock for too long, the connection is sound.
                // After any other fault its state is unknown.
                let busy = e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
                if !(busy && conn.is_autocommit()) {
                    self.conn = None;
                }
                Err(e.into())
            }
        }
    }

    /// Puts a connection into use and tracks the length of the log after each commit. The hook does
    /// not run for groups that only read, such as claims that find no work.
    fn adopt(&mut self, mut conn: Connection) -> Result<(), Fault> {
        let (gauges, signal) = (self.gauges.clone(), self.signal.clone());
        conn.wal_hook(Some(move |_: &mut _, pages: i32| {
            gauges.wal_pages.store(pages.unsigned_abs(), Ordering::Relaxed);
            signal.committed();
            Ok(())
        }))?;
        conn.busy_handler(Some(connection::wait_for_others))?;
        self.conn = Some(conn);
        Ok(())
    }
}

/// Runs the group in one transaction. On an error, none of its effects are stored.
fn run_members(
    conn: &Connection,
    gauges: &Gauges,
    group: &mut Vec<QueuedCommand>,
    queue: &Queue,
    last_member: Option<&LastMember>,
) -> Result<(), rusqlite::Error> {
    execute(conn, "BEGIN IMMEDIATE")?;
    let context = WriteContext::new(gauges);
    let began_with = group[0].weight;
    // The first command needs no savepoint: if it fails, the whole transaction is rolled back.
    // Savepoints have a cost, because SQLite copies every page that changes within one.
    if !group[0].member.run(conn, &context) {
        execute(conn, "ROLLBACK")?;
        execute(conn, "BEGIN IMMEDIATE")?;
    }
    while group.len() < GROUP_COMMANDS_MAX {
        let late = context.began.elapsed() >= GROUP_TIME;
        // A small command that a long one yielded to joins the group, however late it is.
        let Some(next) = queue.next(if late { Weight::Small } else { began_with }) else { break };
        let at = group.len();
        group.push(next);
        run_member(conn, group[at].member.as_mut(), &context)?;
        if context.began.elapsed() >= 2 * GROUP_TIME {
            break;
        }
    }
    if let Some((now, last_member)) = context.runnable_at.get().zip(last_member) {
        let (member, since) = (last_member(now), Instant::now());
        // It is answered first: a caller that gets its answer may look at the wake-up counter.
        group.insert(0, QueuedCommand { member, weight: Weight::Long, since, place: None });
        run_member(conn, group[0].member.as_mut(), &context)?;
    }
    execute(conn, "COMMIT")
}

fn run_member(
    conn: &Connection,
    member: &mut dyn Member,
    context: &WriteContext<'_>,
) -> Result<(), rusqlite::Error> {
    execute(conn, "SAVEPOINT member")?;
    let keep = member.run(conn, context);
    // A full disk or a failed write ends the whole transaction. Then these statements fail, and the
    // group with them.
    if !keep {
        execute(conn, "ROLLBACK TO member")?;
    }
    execute(conn, "RELEASE member")
}

fn execute(conn: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}
