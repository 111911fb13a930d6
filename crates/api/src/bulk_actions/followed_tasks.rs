//! The tasks and imports that callers follow until they complete, to wait for them or to stream
//! their changes.
//! One loop reads the store for all callers, one task after another. Callers that follow the same
//! task share its reads, and many tasks make the rounds longer instead of the load higher.
//! Invariant: followers see records that only move forward.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_store::Serve;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::subject::Subject;

/// The time between two rounds of reads while no task ends.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// Rounds take at most one part in ten of the time, however many tasks end.
const ROUND_SHARE: u32 = 10;
/// A burst of rounds may run ahead of that share by this much time.
const ROUNDS_AHEAD: Duration = Duration::from_millis(200);

/// The tasks that are followed now.
#[derive(Debug, Default)]
pub(crate) struct FollowedTasks {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tasks: HashMap<(DomainId, String), watch::Sender<Subject>>,
    /// Whether the loop runs. It ends when no task is followed.
    reading: bool,
}

impl FollowedTasks {
    pub(super) fn subscribe(
        self: &Arc<Self>,
        store: &Arc<dyn Serve>,
        domain: DomainId,
        subject: &Subject,
    ) -> watch::Receiver<Subject> {
        let mut inner = self.inner.lock();
        let sender = inner.tasks.entry((domain, subject.task.id.clone()));
        let mut records = sender.or_insert_with(|| watch::Sender::new(subject.clone())).subscribe();
        records.mark_changed();
        if !std::mem::replace(&mut inner.reading, true) {
            tokio::spawn(self.clone().read(store.clone()));
        }
        records
    }

    async fn read(self: Arc<Self>, store: Arc<dyn Serve>) {
        let mut ends = store.task_ends();
        let mut paid_until = Instant::now();
        while let Some(round) = self.round() {
            let began = Instant::now();
            for (domain, last) in round {
                let (id, of) = (&last.task.id, (last.task.action.family(), last.kind()));
                match Subject::find(&*store, domain, of, id).await {
                    Ok(found) => self.publish(domain, id, found),
                    Err(error) => tracing::debug!(%error, "a followed task cannot be read"),
                }
            }
            paid_until = began.max(paid_until) + began.elapsed() * ROUND_SHARE;
            tokio::time::sleep_until(paid_until - ROUNDS_AHEAD).await;
            let ended = async {
                if ends.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let _ = tokio::time::timeout(ROUND_PAUSE, ended).await;
        }
    }

    /// The tasks to read next, without those that have lost all followers. `None` ends the loop.
    fn round(&self) -> Option<Vec<(DomainId, Subject)>> {
        let mut inner = self.inner.lock();
        inner.tasks.retain(|_, records| records.receiver_count() > 0);
        inner.reading = !inner.tasks.is_empty();
        let round = inner.tasks.iter().map(|((domain, _), last)| (*domain, last.borrow().clone()));
        inner.reading.then(|| round.collect())
    }

    /// Sends a record to the followers of its task. If the task is gone, they stop following.
    fn publish(&self, domain: DomainId, id: &str, found: Option<Subject>) {
        let mut inner = self.inner.lock();
        let key = (domain, id.to_owned());
        match (found, inner.tasks.get(&key)) {
            (Some(task), Some(records)) => {
                records.send_if_modified(|last| {
                    let is_new = is_later(&task, last);
                    if is_new {
                        *last = task;
                    }
                    is_new
                });
            }
            (None, _) => drop(inner.tasks.remove(&key)),
            (Some(_), None) => {}
        }
    }
}

/// Whether `new` is a later record of the task than `old`. Reads may overtake each other.
pub(super) fn is_later(new: &Subject, old: &Subject) -> bool {
    let progress =
        |of: &Subject| (of.task.status, of.task.counts.total - of.task.counts.unprocessed);
    new != old && progress(new) >= progress(old)
}

#[cfg(test)]
mod tests {
    use caseload_model::task::{Action, Counts, Task, TaskOrigin, TaskStatus};
    use caseload_model::time::UnixMillis;

    use super::*;

    #[test]
    fn records_only_move_forward() {
        let record = |status, unprocessed| Task {
            id: "t".to_owned(),
            action: Action::GetCoreProfiles,
            status,
            outcome: None,
            dry_run: false,
            upsert: false,
            counts: Counts { total: 3, succeeded: 3 - unprocessed, failed: 0, unprocessed },
            created_at: UnixMillis(1),
            queued_at: None,
            started_at: None,
            completed_at: None,
            expires_at: None,
            parent_id: None,
            retried_by: None,
            run_by: None,
            origin: TaskOrigin::default(),
            warnings: 0,
            position: None,
            deaths: 0,
            next_try_at: None,
            import_id: None,
        };
        let record = |status, unprocessed| Subject::from(record(status, unprocessed));
        let states = [
            record(TaskStatus::Created, 3),
            record(TaskStatus::Queued, 3),
            record(TaskStatus::Processing, 3),
            record(TaskStatus::Processing, 1),
            record(TaskStatus::Completed, 0),
        ];
        for (at, old) in states.iter().enumerate() {
            for (then, new) in states.iter().enumerate() {
                assert_eq!(is_later(new, old), then > at, "{new:?} after {old:?}");
            }
        }
    }
}
