//! The ledger of a schedule: the submissions of clients, and the tasks that the store committed,
//! noted in the moment of each commit. The laws of single commits are checked here.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::task::{Action, Outcome, Task, TaskStatus};
use caseload_store::profiles::CLOCK_AHEAD_MS_MAX;
use caseload_store::{ChunkApplied, ClaimedTask, Domain, Idempotent, StoredAnswer};

use super::entries::Planned;
use super::laws::Law;
use super::world::World;

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) domains: Vec<Domain>,
    pub(super) submissions: Vec<Submission>,
    /// Committed tasks, in the order of acceptance.
    pub(super) seen: Vec<Seen>,
    by_id: BTreeMap<String, usize>,
    /// Ids of profiles that clients know, by domain.
    pub(super) known: [Vec<String>; 2],
}

/// What a client wants once.
pub(super) struct Submission {
    /// Its idempotency key.
    pub(super) key: String,
    pub(super) domain: usize,
    pub(super) action: Action,
    pub(super) dry_run: bool,
    pub(super) entries: Vec<Planned>,
    /// The first answer that arrived.
    pub(super) answer: Option<StoredAnswer>,
    /// Whether a client asked for its end.
    pub(super) cancelled: bool,
}

/// A task as its last commit left it.
pub(super) struct Seen {
    pub(super) submission: usize,
    pub(super) task: Task,
    /// Of its last lease.
    epoch: i64,
    /// Attempts that ended with a fault of the task's own.
    faults: u32,
}

impl Ledger {
    /// The domain that is not this one; `None` if the request belongs to no single domain.
    pub(super) fn other(&self, domain: Option<DomainId>) -> Option<DomainId> {
        let domain = domain?;
        self.domains.iter().map(|one| one.id).find(|id| *id != domain)
    }

    /// Notes an accepted task, or a repeat.
    pub(super) fn accepted(&mut self, world: &World, submission: usize, answer: &Idempotent<Task>) {
        let tasks = || self.seen.iter().filter(|seen| seen.submission == submission);
        let key = &self.submissions[submission].key;
        let task = match answer {
            Idempotent::Done(task) => task,
            Idempotent::Replayed(first) => {
                let same = tasks().map(|seen| &seen.task.id).eq([&first.location]);
                return world.require(Law::Repeat, same, || {
                    format!("the repeat of {key} got the answer of {}", first.location)
                });
            }
        };
        world.require(Law::Repeat, tasks().next().is_none(), || {
            format!("{key} made the second task {}", task.id)
        });
        let (domain, family) = (self.submissions[submission].domain, task.action.family());
        let last = self.of_domain(domain).filter(|seen| seen.task.action.family() == family).last();
        // After a clock was ahead by more than that, creations return to the true time.
        let in_order = last.is_none_or(|last| {
            let (before, at) = (last.task.created_at.0, task.created_at.0);
            before <= at || before > at + CLOCK_AHEAD_MS_MAX
        });
        world.require(Law::Times, in_order, || {
            format!("{} is older than the task that was accepted before it", task.id)
        });
        let unfinished = self.of_domain(domain).filter(|seen| seen.task.outcome.is_none()).count();
        world.require(Law::Bounds, unfinished < world.plan.queue_max as usize, || {
            format!("{} is one more than the queue may have", task.id)
        });
        self.by_id.insert(task.id.clone(), self.seen.len());
        self.seen.push(Seen { submission, task: task.clone(), epoch: 0, faults: 0 });
    }

