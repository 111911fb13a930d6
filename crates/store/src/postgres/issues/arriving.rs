//! Issues of a chunk on their way into the tables. They are sent a few at a time and not waited
//! for, so that the database takes them while further ones are planned. Invariant: before anything
//! is asked that depends on them, [`Arriving::end`] was waited for.

use std::collections::VecDeque;

use caseload_model::ids::DomainId;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::super::engine::Client;
use super::columns::{Adding, NewRow, NewRows};
use crate::StoreError;

/// What of a chunk's issues may not be in the tables yet.
pub(in crate::postgres) struct Arriving<'c> {
    client: &'c Client,
    domain: DomainId,
    adding: Option<Adding>,
    rows: NewRows,
    /// What was sent and not answered.
    sent: VecDeque<BoxFuture<'c, Result<(), StoreError>>>,
}

impl<'c> Arriving<'c> {
    pub(super) fn new(client: &'c Client, domain: DomainId) -> Self {
        Self { client, domain, adding: None, rows: NewRows::default(), sent: VecDeque::new() }
    }

    /// Takes an issue up.
    pub(super) fn add(&mut self, issue: &NewRow<'_>) {
        self.rows.add(issue);
    }

    /// Sends what was taken up.
    pub(super) async fn send(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.rows);
        let adding = match &self.adding {
            Some(adding) => adding.clone(),
            None => self.adding.insert(Adding::prepare(self.client).await?).clone(),
        };
        let mut sent = adding.add(self.client, self.domain, rows).boxed();
        match (&mut sent).now_or_never() {
            Some(answer) => answer?,
            None => self.sent.push_back(sent),
        }
        Ok(())
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
