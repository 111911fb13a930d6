//! Use of a connection from a blocking thread. Code that all backends share is synchronous: it
//! sends one statement after the other and waits for each answer. The work of a chunk has a limit
//! of its own, shorter than that of a transaction: others wait for the locks that it holds. A
//! statement that still runs then is cancelled, because the database would hold the locks until
//! the statement ends. Invariant: no wait lasts beyond the deadline of the whole transaction.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::time::timeout_at;

use super::Client;
use crate::address::Connector;
use caseload_store::StoreError;
use caseload_store::changes::LoggedBatch;

/// A transaction, used from a blocking thread.
#[derive(Debug)]
pub struct BlockingClient<'c> {
    client: &'c Client,
    runtime: Handle,
    until: Option<Instant>,
    /// Cancels statements of a write.
    connector: Option<Connector>,
    /// When limited work began, and when it has to end.
    work: Cell<Option<(Instant, Instant)>>,
    /// Set when an answer did not come in time.
    overdue: &'c AtomicBool,
    /// Bytes that the transaction stored so far.
    pub(crate) more_bytes: Cell<i64>,
    /// The effects of the transaction, for the log.
    pub(crate) batches: RefCell<Vec<LoggedBatch>>,
}

impl<'c> BlockingClient<'c> {
    pub(super) fn new(
        client: &'c Client,
        runtime: Handle,
        (until, connector): (Option<Instant>, Option<Connector>),
        overdue: &'c AtomicBool,
    ) -> Self {
        let (work, more_bytes) = (Cell::new(None), Cell::new(0));
        let batches = RefCell::default();
        Self { client, runtime, until, connector, work, overdue, more_bytes, batches }
    }

    /// Limits the work from now on.
    pub(crate) fn limit_work(&self, longest: Duration) {
        let now = Instant::now();
        self.work.set(Some((now, now + longest)));
    }

    /// Whether the log has all that the transaction did.
    pub(super) fn is_logged(&self) -> bool {
        self.batches.borrow().is_empty()
    }

    pub(crate) const fn client(&self) -> &'c Client {
        self.client
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(until) = self.until else { return self.runtime.block_on(answer) };
        self.runtime.block_on(async {
            let mut answer = pin!(answer);
            let mut interrupted = None;
            if let Some((began, end)) = self.work.get() {
                if let Ok(answer) = timeout_at(end.into(), &mut answer).await {
                    return answer;
                }
                self.cancel();
                interrupted = Some(began);
            }
            let Ok(answer) = timeout_at(until.into(), answer).await else {
                self.overdue.store(true, Ordering::Relaxed);
                return Err(StoreError::DeadlinePassed);
            };
            match interrupted {
                // The statement failed because of that, or it had just ended.
                Some(began) => Err(StoreError::ChunkInterrupted { worked: began.elapsed() }),
                None => answer,
            }
        })
    }

    /// Asks the database to cancel the statement that it runs. The request may arrive when the
    /// statement has ended, and would cancel the next one, so the connection is not used again.
    fn cancel(&self) {
        let Some(connector) = self.connector.clone() else { return };
        let token = self.client.connection().cancel_token();
        self.client.mark_broken();
        self.runtime.spawn(async move {
            if let Err(error) = connector.cancel(&token).await {
                tracing::warn!(%error, "a statement of a long chunk could not be cancelled");
            }
        });
    }
}
