//! How a task or an import is followed, and the caller that follows it. That caller stops when the
//! record is completed or removed, when the server stops, or when its key no longer works.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::task::TaskStatus;
use caseload_store::{Serve, StoreError};

use super::subject::Subject;
use crate::http::auth::Caller;
use crate::http::followed::Follow;
use crate::http::follower::Follower;
use crate::http::problem::Problem;
use crate::state::AppState;

impl Follow for Subject {
    type Id = String;

    fn id(&self) -> String {
        self.task.id.clone()
    }

    async fn again(&self, store: &dyn Serve, domain: DomainId) -> Result<Option<Self>, StoreError> {
        let of = (self.task.action.family(), self.kind());
        Self::find(store, domain, of, &self.task.id).await
    }

    fn is_later(&self, old: &Self) -> bool {
        let progress =
            |of: &Self| (of.task.status, of.task.counts.total - of.task.counts.unprocessed);
        self != old && progress(self) >= progress(old)
    }
}

/// A caller that follows a task or an import.
pub(super) struct TaskFollower {
    pub(super) subject: Subject,
    pub(super) domain_name: DomainName,
    later: Follower<Subject>,
}

impl TaskFollower {
    pub(super) fn new(state: &AppState, caller: &Caller, subject: Subject) -> Self {
        let later = Follower::new(&state.followed_tasks, state, caller, &subject);
        Self { subject, domain_name: caller.domain_name.clone(), later }
    }

    /// Waits for the next record. Returns false if there will be none.
    pub(super) async fn advance(&mut self) -> Result<bool, Problem> {
        if self.subject.task.status == TaskStatus::Completed {
            return Ok(false);
        }
        let Some(later) = self.later.later_than(&self.subject).await? else { return Ok(false) };
        self.subject = later;
        Ok(true)
    }
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
                assert_eq!(new.is_later(old), then > at, "{new:?} after {old:?}");
            }
        }
    }
}
