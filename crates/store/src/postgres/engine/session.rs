//! One connection with one transaction on it. Ending the session is the only way to give the
//! connection back; one that is dropped before (its caller went away, or the database did) closes
//! it, and the database undoes what was done. The statement that begins a transaction is sent with
//! the first one of the work, and the end of a read is not waited for, so that a transaction costs
//! no round trip of its own but the commit's.

use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt, try_join};

use tokio::runtime::Handle;

use super::{Asking, Client};
use crate::StoreError;

/// Milliseconds that a write waits for another one at a time, that one of its statements may take,
/// and that its transaction may stand still before the database ends it: a server that cannot be
/// reached any more must not keep a task from the others.
const LOCK_MS_MAX: u32 = 10_000;
const WRITE_MS_MAX: u32 = 60_000;
const IDLE_MS_MAX: u32 = 10_000;

/// A connection in a transaction, or about to begin it.
pub(in crate::postgres) struct Session {
    /// None only once it is ended.
    client: Option<Client>,
    begin: String,
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
        Self { client: Some(client), begin }
    }

    /// A transaction that writes. It locks what it must not lose.
    pub(super) fn write(client: Client) -> Self {
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
             SET LOCAL lock_timeout = {LOCK_MS_MAX}; \
             SET LOCAL statement_timeout = {WRITE_MS_MAX}; \
             SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS_MAX}"
        );
        Self { client: Some(client), begin }
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
        let answer = work(&Asking::new(client, runtime.clone(), until));
        match begun {
            Some(begun) => begun?,
            None => Asking::new(client, runtime.clone(), until).wait(begin)?,
        }
        answer
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("a session has its connection until it ends")
    }

    /// Ends a read.
    pub(super) fn end_read<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if connection_lost(&answer) {
            return answer;
        }
        // Sent, and not waited for: what is asked next on this connection comes after it.
        drop(self.client().batch("ROLLBACK").now_or_never());
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
        if connection_lost(&answer) {
            return answer;
        }
        let statement = if answer.is_ok() { "COMMIT" } else { "ROLLBACK" };
        match (answer, self.client().batch(statement).await) {
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

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            client.hang_up();
        }
    }
}
