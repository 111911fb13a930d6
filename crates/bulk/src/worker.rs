//! One claimed task, from its first unprocessed entry to its completion. Every step that counts is
//! a commit of the store's; when the runner stops, the worker ends at the next chunk edge and the
//! task goes on after the restart.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::task::TaskStatus;
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{
    ApplyChunk, ChunkFeed, ClaimedTask, FailAttempt, FeedLimits, Store, StoreError,
};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::chunk::ChunkSource;
use crate::outage::Outage;

/// Milliseconds before a task that met a fault of the server's is tried again.
const RETRY_AFTER_MS: i64 = 5_000;
/// Milliseconds before a fault that could not be recorded is recorded again.
const RECORD_AGAIN_MS: u64 = 1_000;

/// What workers share.
#[derive(Clone)]
pub(crate) struct Workshop {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) feeds: FeedLimits,
    pub(crate) outage: Arc<Outage>,
}

impl Workshop {
    /// Runs a claimed task. A fault of the server's, a panic included, is counted against it,
    /// unless it is a disk that cannot be written or a database that is not there: that is waited
    /// out.
    pub(crate) async fn run(mut self, claim: ClaimedTask) {
        let work = tokio::spawn(self.clone().process(claim.clone()));
        let (fault, counted) = match work.await {
            Ok(Ok(()) | Err(StoreError::LeaseLost | StoreError::Closed)) => return,
            Ok(Err(error)) => (error.to_string(), !passes(&error)),
            Err(stopped) if stopped.is_panic() => ("a worker panicked".to_owned(), true),
            Err(_) => return,
        };
        tracing::error!(task_id = claim.task.id, %fault, "a bulk action task met a fault");
        // Until that is recorded the task is leased to this server and nobody works on it.
        while !*self.stopping.borrow() {
            let now = self.clock.now();
            let failed = self.store.fail_attempt(FailAttempt {
                domain: claim.domain,
                task_id: claim.task.id.clone(),
                lease_epoch: claim.lease_epoch,
                now,
                counted,
                retry_at: UnixMillis(now.0 + RETRY_AFTER_MS),
            });
            match failed.await {
                Ok(_) | Err(StoreError::LeaseLost | StoreError::Closed) => return,
                Err(error) => self.outage.tell(&error, "the fault could not be recorded"),
            }
            let pause = Duration::from_millis(RECORD_AGAIN_MS);
            let _ = tokio::time::timeout(pause, self.stopping.changed()).await;
        }
    }

    /// Applies the task's entries while the next ones are validated.
    async fn process(self, claim: ClaimedTask) -> Result<(), StoreError> {
        let source = ChunkSource {
            domain: claim.domain,
            domain_name: claim.domain_name.clone(),
            task_id: claim.task.id.clone(),
            action: claim.task.action,
            dry_run: claim.task.dry_run,
        };
        let feed = Arc::new(ChunkFeed::new(self.feeds.clone()));
        let mut filling = JoinSet::new();
        let left = claim.task.counts.unprocessed;
        filling.spawn(source.fill(self.store.clone(), feed.clone(), claim.next_index, left));
        let mut rest = None;
        while !*self.stopping.borrow() {
            let part = match rest.take() {
                Some(part) => part,
                None => match feed.next().await {
                    Some(part) => part,
                    None => return Err(ended_early(filling).await),
                },
            };
            let applied = self.store.apply_chunk(ApplyChunk {
                domain: claim.domain,
                domain_name: claim.domain_name.clone(),
                task_id: claim.task.id.clone(),
                action: claim.task.action,
                dry_run: claim.task.dry_run,
                lease_epoch: claim.lease_epoch,
                part,
                more: Some(feed.clone()),
                now: self.clock.now(),
            });
            let applied = applied.await?;
            if applied.task.status == TaskStatus::Completed {
                break;
            }
            assert!(applied.done > 0, "the store applied nothing of a chunk");
            rest = applied.rest;
        }
        Ok(())
    }
}

/// Whether a fault is one of the store's that would be any task's, and goes by itself.
const fn passes(error: &StoreError) -> bool {
    matches!(error, StoreError::NotWritten(_) | StoreError::Unreachable(_))
}

/// Why a feed ended before its task.
async fn ended_early(mut filling: JoinSet<Result<(), StoreError>>) -> StoreError {
    match filling.join_next().await {
        Some(Ok(Err(error))) => error,
        Some(Err(stopped)) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
        _ => StoreError::Corrupt("a payload ends before its task".to_owned()),
    }
}
