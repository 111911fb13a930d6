//! The writer thread. It owns the one connection that writes, takes whatever commands have queued
//! up, runs each so that it can be undone alone, commits once and answers all of them. A command
//! that fails or panics is rolled back alone; a commit that fails fails every member of its group.
//! Long commands end early where a small one waits, and take it along into their commit; small ones
//! do not wait for a long one that came behind them.
//! Invariant: nothing is answered before the commit, and after a fault of the file's the
//! connection is opened anew before it is used again.
//!
//! That is enough after a failed fsync, too, although the system may then take pages for written
//! that are not: the frames of a failed commit are never referred to, and the next commit writes
//! its own over them, so that its fsync tells the truth about every byte that it needs. What was
//! answered before stands in frames that an earlier fsync confirmed. A checkpoint that fails
//! counts for nothing and copies the same pages again.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use caseload_model::time::UnixMillis;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use super::checkpoint::{Signal, begin_anew};
use super::queue::{Queue, Queued};
use super::{Gauges, Weight, connection};
use crate::Fault;
use caseload_store::StoreError;

/// Commands that one group may have.
const GROUP_COMMANDS_MAX: usize = 256;
/// A group that is older takes no further command, and a long command ends early in it as soon as
/// another one waits.
const GROUP_TIME: Duration = Duration::from_millis(30);
/// How long a long command goes on although a small one waits. What it changed must be written and
/// fsynced before that one is answered, which takes some times as long as the changes did.
const URGED_TIME: Duration = Duration::from_millis(3);

/// A group that takes longer is told of in the log.
const SLOW: Duration = Duration::from_secs(1);

const _: () = assert!(URGED_TIME.as_millis() < GROUP_TIME.as_millis());

/// What a command may know about the group it runs in.
#[derive(Debug)]
pub(crate) struct WriteContext<'a> {
    began: Instant,
    gauges: &'a Gauges,
    /// When tasks may have become runnable by what the group did.
    runnable_at: Cell<Option<UnixMillis>>,
}

impl WriteContext<'_> {
    /// Whether a command that can be continued later should end now.
    pub(crate) fn should_yield(&self) -> bool {
        let age = self.began.elapsed();
        self.gauges.cut_soon.load(Ordering::Relaxed)
            || age >= URGED_TIME && self.gauges.small_waiting.load(Ordering::Relaxed) > 0
            || age >= GROUP_TIME && self.is_waited_for()
    }

    /// Says that tasks may be runnable by what the command did at `now`.
    pub(crate) fn made_runnable(&self, now: UnixMillis) {
        self.runnable_at.set(self.runnable_at.get().max(Some(now)));
    }

    /// Whether another command waits for the writer.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.gauges.is_waited_for()
    }
}

/// Makes the last member of a group in which tasks became runnable at the given time.
pub(crate) type LastMember = Box<dyn Fn(UnixMillis) -> Box<dyn Member> + Send>;

/// A command on its way through the writer.
pub(crate) trait Member: Send {
    /// Runs the command; false where its effects must be rolled back.
    fn run(&mut self, conn: &Connection, context: &WriteContext<'_>) -> bool;
    /// Makes the command's answer this fault, whatever it was before.
    fn fail(&mut self, reason: &str);
    /// Sends the answer off.
    fn answer(self: Box<Self>);
}

struct Command<F, T> {
    work: Option<F>,
    outcome: Result<T, Fault>,
    reply: oneshot::Sender<Result<T, Fault>>,
}

impl<F, T> Member for Command<F, T>
where
    F: FnOnce(&Connection, &WriteContext<'_>) -> Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, conn: &Connection, context: &WriteContext<'_>) -> bool {
        let Some(work) = self.work.take() else { return false };
        self.outcome =
            catch_unwind(AssertUnwindSafe(|| work(conn, context))).unwrap_or_else(|_| {
                Err(StoreError::Unavailable("a command panicked and was rolled back".to_owned())
                    .into())
            });
        self.outcome.is_ok()
    }

    fn fail(&mut self, reason: &str) {
        self.outcome = Err(StoreError::NotWritten(reason.to_owned()).into());
    }

