//! A list that is read step by step while it is sent: each step in a snapshot of its own, and only
//! after the reader has taken the previous one. So memory does not grow with the list, and a slow
//! reader holds no snapshot open. The memory of a step is taken before it is read and returned once
//! the network has its bytes.

use std::io;

use axum::body::Body;
use caseload_store::{IssueStep, StepIssues, StoreError};
use futures_util::stream;

use super::ahead::PAGE_BYTES_AHEAD;
use super::deadline::in_time;
use crate::auth::require_working_key;
use crate::base_url::BaseUrl;
use crate::memory::Memory;
use crate::problem::Problem;
use crate::{AppState, Caller};

/// The rest of a list.
pub(super) struct IssueSteps {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    pub(super) base: BaseUrl,
    /// The next step.
    pub(super) request: StepIssues,
}

impl IssueSteps {
    /// The memory of the first step, before anything was sent.
    pub(super) async fn memory(&self) -> Result<Memory, Problem> {
        self.state.memory.take(Some(self.caller.domain_id), self.bytes()).await
    }

    /// The memory that a step may need: one issue is written in any case.
    fn bytes(&self) -> usize {
        self.request.bytes_max.max(PAGE_BYTES_AHEAD)
    }

    pub(super) async fn step(&mut self) -> Result<IssueStep, StoreError> {
        let read = self.state.store.step_issues(self.request.clone());
        let step = in_time(self.request.budget, read).await?;
        self.request.after = step.last.or(self.request.after);
        Ok(step)
    }

    /// A further step of a body that has begun.
    pub(super) async fn next(&mut self) -> io::Result<(IssueStep, Memory)> {
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
            io::Error::other("the issues cannot be read further")
        })?;
        Ok((step, memory))
    }

    /// The remaining issues of a page, of which there are at most `left`, each after a comma.
    pub(super) fn rest_of_page(self, left: u64) -> Body {
        let begin = (self, left);
        Body::from_stream(stream::try_unfold(begin, |(mut steps, left)| async move {
            if left == 0 {
                return Ok::<_, io::Error>(None);
            }
            steps.request.issues_max = left;
            let (step, memory) = steps.next().await?;
            if step.count == 0 {
                return Ok(None);
            }
            let left = if step.more { left.saturating_sub(u64::from(step.count)) } else { 0 };
            let mut piece = steps.base.inserted(step.body, &step.urls);
            piece.insert(0, b',');
            Ok(Some((memory.hold(piece), (steps, left))))
        }))
    }
}
