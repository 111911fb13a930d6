//! Following a task until it completes, for callers that wait and for event streams. However many
//! follow, the store is read by one loop, one task after another: all who follow the same task
//! share its reads, and many tasks make the rounds longer and not the load higher. Followers see
//! records that only go forward, and stop following when the server stops or their key no longer
//! works.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::task::Task;
use caseload_store::Serve;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time between two rounds of reading where no end of a task is heard of.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// Rounds of reading take at most one part in so many of the time, however many tasks end; less so
/// for a moment: as many rounds may follow each other as pay for this much time.
const ROUND_SHARE: u32 = 10;
const ROUNDS_AHEAD: Duration = Duration::from_millis(200);

/// The tasks that are followed now.
#[derive(Debug, Default)]
pub(crate) struct FollowedTasks {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tasks: HashMap<(DomainId, String), watch::Sender<Task>>,
    /// Whether the loop runs. It ends when nobody follows anything.
    reading: bool,
}

impl FollowedTasks {
    pub(super) fn subscribe(
        self: &Arc<Self>,
        store: &Arc<dyn Serve>,
        domain: DomainId,
        task: &Task,
    ) -> watch::Receiver<Task> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = inner.tasks.entry((domain, task.id.clone()));
        let mut records = sender.or_insert_with(|| watch::Sender::new(task.clone())).subscribe();
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
                match store.task(domain, last.action.family(), &last.id).await {
                    Ok(found) => self.publish(domain, &last.id, found),
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

    /// What to read next, without the tasks that nobody follows any more; `None` ends the reading.
    fn round(&self) -> Option<Vec<(DomainId, Task)>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.tasks.retain(|_, records| records.receiver_count() > 0);
        inner.reading = !inner.tasks.is_empty();
        let round = inner.tasks.iter().map(|((domain, _), last)| (*domain, last.borrow().clone()));
        inner.reading.then(|| round.collect())
    }

    /// A task that is gone ends for its followers.
    fn publish(&self, domain: DomainId, id: &str, found: Option<Task>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (domain, id.to_owned());
        match (found, inner.tasks.get(&key)) {
            (Some(task), Some(records)) => {
                records.send_if_modified(|last| {
                    let is_news = is_later(&task, last);
                    if is_news {
                        *last = task;
                    }
                    is_news
                });
            }
            (None, _) => drop(inner.tasks.remove(&key)),
            (Some(_), None) => {}
        }
    }
}

/// Whether `new` is a later record of the task than `old`: reads may overtake each other.
pub(super) fn is_later(new: &Task, old: &Task) -> bool {
    let place = |task: &Task| (task.status, task.counts.total - task.counts.unprocessed);
    new != old && place(new) >= place(old)
}

#[cfg(test)]
mod tests {
    use caseload_model::task::{Action, Counts, TaskStatus};
    use caseload_model::time::UnixMillis;

    use super::*;

    #[test]
    fn records_only_go_forward() {
        let record = |status, unprocessed| Task {
            id: "t".to_owned(),
            action: Action::GetCoreProfiles,
            status,
            outcome: None,
            dry_run: false,
            counts: Counts { total: 3, succeeded: 3 - unprocessed, failed: 0, unprocessed },
            created_at: UnixMillis(1),
            queued_at: None,
            started_at: None,
            completed_at: None,
            expires_at: None,
            parent_id: None,
            position: None,
        };
        let way = [
            record(TaskStatus::Created, 3),
            record(TaskStatus::Queued, 3),
            record(TaskStatus::Processing, 3),
            record(TaskStatus::Processing, 1),
            record(TaskStatus::Completed, 0),
        ];
        for (at, old) in way.iter().enumerate() {
            for (then, new) in way.iter().enumerate() {
                assert_eq!(is_later(new, old), then > at, "{new:?} after {old:?}");
            }
        }
    }
}
