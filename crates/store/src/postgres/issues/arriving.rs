//! Issues of a chunk on their way into the tables. They are sent a few at a time and not waited
//! for, so that the database takes them while further ones are planned; and so is the question
//! whether somebody waits for the chunk to end, whose answer is looked at when it is there.
//! Invariant: before anything is asked that depends on the issues, [`Arriving::end`] was waited
//! for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::super::engine::Client;
use super::columns::{Adding, NewRow, NewRows};
use crate::StoreError;

/// Statements for each table that the database may have left to do before further issues are
/// planned: enough to be never without, and few enough that whoever waits for the chunk does not
/// wait for them.
const BEHIND_MAX: usize = 6;
/// How often is asked whether somebody waits.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// Whether another transaction waits for this one.
const WAITED_FOR: &str = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted
     AND locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid)";

/// What of a chunk's issues may not be in the tables yet.
pub(in crate::postgres) struct Arriving<'c> {
    client: &'c Client,
    domain: DomainId,
    adding: Option<Adding>,
    rows: NewRows,
    /// What was sent and not answered.
    sent: VecDeque<BoxFuture<'c, Result<(), StoreError>>>,
    /// The question whether the chunk is waited for, until it is answered, and when it was asked.
    asked: Option<BoxFuture<'c, Result<bool, StoreError>>>,
    asked_at: Instant,
}

impl<'c> Arriving<'c> {
    pub(super) fn new(client: &'c Client, domain: DomainId) -> Self {
        let rows = NewRows::default();
        let (sent, asked_at) = (VecDeque::new(), Instant::now());
        Self { client, domain, adding: None, rows, sent, asked: None, asked_at }
    }

    /// Takes an issue up.
    pub(super) fn add(&mut self, issue: &NewRow<'_>) {
        self.rows.add(issue);
    }

    /// Sends what was taken up. Waits where the database is far behind.
    pub(super) async fn send(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.rows);
        let adding = match &self.adding {
            Some(adding) => adding.clone(),
            None => self.adding.insert(Adding::prepare(self.client).await?).clone(),
        };
        self.send_beside(adding.add(self.client, self.domain, rows).boxed())?;
        while self.sent.len() > BEHIND_MAX
            && let Some(oldest) = self.sent.pop_front()
        {
            oldest.await?;
        }
        Ok(())
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

    /// Waits until all that was sent is in the tables.
    pub(super) async fn end(&mut self) -> Result<(), StoreError> {
        while let Some(sent) = self.sent.pop_front() {
            sent.await?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Arriving<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arriving({})", self.sent.len())
    }
}