    fn answer(self: Box<Self>) {
        // Nobody listens any more where the caller gave up; the effect stands all the same.
        drop(self.reply.send(self.outcome));
    }
}

pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
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
        let ending = Ending(queue.clone());
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || worker.run(&ending.0))
            .map_err(|e| StoreError::Unavailable(format!("no thread for the writer: {e}")))?;
        Ok(Self { queue, thread: Mutex::new(Some(thread)) })
    }

    pub(super) async fn submit<T, F>(&self, weight: Weight, work: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &WriteContext<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let outcome = Err(StoreError::Closed.into());
        self.queue.push(Box::new(Command { work: Some(work), outcome, reply }), weight).await?;
        answer.await.unwrap_or(Err(StoreError::Closed.into()))
    }

    /// Lets the queue run empty and ends the thread; false where that was done before.
    pub(super) fn close(&self) -> bool {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return false };
        if thread.join().is_err() {
            tracing::error!("the writer thread had panicked");
        }
        true
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// However the thread ends: nobody waits for it any more.
struct Ending(Arc<Queue>);

impl Drop for Ending {
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
        while let Some(first) = queue.first() {
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
            for Queued { member, weight, since } in group {
                if weight != Weight::Long {
                    self.gauges.note_write(since.elapsed());
                }
                member.answer();
            }
            self.gauges.at_work.store(false, Ordering::Relaxed);
        }
    }

    /// Runs `first` and what has queued up behind it as one transaction. All of them are in `group`
    /// afterwards, whatever happens.
    fn run_group(
        &mut self,
        first: Queued,
        group: &mut Vec<Queued>,
        queue: &Queue,
    ) -> Result<(), Fault> {
        group.push(first);
        if self.conn.is_none() {
            let conn = connection::open(&self.path)?;
            self.adopt(conn)?;
        }
        let Some(conn) = &mut self.conn else { return Err(StoreError::Closed.into()) };
        if let Err(error) = begin_anew(conn, &self.gauges) {
            self.gauges.note_fault();
            tracing::warn!(%error, "the log could not begin anew, which will be tried again");
        }
        let began = Instant::now();
        let done = run_members(conn, &self.gauges, group, queue, self.last_member.as_ref());
        if began.elapsed() >= SLOW {
            let millis = began.elapsed().as_millis();
            tracing::info!(millis, members = group.len(), "a group of writes took long");
        }
        match done {
            Ok(()) => {
                self.gauges.commits.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(e) => {
                // Another process that writes for long leaves the connection sound. After any other
                // fault its state is not to be trusted.
                let busy = e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
                if !(busy && conn.is_autocommit()) {
                    self.conn = None;
                }
                Err(e.into())
            }
        }
    }

    /// Takes a connection into use and watches how long its commits make the log. Groups that only
    /// looked, as claims do while there is no work, do not count as commits there.
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

/// One transaction around the group. An error means that nothing of it is stored.
fn run_members(
    conn: &Connection,
    gauges: &Gauges,
    group: &mut Vec<Queued>,
    queue: &Queue,
    last_member: Option<&LastMember>,
) -> Result<(), rusqlite::Error> {
    execute(conn, "BEGIN IMMEDIATE")?;
    let context = WriteContext { began: Instant::now(), gauges, runnable_at: Cell::new(None) };
    let began_with = group[0].weight;
    // The first needs no savepoint: undone is the whole transaction. Savepoints are not free, as
    // SQLite keeps a copy of every page that changes under one.
    if !group[0].member.run(conn, &context) {
        execute(conn, "ROLLBACK")?;
        execute(conn, "BEGIN IMMEDIATE")?;
    }
    while group.len() < GROUP_COMMANDS_MAX {
        let late = context.began.elapsed() >= GROUP_TIME;
        // A small command that a long one made way for comes along, however late it is.
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
        // The first to be answered: whoever hears of his own may look at the bell.
        group.insert(0, Queued { member, weight: Weight::Long, since });
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
    // A full disk or a failed write ends the whole transaction: then these fail, and the group.
    if !keep {
        execute(conn, "ROLLBACK TO member")?;
    }
    execute(conn, "RELEASE member")
}

fn execute(conn: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}
