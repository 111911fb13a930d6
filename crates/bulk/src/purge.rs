//! The purge loop: has the store remove expired records. Each step is a small write of its own, so
//! other writes come in between, however much there is to remove. A crash loses nothing: the next
//! round resumes. Records expire by an [`ExpiryClock`], because a removal cannot be undone.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::UnixMillis;
use caseload_store::{StoreError, StoreFuture, Upkeep};
use tokio::time::{Instant, MissedTickBehavior};

use crate::context::Context;
use crate::expiry_clock::ExpiryClock;

/// Pause between two steps, so that purging takes only a part of the writer's time.
const STEP_PAUSE: Duration = Duration::from_millis(5);

/// Purges every so often until the runner stops.
pub(crate) async fn purge_loop(
    context: Context,
    store: Arc<dyn Upkeep>,
    (every, keep_changes): (Duration, Option<Duration>),
    mut expiry: ExpiryClock,
) {
    let mut stopping = context.stopping.clone();
    let mut round = tokio::time::interval(every);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !*stopping.borrow() {
        tokio::select! {
            biased;
            _ = stopping.changed() => {}
            _ = round.tick() => {
                if let Some(now) = expiry.time(context.clock.now(), Instant::now()) {
                    purge(&context, || store.purge_expired(now)).await;
                    if let Some(kept) = keep_changes {
                        let kept = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
                        let before = UnixMillis(now.0.saturating_sub(kept));
                        purge(&context, || store.purge_changes(before)).await;
                    }
                }
            }
        }
    }
}

/// Takes one step after the other until nothing is left.
async fn purge<'s>(context: &Context, step: impl Fn() -> StoreFuture<'s, bool>) {
    while !*context.stopping.borrow() {
        match step().await {
            Ok(true) => tokio::time::sleep(STEP_PAUSE).await,
            Ok(false) | Err(StoreError::Closed) => return,
            Err(error) => {
                context.outage.report(&error, "expired records could not be removed");
                return;
            }
        }
    }
}
