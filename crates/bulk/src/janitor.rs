//! Has the store remove what has expired. Each step is a small write of its own, so that others
//! come in between; however much there is to remove, nobody waits for it. What a crash interrupts
//! goes on at the next look.

use std::time::Duration;

use caseload_store::StoreError;
use tokio::time::MissedTickBehavior;

use crate::worker::Workshop;

/// Pause between two steps: removing never takes more than a part of the writer's time.
const STEP_PAUSE: Duration = Duration::from_millis(5);

/// Looks for expired records again and again, until the runner stops.
pub(crate) async fn keep_clean(workshop: Workshop, every: Duration) {
    let mut stopping = workshop.stopping.clone();
    let mut look = tokio::time::interval(every);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !*stopping.borrow() {
        tokio::select! {
            _ = stopping.changed() => {}
            _ = look.tick() => purge(&workshop).await,
        }
    }
}

async fn purge(workshop: &Workshop) {
    while !*workshop.stopping.borrow() {
        match workshop.store.purge_expired(workshop.clock.now()).await {
            Ok(true) => tokio::time::sleep(STEP_PAUSE).await,
            Ok(false) | Err(StoreError::Closed) => return,
            Err(error) => {
                workshop.outage.tell(&error, "what has expired could not be removed");
                return;
            }
        }
    }
}
