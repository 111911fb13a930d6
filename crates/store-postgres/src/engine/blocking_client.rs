//! Use of a connection from a blocking thread. Code that all backends share is synchronous: it
//! sends one statement after the other and waits for each answer. Invariant: no wait lasts beyond
//! the deadline of the whole transaction.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::runtime::Handle;

use super::Client;
use caseload_store::StoreError;

/// A transaction, used from a blocking thread.
#[derive(Debug)]
pub(crate) struct BlockingClient<'c> {
    client: &'c Client,
    runtime: Handle,
    until: Option<Instant>,
    /// Set when an answer did not come in time.
    overdue: &'c AtomicBool,
    /// Bytes that the transaction stored so far.
    pub(crate) more_bytes: Cell<i64>,
}

impl<'c> BlockingClient<'c> {
    pub(super) const fn new(
        client: &'c Client,
        runtime: Handle,
        until: Option<Instant>,
        overdue: &'c AtomicBool,
    ) -> Self {
        Self { client, runtime, until, overdue, more_bytes: Cell::new(0) }
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
            tokio::time::timeout_at(until.into(), answer).await.unwrap_or_else(|_| {
                self.overdue.store(true, Ordering::Relaxed);
                Err(StoreError::DeadlinePassed)
            })
        })
    }
}
