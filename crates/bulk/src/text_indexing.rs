//! The text indexing loop: has the store take written texts into its index, step by step. A step is
//! a small write, so other writes come in between, and it gives way to the tasks of its server for
//! a while. A crash loses nothing: the next step resumes. Answers do not depend on it, only the
//! speed of filters on texts.

use std::sync::Arc;
use std::time::Duration;

use caseload_store::{IndexTexts, StoreError, Upkeep};
use tokio::time::{Instant, MissedTickBehavior};

use crate::context::Context;

/// Pause between two steps, so that indexing takes only a part of the writer's time.
const STEP_PAUSE: Duration = Duration::from_millis(5);
/// How long a round gives way to tasks, all its steps together: searches go through the texts that
/// are not indexed one by one.
const GIVES_WAY_MAX: Duration = Duration::from_secs(5);
/// Rounds that a server leaves out at most, one more after each round that found nothing: every
/// round asks all nodes of the store, and another server may index these texts.
const ROUNDS_LEFT_OUT_MAX: u32 = 9;
/// Rounds after which segments with deleted issues are replaced, too.
const ROUNDS_PER_ERASURE: u32 = 600;

/// Indexes texts every so often until the runner stops.
pub(crate) async fn text_indexing_loop(context: Context, store: Arc<dyn Upkeep>, every: Duration) {
    let mut stopping = context.stopping.clone();
    let mut round = tokio::time::interval(every);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut rounds, mut left_out, mut idle) = (0_u32, 0, 0);
    while !*stopping.borrow() {
        tokio::select! {
            biased;
            _ = stopping.changed() => {}
            _ = round.tick() => {
                rounds += 1;
                let erases = rounds.is_multiple_of(ROUNDS_PER_ERASURE);
                if left_out < idle && !erases {
                    left_out += 1;
                    continue;
                }
                let how = if erases { IndexTexts::Erasures } else { IndexTexts::Due };
                let found = index_texts(&context, &*store, how).await;
                idle = if found { 0 } else { ROUNDS_LEFT_OUT_MAX.min(idle + 1) };
                left_out = 0;
            }
        }
    }
}

/// Returns whether there was something to do.
async fn index_texts(context: &Context, store: &dyn Upkeep, how: IndexTexts) -> bool {
    let mut found = false;
    let begins_by = Instant::now() + GIVES_WAY_MAX;
    while !*context.stopping.borrow() {
        context.work.pause_until(begins_by).await;
        match store.index_texts(how).await {
            Ok(true) => {
                found = true;
                tokio::time::sleep(STEP_PAUSE).await;
            }
            Ok(false) | Err(StoreError::Closed) => break,
            Err(error) => {
                context.outage.report(&error, "texts could not be taken into the index");
                break;
            }
        }
    }
    found
}
