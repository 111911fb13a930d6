//! A list that is read step by step while it is sent: each step in a snapshot of its own, and only
//! after the reader has taken the previous one. So memory does not grow with the list, and a slow
//! reader holds no snapshot open. The memory of a step is taken before it is read and returned once
//! the network has its bytes.

use std::io;
use std::time::Duration;

use axum::body::Body;
use caseload_model::issue_query::ListPosition;
use caseload_store::{ListStep, ReadBudget, StepForm, StoreError};
use futures_util::stream;

use super::deadline::{in_time, read_into_memory};
use super::noun::{ListRead, Noun, StepRead};
use crate::http::auth::Caller;
use crate::http::auth::require_working_key;
use crate::http::base_url::BaseUrl;
use crate::http::memory::{Memory, STREAM_WAIT};
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
    /// The list, to be read.
    pub(crate) fn list(&self, budget: ReadBudget) -> ListRead<'_, N> {
        ListRead {
            store: &*self.state.store,
            caller: &self.caller,
            query: self.query.clone(),
            view: self.view,
            bytes_max: self.bytes_max,
            budget,
        }
    }

    /// Reads a step, for which memory is waited for so long. The next one follows it. The memory
    /// is that of a page, because one record is written in any case.
    pub(crate) async fn step(
        &mut self,
        wait: Duration,
    ) -> Result<(ListStep<N::Id>, Memory), StoreError> {
        let wanted = || StepRead {
            after: self.after.clone(),
            records_max: self.records_max,
            form: self.form,
            count: self.count,
        };
        let read = |budget| N::step(self.list(budget), wanted());
        let (domain, limits) = (self.caller.domain_id, (PAGE_BYTES_AHEAD, wait));
        let (step, memory) = read_into_memory(&self.state, domain, limits, read).await?;
        if step.last.is_some() {
            self.after.clone_from(&step.last);
        }
        Ok((step, memory))
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
        let time = self.state.config.query_timeout;
        let counted = in_time(time, N::step(self.list(time.into()), first)).await?;
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
        self.step(STREAM_WAIT).await.map_err(|error| {
            tracing::warn!(%error, "a list breaks off");
            io::Error::other("the list cannot be read further")
        })
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
