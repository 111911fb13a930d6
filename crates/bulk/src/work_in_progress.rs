//! How many tasks a server works on now. Work that can wait gives way to them for a while: it would
//! take a processor from a task, and a caller waits for the task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The pause between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// The tasks that the workers of one server have. Clones count the same tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkInProgress(Arc<AtomicUsize>);

/// Counts as a task until it is dropped.
#[derive(Debug)]
pub(crate) struct TaskInProgress(Arc<AtomicUsize>);

impl WorkInProgress {
    pub(crate) fn begin(&self) -> TaskInProgress {
        self.0.fetch_add(1, Ordering::Relaxed);
        TaskInProgress(self.0.clone())
    }

    /// Waits until no task is worked on, at the longest until `deadline`.
    pub(crate) async fn pause_until(&self, deadline: Instant) {
        while self.0.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            sleep(LOOK_PAUSE).await;
        }
    }
}

impl Drop for TaskInProgress {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_can_wait_begins_after_the_tasks_or_at_its_deadline() {
        let work = WorkInProgress::default();
        let begun = Instant::now();
        let late = begun + Duration::from_mins(1);
        work.pause_until(late).await;
        let tasks = [work.begin(), work.begin()];
        let early = Instant::now() + 2 * LOOK_PAUSE;
        work.pause_until(early).await;
        assert!(Instant::now() >= early, "tasks are worked on");
        let waiting = tokio::spawn({
            let work = work.clone();
            async move { work.pause_until(late).await }
        });
        for task in tasks {
            sleep(2 * LOOK_PAUSE).await;
            assert!(!waiting.is_finished(), "a task is worked on");
            drop(task);
        }
        waiting.await.expect("it waits");
        assert!(Instant::now() < late);
    }
}
