//! The settling loop: has the store take written texts into its index, step by step. A step is a
//! small write of its own, so other writes come in between. A crash loses nothing: the next step
//! resumes. Answers do not depend on it, only the speed of filters on texts.

use std::sync::Arc;
use std::time::Duration;

use caseload_store::{SettleTexts, StoreError, Upkeep};
use tokio::time::MissedTickBehavior;

use crate::context::Context;

/// Pause between two steps, so that settling takes only a part of the writer's time.
const STEP_PAUSE: Duration = Duration::from_millis(5);
/// Rounds after which segments with deleted issues are replaced, too.
const ROUNDS_PER_ERASURE: u32 = 600;

/// Settles every so often until the runner stops.
pub(crate) async fn settling_loop(context: Context, store: Arc<dyn Upkeep>, every: Duration) {
    let mut stopping = context.stopping.clone();
    let mut round = tokio::time::interval(every);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rounds = 0_u32;
    while !*stopping.borrow() {
        tokio::select! {
            biased;
            _ = stopping.changed() => {}
            _ = round.tick() => {
                rounds += 1;
                let erases = rounds.is_multiple_of(ROUNDS_PER_ERASURE);
                let how = if erases { SettleTexts::Erasures } else { SettleTexts::Due };
                settle(&context, &*store, how).await;
            }
        }
    }
}

async fn settle(context: &Context, store: &dyn Upkeep, how: SettleTexts) {
    while !*context.stopping.borrow() {
        match store.settle_texts(how).await {
            Ok(true) => tokio::time::sleep(STEP_PAUSE).await,
            Ok(false) | Err(StoreError::Closed) => return,
            Err(error) => {
                context.outage.report(&error, "texts could not be taken into the index");
                return;
            }
        }
    }
}
