//! Commands of the writer thread. A command runs in a group that commits as one transaction; it
//! sees the group through a [`WriteContext`], which also says when a long command has to yield.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use caseload_model::time::UnixMillis;
use caseload_store::StoreError;
use caseload_store::fair_slots::Slot;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::gauges::Gauges;
use crate::Fault;

/// A group older than this takes no more long commands, and a long command in it ends as soon as
/// any other command waits.
pub(super) const GROUP_TIME: Duration = Duration::from_millis(30);
/// How long a long command continues while a small one waits. The small one is answered only after
/// the changes of the long one are written and synced, which takes several times as long as making
/// them.
const URGED_TIME: Duration = Duration::from_millis(3);

const _: () = assert!(URGED_TIME.as_millis() < GROUP_TIME.as_millis());

/// How much work a command is for the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A few rows.
    Small,
    /// Up to thousands of rows or megabytes. It yields to small commands.
    Long,
}

impl Weight {
    /// A command that writes more bytes is long.
    const SMALL_BYTES_MAX: usize = 128 << 10;

    /// The weight of a command that writes this many bytes.
    pub(crate) const fn of_bytes(bytes: usize) -> Self {
        if bytes <= Self::SMALL_BYTES_MAX { Self::Small } else { Self::Long }
    }
}

/// The group that a command runs in, as the command sees it.
#[derive(Debug)]
pub(crate) struct WriteContext<'a> {
    pub(super) began: Instant,
    gauges: &'a Gauges,
    /// The time at which the group may have made tasks runnable.
    pub(super) runnable_at: Cell<Option<UnixMillis>>,
}

impl<'a> WriteContext<'a> {
    /// The context of a group that begins now.
    pub(super) fn new(gauges: &'a Gauges) -> Self {
        Self { began: Instant::now(), gauges, runnable_at: Cell::new(None) }
    }
}

impl WriteContext<'static> {
    /// The context of a command that shares neither its group nor the writer.
    pub(crate) fn alone() -> Self {
        static IDLE: LazyLock<Gauges> = LazyLock::new(Gauges::default);
        Self::new(&IDLE)
    }
}

impl WriteContext<'_> {
    /// Whether a command that can continue later should end now.
    pub(crate) fn should_yield(&self) -> bool {
        let age = self.began.elapsed();
        self.gauges.restart_soon.load(Ordering::Relaxed)
            || age >= URGED_TIME && self.gauges.small_waiting.load(Ordering::Relaxed) > 0
            || age >= GROUP_TIME && self.has_waiters()
    }

    /// Notes that the command may have made tasks runnable at `now`.
    pub(crate) fn made_runnable(&self, now: UnixMillis) {
        self.runnable_at.set(self.runnable_at.get().max(Some(now)));
    }

    /// Whether another command waits for the writer.
    pub(crate) fn has_waiters(&self) -> bool {
        self.gauges.has_waiters()
    }
}

/// Makes the last command of a group in which tasks became runnable at the given time.
pub(crate) type LastMember = Box<dyn Fn(UnixMillis) -> Box<dyn Member> + Send>;

/// A command of a group.
pub(crate) trait Member: Send {
    /// Runs the command. Returns false if its effects must be rolled back.
    fn run(&mut self, conn: &Connection, context: &WriteContext<'_>) -> bool;
    /// Replaces the command's answer with this fault.
    fn fail(&mut self, reason: &str);
    /// Sends the answer.
    fn answer(self: Box<Self>);
}

/// A closure as a command, with the channel of its answer.
pub(super) struct Command<F, T> {
    work: Option<F>,
    outcome: Result<T, Fault>,
    reply: oneshot::Sender<Result<T, Fault>>,
}

impl<F, T> Command<F, T> {
    /// The command and the receiver of its answer.
    pub(super) fn new(work: F) -> (Self, oneshot::Receiver<Result<T, Fault>>) {
        let (reply, answer) = oneshot::channel();
        let outcome = Err(StoreError::Closed.into());
        (Self { work: Some(work), outcome, reply }, answer)
    }
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
        // Sending fails if the caller gave up. The command is committed nevertheless.
        drop(self.reply.send(self.outcome));
    }
}

/// A command in the queue.
pub(super) struct QueuedCommand {
    pub(super) member: Box<dyn Member>,
    pub(super) weight: Weight,
    pub(super) since: Instant,
    /// Its place in the queue, as long as it waits.
    pub(super) place: Option<Slot>,
}
