//! One transaction on one connection. Only a session that was ended returns its connection to the
//! pool; a dropped one closes it, and the database rolls back. `BEGIN` is sent together with the
//! first statement, and the end of a read is not awaited, so that only a commit costs a round trip
//! of its own. Invariant: a write waits for an answer no longer than its [`Bounds`] allow, and a
//! connection with an outstanding answer is closed.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt, try_join, try_join3};
use tokio::runtime::Handle;
use tokio_postgres::Statement;

use super::{BlockingClient, Bounds, Client, Nodes};
use crate::address::Connector;
use caseload_store::StoreError;

/// A read has nothing to commit.
const END_OF_READ: &str = "ROLLBACK";

/// A connection with a transaction that has begun or is about to begin.
pub(crate) struct Session {
    /// `None` only after the session has ended.
    client: Option<Client>,
    begin: String,
    /// The time limits of a write.
    bounds: Bounds,
    /// An answer did not come in time, so that the connection cannot be used again.
    overdue: AtomicBool,
    /// Whether the end of the transaction was sent already.
    ended: AtomicBool,
    /// The warnings of the database so far, if the commit of a write may leave a part unfinished.
    warnings: Option<Arc<AtomicU64>>,
}

impl Session {
    /// A transaction that sees one snapshot and cannot write. Its statements have one good plan for
    /// all parameters and table sizes, so that each is planned only once per connection.
    pub(super) fn read(client: Client, budget: Option<Duration>) -> Self {
        let millis = budget.map_or(0, |budget| budget.as_millis().max(1));
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL statement_timeout = {millis}; {}; \
             SET LOCAL enable_seqscan = off; SET LOCAL jit = off",
            client.nodes().settings()
        );
        Self::new(client, begin, Bounds::default())
    }

    /// A transaction that writes. It locks the rows that it relies on.
    /// `warnings` counts those of the database.
    pub(super) fn write(client: Client, bounds: Bounds, warnings: Arc<AtomicU64>) -> Self {
        let begin = bounds.begin_write(client.nodes());
        let warnings = (client.nodes() == Nodes::Many).then_some(warnings);
        Self { warnings, ..Self::new(client, begin, bounds) }
    }

    const fn new(client: Client, begin: String, bounds: Bounds) -> Self {
        Self {
            client: Some(client),
            begin,
            bounds,
            overdue: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            warnings: None,
        }
    }

    /// Begins the transaction and runs the work in it, within the time limit of a write.
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

    /// Begins the transaction and runs the work in it.
    pub(super) async fn run<'s, T>(
        &'s self,
        work: impl FnOnce(&'s Client) -> BoxFuture<'s, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let client = self.client();
        // They are polled in this order, so that `BEGIN` is sent first.
        let ((), answer) = try_join(client.batch_each(&self.begin), work(client)).await?;
        Ok(answer)
    }

    /// Runs a whole read in one flight: `BEGIN`, the work and the end are sent without waiting in
    /// between. The work must send all its statements before it waits for the first answer, and
    /// they must be [prepared](Self::prepare) before.
    pub(crate) async fn in_one_flight<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let client = self.client();
        // They are polled, and thus sent, in this order.
        let all = try_join3(client.batch_each(&self.begin), work, client.batch(END_OF_READ));
        let ((), answer, ()) = all.await?;
        self.ended.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// The statement, prepared on its first use on this connection.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        self.client().prepare(sql).await
    }

    /// Begins the transaction and runs blocking work in it, which waits for each answer by itself,
    /// until a deadline. The connector cancels the statements of limited work.
    pub(super) fn run_blocking<T>(
        &self,
        runtime: &Handle,
        limits: (Option<Instant>, Option<Connector>),
        work: impl FnOnce(&BlockingClient<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client = self.client();
        let mut begin = pin!(client.batch_each(&self.begin));
        // Polling once sends `BEGIN`. Its answer comes before all others.
        let begun = begin.as_mut().now_or_never();
        let db = BlockingClient::new(client, runtime.clone(), limits, &self.overdue);
        let answer = work(&db);
        match begun {
            Some(begun) => begun?,
            None if self.is_overdue() => {}
            None => db.wait(begin)?,
        }
        answer
    }

    /// The deadline of a write that begins now.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.bounds.write
    }

    /// Whether an answer is outstanding after its caller gave up.
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
            // Polling once sends it. Later statements on this connection come after it.
            drop(self.client().batch(END_OF_READ).now_or_never());
        }
        self.into_pool();
        match answer {
            // A standby cancelled the snapshot. Reads never conflict with writes.
            Err(StoreError::Contended) => {
                Err(StoreError::Unreachable("the database cancelled the snapshot".to_owned()))
            }
            answer => answer,
        }
    }

    /// Commits if `answer` is `Ok`, and rolls back otherwise. A commit without an answer is a
    /// fault, although it may have taken place. So is a commit on a cluster during which the
    /// database warned: the coordinator has committed, and a node that did not answer shows its
    /// part only once the coordinator has found it again. A warning to another session counts,
    /// too, because that happens only while a node is away.
    pub(super) async fn end_write<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if self.is_overdue() {
            let limit = self.bounds.write;
            return Err(StoreError::Unreachable(format!("a write did not end within {limit:?}")));
        }
        if connection_lost(&answer) {
            return answer;
        }
        if self.client().is_broken() {
            // A part of the write may still reach the database after `COMMIT` or `ROLLBACK`. Only
            // closing the connection rules that out.
            return answer.and_then(|_| {
                Err(StoreError::Unavailable("a write ended before all of it was sent".to_owned()))
            });
        }
        let statement = if answer.is_ok() { "COMMIT" } else { "ROLLBACK" };
        // A commit may wait for the disk or for a missing standby, and the database limits neither.
        // After the timeout it is unknown whether the commit took place.
        let limit = self.bounds.end;
        let before = self.warned();
        let ended = tokio::time::timeout(limit, self.client().batch(statement)).await;
        let ended = ended.unwrap_or_else(|_| {
            Err(StoreError::Unreachable(format!("{statement} had no answer within {limit:?}")))
        });
        match (answer, ended) {
            // The connection is clean again.
            (answer, Ok(())) => {
                let warned = self.warned() != before;
                self.into_pool();
                if warned && answer.is_ok() {
                    let text = "a node of the cluster has not finished its commit".to_owned();
                    return Err(StoreError::Unreachable(text));
                }
                answer
            }
            // It is not clean. The first fault says more than the second.
            (Err(fault), Err(_)) | (Ok(_), Err(fault)) => Err(fault),
        }
    }

    fn warned(&self) -> Option<u64> {
        self.warnings.as_ref().map(|warnings| warnings.load(Ordering::Acquire))
    }

    fn into_pool(mut self) {
        if let Some(client) = self.client.take() {
            client.into_pool();
        }
    }
}

fn connection_lost<T>(answer: &Result<T, StoreError>) -> bool {
    answer.as_ref().is_err_and(|fault| fault.outage().is_some())
}
