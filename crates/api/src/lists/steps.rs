//! A list that is read step by step while it is sent: each step in a snapshot of its own, and only
//! after the reader has taken the previous one. So memory does not grow with the list, and a slow
//! reader holds no snapshot open. The memory of a step is taken before it is read and returned once
//! the network has its bytes.

use std::io;

use axum::body::Body;
use caseload_model::issue_query::ListPosition;
use caseload_store::{ListStep, StepForm, StoreError};
use futures_util::stream;

use super::deadline::in_time;
use super::noun::{ListRead, Noun, StepRead};
use crate::http::auth::Caller;
use crate::http::auth::require_working_key;
use crate::http::base_url::BaseUrl;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::state::AppState;

/// A list is rendered at most this far ahead of its reader.
pub(crate) const PAGE_BYTES_AHEAD: usize = 8 << 20;

/// The rest of a list.
pub(crate) struct ListReader<N: Noun> {
    pub(crate) state: AppState,
    pub(crate) caller: Caller,
    pub(crate) base: BaseUrl,
    pub(crate) query: N::Query,
    pub(crate) view: N::View,
    /// The next step has the records after this position.
    pub(crate) after: Option<ListPosition<N::Id>>,
    /// Of a step.
    pub(crate) records_max: u64,
    pub(crate) bytes_max: usize,
    pub(crate) form: StepForm,
    /// Whether a step has the total of the list.
    pub(crate) count: bool,
}

impl<N: Noun> ListReader<N> {
    /// The memory of the first step, before anything was sent.
    pub(crate) async fn memory(&self) -> Result<Memory, Problem> {
        self.state.memory.take(Some(self.caller.domain_id), self.bytes()).await
    }

    /// The memory that a step may need: one record is written in any case.
    fn bytes(&self) -> usize {
        self.bytes_max.max(PAGE_BYTES_AHEAD)
    }

    /// The list, to be read.
    pub(crate) fn list(&self) -> ListRead<'_, N> {
        ListRead {
            store: &*self.state.store,
            caller: &self.caller,
            query: self.query.clone(),
            view: self.view,
            bytes_max: self.bytes_max,
            budget: self.state.config.query_timeout,
        }
    }

    /// Reads a step. The next one follows it.
    pub(crate) async fn step(&mut self) -> Result<ListStep<N::Id>, StoreError> {
        let wanted = StepRead {
            after: self.after.clone(),
            records_max: self.records_max,
            form: self.form,
            count: self.count,
        };
        let step = N::step(self.list(), wanted);
        let step = in_time(self.state.config.query_timeout, step).await?;
        if step.last.is_some() {
            self.after.clone_from(&step.last);
        }
        Ok(step)
    }

    /// A mark of the domain's changes, read before the first step, if the end of the stream can be
    /// compared with the total of the list: it begins at the first record, and counting is cheap.
    pub(crate) async fn mark(&self) -> Result<Option<i64>, StoreError> {
        if self.after.is_some() || N::is_expensive(&self.query) {
            return Ok(None);
        }
        self.change_mark().await.map(Some)
    }

    async fn change_mark(&self) -> Result<i64, StoreError> {
        let mark = self.state.store.change_mark(self.caller.domain_id);
        in_time(self.state.config.query_timeout, mark).await
    }

    /// Fails if the stream has another number of records than the list, and the domain did not
    /// change since `mark` was read. If it did, no step sees the domain as another one does.
    pub(crate) async fn require_total(&self, mark: i64, records: u64) -> Result<(), StoreError> {
        if self.change_mark().await? != mark {
            return Ok(());
        }
        let first = StepRead { after: None, records_max: 1, form: self.form, count: true };
        let counted = N::step(self.list(), first);
        let counted = in_time(self.state.config.query_timeout, counted).await?;
        let total = counted.total_hits.unwrap_or(records);
        if total == records || self.change_mark().await? != mark {
            return Ok(());
        }
        Err(StoreError::Corrupt(format!(
            "a list has {records} records and its counter says {total}: run `caseload check`"
        )))
    }

    /// The token from which the list continues after this many pages; `None` before the first
    /// record.
    pub(crate) fn cursor(&self, pages: u32) -> Option<String> {
        let scope = N::scope(&self.query, self.caller.domain_id);
        Some(scope.cursor(self.after.clone()?, pages))
    }

    /// A further step of a body that has begun.
    pub(crate) async fn next(&mut self) -> io::Result<(ListStep<N::Id>, Memory)> {
        if *self.state.stopping.borrow() {
            return Err(io::Error::other("the server stops"));
        }
        if require_working_key(&self.state, &self.caller).await.is_err() {
            return Err(io::Error::other("the API key no longer works"));
        }
        let owner = Some(self.caller.domain_id);
        let memory = self.state.memory.take_for_stream(owner, self.bytes()).await?;
        let step = self.step().await.map_err(|error| {
            tracing::warn!(%error, "a list breaks off");
            io::Error::other("the list cannot be read further")
        })?;
        Ok((step, memory))
    }

    /// The remaining records of a page, of which there are at most `left`, each after a comma.
    pub(crate) fn rest_of_page(self, left: u64) -> Body {
        let begin = (self, left);
        Body::from_stream(stream::try_unfold(begin, |(mut reader, left)| async move {
            if left == 0 {
                return Ok::<_, io::Error>(None);
            }
            reader.records_max = left;
            let (step, memory) = reader.next().await?;
            if step.count == 0 {
                return Ok(None);
            }
            let left = if step.more { left.saturating_sub(u64::from(step.count)) } else { 0 };
            let mut piece = reader.base.inserted(step.body, &step.urls);
            piece.insert(0, b',');
            Ok(Some((memory.hold(piece), (reader, left))))
        }))
    }
}