    /// The committed tasks of a domain, in the order of acceptance.
    pub(super) fn of_domain(&self, domain: usize) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| self.submissions[seen.submission].domain == domain)
    }

    /// Notes new leases. Of a domain's writing tasks, only the oldest unfinished one is leased.
    pub(super) fn claimed(&mut self, world: &World, claims: &[ClaimedTask]) {
        for claim in claims {
            let Some(&place) = self.by_id.get(&claim.task.id) else {
                return world.require(Law::Durable, false, || {
                    format!("{} was leased and never accepted", claim.task.id)
                });
            };
            let domain = self.submissions[self.seen[place].submission].domain;
            let before = self.seen[..place].iter().find(|seen| {
                self.submissions[seen.submission].domain == domain
                    && seen.task.action.writes()
                    && seen.task.outcome.is_none()
            });
            let first = !claim.task.action.writes() || before.is_none();
            world.require(Law::Chunk, first, || {
                format!("{} was leased before an older task of its domain ended", claim.task.id)
            });
            let seen = &mut self.seen[place];
            world.require(Law::Chunk, claim.lease_epoch > seen.epoch, || {
                format!("{} was leased twice under epoch {}", claim.task.id, claim.lease_epoch)
            });
            seen.epoch = claim.lease_epoch;
            self.changed(world, &claim.task, |_| {});
        }
    }

    /// Notes a chunk.
    pub(super) fn applied(&mut self, world: &World, epoch: i64, applied: &ChunkApplied) {
        let task = &applied.task;
        let Some(seen) = self.seen_of(&task.id) else { return };
        let current = seen.epoch == epoch;
        let done = seen.task.counts.unprocessed.saturating_sub(task.counts.unprocessed);
        world.require(Law::Chunk, current, || {
            format!("a chunk of {} committed under the old lease {epoch}", task.id)
        });
        let whole = done as usize == applied.done;
        world.require(Law::Chunk, whole, || {
            format!("a chunk of {} has {} entries and counts {done}", task.id, applied.done)
        });
        self.changed(world, task, |_| {});
    }

    /// Notes an attempt that ended with a fault.
    pub(super) fn attempt_failed(&mut self, world: &World, task: &Task, counted: bool) {
        self.changed(world, task, |seen| seen.faults += u32::from(counted));
    }

    /// Notes the present state of a task.
    pub(super) fn changed(&mut self, world: &World, task: &Task, note: impl FnOnce(&mut Seen)) {
        let Some(&place) = self.by_id.get(&task.id) else {
            return world
                .require(Law::Durable, false, || format!("no client submitted {}", task.id));
        };
        let seen = &mut self.seen[place];
        note(seen);
        let (before, after) = (seen.task.counts, task.counts);
        let forwards = after.is_conserved()
            && after.unprocessed <= before.unprocessed
            && after.succeeded >= before.succeeded
            && after.failed >= before.failed
            && task.status >= seen.task.status
            && (seen.task.outcome.is_none() || seen.task.outcome == task.outcome)
            && (task.status == TaskStatus::Completed) == task.outcome.is_some();
        world.require(Law::Chunk, forwards, || {
            format!("{} went from {:?} {before:?} to {task:?}", task.id, seen.task.status)
        });
        let cancelled = self.submissions[seen.submission].cancelled;
        let excused = match task.outcome {
            Some(Outcome::Cancelled) => cancelled,
            Some(Outcome::Failed) => seen.faults > 0,
            Some(_) => after.unprocessed == 0,
            None => true,
        };
        world.require(Law::Chunk, excused, || format!("nothing excuses the end of {task:?}"));
        seen.task = task.clone();
    }

    pub(super) fn seen_of(&self, id: &str) -> Option<&Seen> {
        self.by_id.get(id).map(|place| &self.seen[*place])
    }

    /// Notes an answer that arrived at a client: each is the same.
    pub(super) fn answered(&mut self, world: &World, submission: usize, answer: &StoredAnswer) {
        let submission = &mut self.submissions[submission];
        let first = submission.answer.get_or_insert_with(|| answer.clone());
        world.require(Law::Repeat, first == answer, || {
            format!("{} was answered with {answer:?} after {first:?}", submission.key)
        });
    }

    pub(super) fn all_ended(&self) -> bool {
        self.seen.iter().all(|seen| seen.task.outcome.is_some())
    }

    /// The tasks that have not ended.
    pub(super) fn unfinished(&self) -> String {
        let open = self.seen.iter().filter(|seen| seen.task.outcome.is_none());
        open.map(|seen| format!("{:?}\n", seen.task)).collect::<Vec<_>>().concat()
    }
}
