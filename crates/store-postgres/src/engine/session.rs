//! One connection with one transaction on it. Ending the session is the only way to give the
//! connection back; one that is dropped before (its caller went away, or the database did) closes
//! it, and the database undoes what was done. The statement that begins a transaction is sent with
//! the first one of the work, and the end of a read is not waited for, so that a transaction costs
//! no round trip of its own but the commit's; a read that asks all at once is sent with its end.
//! Invariant: a write waits for no answer beyond its [`Bounds`]; a connection that owes one is
//! closed.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt, try_join, try_join3};
use tokio::runtime::Handle;
use tokio_postgres::Statement;

use super::{Asking, Bounds, Client};
use caseload_store::StoreError;

/// Nothing was written.
const END_OF_READ: &str = "ROLLBACK";

/// A connection in a transaction, or about to begin it.
pub(crate) struct Session {
    /// None only once it is ended.
    client: Option<Client>,
    begin: String,
    /// What waiting is bound by, in a write.
    bounds: Bounds,
    /// An answer did not come in time: nothing can be asked on the connection any more.
    overdue: AtomicBool,
    /// The transaction has had its end.
    ended: AtomicBool,
}

impl Session {
    /// A transaction that sees one snapshot and cannot write. Its statements are written so that
    /// one plan is right whatever is bound and however tables grow: each is planned once per
    /// connection.
    pub(super) fn read(client: Client, budget: Option<Duration>) -> Self {
        let millis = budget.map_or(0, |budget| budget.as_millis().max(1));
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL statement_timeout = {millis}; \
             SET LOCAL plan_cache_mode = force_generic_plan; \
             SET LOCAL enable_seqscan = off; SET LOCAL jit = off"
        );
        Self::new(client, begin, Bounds::default())
    }

    /// A transaction that writes. It locks what it must not lose.
    pub(super) fn write(client: Client, bounds: Bounds) -> Self {
        Self::new(client, bounds.begin_write(), bounds)
    }

    const fn new(client: Client, begin: String, bounds: Bounds) -> Self {
        Self {
            client: Some(client),
            begin,
            bounds,
            overdue: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Begins the transaction and does the work in it, within the bounds of a write.
    pub(super) async fn run_within<'s, T>(
        &'s self,
        work: impl FnOnce(&'s Client) -> BoxFuture<'s, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let done = tokio::time::timeout(self.bounds.write, self.run(work)).await;
        done.unwrap_or_else(|_| {
            self.overdue.store(true, Ordering::Relaxed);
            Err(StoreError::DeadlinePassed)
        })
    }

    /// Begins the transaction and does the work in it.
    pub(super) async fn run<'s, T>(
        &'s self,
        work: impl FnOnce(&'s Client) -> BoxFuture<'s, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let client = self.client();
        // Polled in this order: the beginning goes first.
        let ((), answer) = try_join(client.batch(&self.begin), work(client)).await?;
        Ok(answer)
    }

    /// A whole read in one flight: its beginning, the work and its end are sent one behind the
    /// other, and then waited for. So the work sends all that it asks before it waits for anything,
    /// and what it asks was [prepared](Self::prepare) before.
    pub(crate) async fn whole<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let client = self.client();
        // Polled in this order.
        let all = try_join3(client.batch(&self.begin), work, client.batch(END_OF_READ));
        let ((), answer, ()) = all.await?;
        self.ended.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// The statement, prepared at the first time on this connection.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        self.client().prepare(sql).await
    }

    /// The same, for work that blocks and waits for each answer by itself.
    pub(super) fn run_blocking<T>(
        &self,
        runtime: &Handle,
        until: Option<Instant>,
        work: impl FnOnce(&Asking<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client = self.client();
        let mut begin = pin!(client.batch(&self.begin));
        // Sent by this; its answer comes before any other.
        let begun = begin.as_mut().now_or_never();
        let ask = Asking::new(client, runtime.clone(), until, &self.overdue);
        let answer = work(&ask);
        match begun {
            Some(begun) => begun?,
            None if self.is_overdue() => {}
            None => ask.wait(begin)?,
        }
        answer
    }

    /// The moment at which a write that begins now has to be done.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.bounds.write
    }

    /// Whether the connection owes an answer that nobody waits for.
    fn is_overdue(&self) -> bool {
        self.overdue.load(Ordering::Relaxed)
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().expect("a session has its connection until it ends")
    }

    /// Ends a read.
    pub(super) fn end_read<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if connection_lost(&answer) || self.is_overdue() {
            return answer;
        }
        if !self.ended.load(Ordering::Relaxed) {
            // Sent, and not waited for: what is asked next on this connection comes after it.
            drop(self.client().batch(END_OF_READ).now_or_never());
        }
        self.into_pool();
        match answer {
            // A standby that took the snapshot away; no write is met by a read.
            Err(StoreError::Contended) => {
                Err(StoreError::Unreachable("the snapshot was taken away".to_owned()))
            }
            answer => answer,
        }
    }

    /// Commits where `answer` is good, and undoes everything where it is not. A commit without an
    /// answer is a fault, though it may have taken place.
    pub(super) async fn end_write<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if self.is_overdue() {
            let limit = self.bounds.write;
            return Err(StoreError::Unreachable(format!("a write had no end within {limit:?}")));
        }
        if connection_lost(&answer) {
            return answer;
        }
        if self.client().is_spoiled() {
            // Part of the write may reach the database behind any end of the transaction. Closing
            // the connection is the one end that it cannot outlive.
            return answer.and_then(|_| {
                Err(StoreError::Unavailable("a write ended before all of it was there".to_owned()))
            });
        }
        let statement = if answer.is_ok() { "COMMIT" } else { "ROLLBACK" };
        // A commit may wait for the disk, or for a standby that is not there; the database sets no
        // limit to either. Whether it took place is not known then.
        let limit = self.bounds.end;
        let ended = tokio::time::timeout(limit, self.client().batch(statement)).await;
        let ended = ended.unwrap_or_else(|_| {
            Err(StoreError::Unreachable(format!("{statement} had no answer within {limit:?}")))
        });
        match (answer, ended) {
            // The connection is in order again.
            (answer, Ok(())) => {
                self.into_pool();
                answer
            }
            // It is not. The first fault says more.
            (Err(fault), Err(_)) | (Ok(_), Err(fault)) => Err(fault),
        }
    }

    fn into_pool(mut self) {
        if let Some(client) = self.client.take() {
            client.into_pool();
        }
    }
}

const fn connection_lost<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unreachable(_)))
}
