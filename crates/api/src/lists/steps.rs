//! A list that is read step by step while it is sent: each step in a snapshot of its own, and only
//! after the reader has taken the previous one. So memory does not grow with the list, and a slow
//! reader holds no snapshot open. The memory of a step is taken before it is read and returned once
//! the network has its bytes.

use std::io;
use std::time::Duration;

use axum::body::Body;
use caseload_store::{Serve, StepForm, StoreError};
use futures_util::stream;

use super::deadline::in_time;
use crate::http::auth::Caller;
use crate::http::auth::require_working_key;
use crate::http::base_url::BaseUrl;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::state::AppState;

/// A list is rendered at most this far ahead of its reader.
pub(crate) const PAGE_BYTES_AHEAD: usize = 8 << 20;

/// A request for the records that follow a position.
pub(crate) trait ListSteps: Send + 'static {
    /// Reads a step. The next one follows it.
    fn step(&mut self, store: &dyn Serve) -> impl Future<Output = Result<Step, StoreError>> + Send;

    /// The token from which the list continues after this many pages; `None` before the first
    /// record.
    fn cursor(&self, pages: u32) -> Option<String>;

    fn set_form(&mut self, form: StepForm);
    fn set_records_max(&mut self, records: u64);
    fn bytes_max(&self) -> usize;
    fn budget(&self) -> Duration;
}

/// Some records of a list.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) count: u32,
    pub(crate) body: Vec<u8>,
    /// The positions in the body of paths, before which the server puts its address.
    pub(crate) urls: Vec<usize>,
    /// Whether records follow.
    pub(crate) more: bool,
}

/// The rest of a list.
pub(crate) struct ListReader<R> {
    pub(crate) state: AppState,
    pub(crate) caller: Caller,
    pub(crate) base: BaseUrl,
    /// The next step.
    pub(crate) request: R,
}

impl<R: ListSteps> ListReader<R> {
    /// The memory of the first step, before anything was sent.
    pub(crate) async fn memory(&self) -> Result<Memory, Problem> {
        self.state.memory.take(Some(self.caller.domain_id), self.bytes()).await
    }

    /// The memory that a step may need: one record is written in any case.
    fn bytes(&self) -> usize {
        self.request.bytes_max().max(PAGE_BYTES_AHEAD)
    }

    pub(crate) async fn step(&mut self) -> Result<Step, StoreError> {
        let budget = self.request.budget();
        in_time(budget, self.request.step(&*self.state.store)).await
    }

    /// A further step of a body that has begun.
    pub(crate) async fn next(&mut self) -> io::Result<(Step, Memory)> {
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
            reader.request.set_records_max(left);
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
