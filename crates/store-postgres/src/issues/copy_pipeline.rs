//! The copy pipeline of an import: copies the issues of a chunk into the tables, some thousand at a
//! time, while the next ones are planned. A copy has all its rows before it begins, so an open copy
//! waits for nothing but the network. Between copies the pipeline asks the database whether another
//! transaction waits for the chunk, and reads the answer when it has arrived. Invariant:
//! [`CopyPipeline::end`] comes before every statement that depends on the issues.

use std::collections::VecDeque;
use std::iter;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use super::columns::{CopyStatements, NewRow, NewRows};
use crate::engine::{Client, first_cause, is_aftermath};
use caseload_store::StoreError;

/// Bytes of issues in one copy, and in one copy to an idle database: each copy takes round trips of
/// its own, for which the database should not wait.
const SENT_BYTES: usize = 4 << 20;
const SENT_BYTES_IDLE: usize = 512 << 10;
/// Copies that may be in progress before planning continues: enough that the database is never
/// idle, and few enough that a transaction which waits for the chunk waits briefly.
const BEHIND_MAX: usize = 2;
/// Time between two questions whether a transaction waits.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// Whether another transaction waits for this one.
const WAITED_FOR: &str = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted
     AND locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid)";

/// The issues of a chunk that may not be in the tables yet.
pub(crate) struct CopyPipeline<'c> {
    client: &'c Client,
    domain: DomainId,
    statements: Option<CopyStatements>,
    /// Added and not sent.
    rows: Option<NewRows>,
    /// Sent and not answered.
    sent: VecDeque<BoxFuture<'c, Result<(), StoreError>>>,
    /// The unanswered question whether a transaction waits, and when it was last asked.
    asked: Option<BoxFuture<'c, Result<bool, StoreError>>>,
    asked_at: Instant,
}

impl<'c> CopyPipeline<'c> {
    pub(super) fn new(client: &'c Client, domain: DomainId) -> Self {
        let (sent, asked_at) = (VecDeque::new(), Instant::now());
        Self { client, domain, statements: None, rows: None, sent, asked: None, asked_at }
    }

    /// Adds an issue.
    pub(super) fn add(&mut self, issue: &NewRow<'_>) {
        self.rows.get_or_insert_with(|| NewRows::with_capacity(SENT_BYTES)).add(self.domain, issue);
    }

    /// Sends the added issues if they are enough. Waits if the database is far behind.
    pub(super) async fn send(&mut self) -> Result<(), StoreError> {
        while let Some(answer) = self.sent.front_mut().and_then(FutureExt::now_or_never) {
            answer?;
            self.sent.pop_front();
        }
        let enough = if self.sent.is_empty() { SENT_BYTES_IDLE } else { SENT_BYTES };
        if self.rows.as_ref().is_some_and(|rows| rows.len() >= enough) {
            self.send_all().await?;
        }
        while self.sent.len() > BEHIND_MAX
            && let Some(oldest) = self.sent.pop_front()
        {
            oldest.await?;
        }
        Ok(())
    }

    /// Sends all added issues.
    pub(super) async fn send_all(&mut self) -> Result<(), StoreError> {
        let Some(rows) = self.rows.take() else { return Ok(()) };
        let statements = match &self.statements {
            Some(statements) => statements.clone(),
            None => self.statements.insert(CopyStatements::prepare(self.client).await?).clone(),
        };
        self.send_with_issues(statements.add(self.client, rows).boxed())
    }

    /// Sends a statement that belongs to the issues at the same time. Its answer is read by
    /// [`CopyPipeline::end`] alone, so no other answer is awaited before that, except together
    /// with it.
    pub(super) fn send_with_issues(
        &mut self,
        mut sent: BoxFuture<'c, Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        if let Some(answer) = (&mut sent).now_or_never() {
            return answer;
        }
        self.sent.push_back(sent);
        Ok(())
    }

    /// Whether another transaction is known to wait: asks, and returns the answer to the last
    /// question if it has arrived.
    pub(super) async fn has_waiters(&mut self) -> Result<bool, StoreError> {
        let client = self.client;
        let mut asked = if let Some(asked) = self.asked.take() {
            asked
        } else if self.asked_at.elapsed() < ASK_EVERY {
            return Ok(false);
        } else {
            self.asked_at = Instant::now();
            let statement = client.prepare(WAITED_FOR).await?;
            async move { Ok(client.prepared_row(&statement, &[]).await?.get(0)) }.boxed()
        };
        if let Some(answer) = (&mut asked).now_or_never() {
            return answer;
        }
        self.asked = Some(asked);
        Ok(false)
    }

    /// Waits until all added issues are in the tables.
    pub(super) async fn end(&mut self) -> Result<(), StoreError> {
        let last = self.send_all().await;
        let answers = join_all(self.sent.drain(..)).await;
        first_cause(iter::once(last).chain(answers))
    }

    /// The answer to a statement. If it only says that the transaction has failed, the fault is
    /// that of the copy which is the cause.
    pub(super) async fn caused<T>(
        &mut self,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match answer {
            Err(fault) if is_aftermath(&fault) => Err(self.end().await.err().unwrap_or(fault)),
            answer => answer,
        }
    }
}

impl std::fmt::Debug for CopyPipeline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CopyPipeline({})", self.sent.len())
    }
}
