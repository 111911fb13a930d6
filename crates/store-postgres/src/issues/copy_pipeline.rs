//! Issues of a chunk on their way into the tables. They are copied some thousand at a time, beside
//! the planning of further ones, by a task that has all of its rows before it begins: an open copy
//! waits for nothing but the wire. The question whether somebody waits for the chunk to end is sent
//! between them, and its answer is looked at when it is there.
//! Invariant: before anything is asked that depends on the issues, [`CopyPipeline::end`] was waited
//! for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::super::engine::Client;
use super::columns::{CopyStatements, NewRow, NewRows};
use caseload_store::StoreError;

/// Bytes of issues that are sent together, and those that are sent where the database has none to
/// take up: each sending has round trips of its own, which the database should not wait for.
const SENT_BYTES: usize = 4 << 20;
const SENT_BYTES_IDLE: usize = 512 << 10;
/// Sendings that the database may have left to take up before further issues are planned: enough
/// that it is never without, and few enough that whoever waits for the chunk waits for little.
const BEHIND_MAX: usize = 2;
/// How often is asked whether somebody waits.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// Whether another transaction waits for this one.
const WAITED_FOR: &str = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted
     AND locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid)";

/// What of a chunk's issues may not be in the tables yet.
pub(crate) struct CopyPipeline<'c> {
    client: &'c Client,
    domain: DomainId,
    statements: Option<CopyStatements>,
    /// What was taken up and not sent.
    rows: Option<NewRows>,
    /// What was sent and not answered.
    sent: VecDeque<BoxFuture<'c, Result<(), StoreError>>>,
    /// The question whether the chunk is waited for, until it is answered, and when it was asked.
    asked: Option<BoxFuture<'c, Result<bool, StoreError>>>,
    asked_at: Instant,
}

impl<'c> CopyPipeline<'c> {
    pub(super) fn new(client: &'c Client, domain: DomainId) -> Self {
        let (sent, asked_at) = (VecDeque::new(), Instant::now());
        Self { client, domain, statements: None, rows: None, sent, asked: None, asked_at }
    }

    /// Takes an issue up.
    pub(super) fn add(&mut self, issue: &NewRow<'_>) {
        self.rows.get_or_insert_with(|| NewRows::with_capacity(SENT_BYTES)).add(self.domain, issue);
    }

    /// Sends what was taken up if that is enough by now. Waits where the database is far behind.
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

    /// Sends whatever was taken up.
    pub(super) async fn send_all(&mut self) -> Result<(), StoreError> {
        let Some(rows) = self.rows.take() else { return Ok(()) };
        let statements = match &self.statements {
            Some(statements) => statements.clone(),
            None => self.statements.insert(CopyStatements::prepare(self.client).await?).clone(),
        };
        self.send_beside(statements.add(self.client, rows).boxed())
    }

    /// Sends what belongs to the issues beside them.
    pub(super) fn send_beside(
        &mut self,
        mut sent: BoxFuture<'c, Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        if let Some(answer) = (&mut sent).now_or_never() {
            return answer;
        }
        self.sent.push_back(sent);
        Ok(())
    }

    /// Whether somebody waits for the transaction, as far as is known: asks, and says what was
    /// answered since it was asked before.
    pub(super) async fn waited_for(&mut self) -> Result<bool, StoreError> {
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

    /// Waits until all that was taken up is in the tables.
    pub(super) async fn end(&mut self) -> Result<(), StoreError> {
        self.send_all().await?;
        while let Some(sent) = self.sent.pop_front() {
            sent.await?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for CopyPipeline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CopyPipeline({})", self.sent.len())
    }
}
