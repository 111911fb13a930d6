//! The fair queue: which of the unfinished tasks are leased next. Per domain the oldest unfinished
//! writing task is runnable and no other writing one; reading tasks are always runnable. The domain
//! with the fewest running tasks comes first. If only a part of a long queue is read, its running
//! tasks are not known, and the domains have their turns in the order of that part. Pure: a backend
//! adds the tasks that it reads, and leases those that are chosen.

use caseload_model::ids::DomainId;

/// The unfinished tasks as one transaction reads them.
#[derive(Debug)]
pub(super) struct FairQueue {
    in_turns: bool,
    domains: Vec<DomainQueue>,
}

#[derive(Debug)]
struct DomainQueue {
    id: DomainId,
    has_writer: bool,
    running: u32,
    /// Places of the runnable tasks.
    runnable: Vec<QueuePlace>,
}

/// A task's place in the queue, ordered as the tasks of a domain are: a smaller one is older.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePlace {
    pub seq: i64,
    pub domain: DomainId,
    pub id: String,
}

/// The columns of an unfinished task that decide when it is leased.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub(super) struct QueuedTask {
    pub(super) place: QueuePlace,
    pub(super) writes: bool,
    /// Whether a server works on it.
    pub(super) leased: bool,
    /// Whether it may run by now.
    pub(super) due: bool,
    /// Whether it may have to be marked as queued.
    pub(super) is_new: bool,
}

impl FairQueue {
    /// The whole queue.
    pub(super) const fn whole() -> Self {
        Self { in_turns: false, domains: Vec::new() }
    }

    /// A part of a long one, with its runnable tasks alone.
    pub(super) const fn part() -> Self {
        Self { in_turns: true, domains: Vec::new() }
    }

    pub(super) const fn is_part(&self) -> bool {
        self.in_turns
    }

    /// Adds a task. Tasks come by domain; in a domain first those that read, and the oldest first.
    pub(super) fn add(&mut self, task: QueuedTask) {
        let id = task.place.domain;
        if self.domains.last().is_none_or(|last| last.id != id) {
            let new = DomainQueue { id, has_writer: false, running: 0, runnable: Vec::new() };
            self.domains.push(new);
        }
        let Some(domain) = self.domains.last_mut() else { return };
        if task.writes && std::mem::replace(&mut domain.has_writer, true) {
            return;
        }
        if task.leased {
            domain.running += 1;
        } else if task.due {
            domain.runnable.push(task.place);
        }
    }

    /// At most `tasks_max` tasks: again and again one of the domain that has the fewest so far.
    pub(super) fn choose(self, tasks_max: usize) -> Vec<QueuePlace> {
        let Self { in_turns, mut domains } = self;
        for domain in &mut domains {
            domain.runnable.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut chosen = Vec::new();
        while chosen.len() < tasks_max {
            let waiting = domains.iter_mut().filter(|domain| !domain.runnable.is_empty());
            // Of several smallest ones the first is taken.
            let next = waiting.min_by_key(|domain| {
                let oldest = domain.runnable.last().filter(|_| !in_turns);
                (domain.running, oldest.cloned())
            });
            let Some(domain) = next else { break };
            chosen.extend(domain.runnable.pop());
            domain.running += 1;
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use caseload_model::ids::DomainId;

    use super::{FairQueue, QueuePlace, QueuedTask};

    /// A task: domain, place, whether it writes, is leased, is due.
    type Task = (i64, i64, bool, bool, bool);

    #[test]
    fn domains_with_fewer_running_tasks_come_first_and_older_tasks_before_newer() {
        let reads = |domain, place| (domain, place, false, false, true);
        let leased = |domain, place| (domain, place, false, true, true);
        let cases: [(&[Task], usize, &[i64]); 4] = [
            (&[], 3, &[]),
            (&[reads(1, 1), reads(1, 2), reads(1, 3), reads(2, 4)], 3, &[1, 4, 2]),
            (&[leased(1, 7), leased(1, 8), reads(1, 1), reads(2, 9), reads(2, 10)], 2, &[9, 10]),
            (&[reads(1, 5), reads(2, 3)], 9, &[3, 5]),
        ];
        for (tasks, tasks_max, expected) in cases {
            assert_eq!(chosen(tasks, tasks_max), expected, "{tasks:?}");
        }
    }

    #[test]
    fn of_a_domains_writing_tasks_the_oldest_alone_is_runnable() {
        let writes = |domain, place, leased, due| (domain, place, true, leased, due);
        let cases: [(&[Task], &[i64]); 4] = [
            (&[writes(1, 1, false, true), writes(1, 2, false, true)], &[1]),
            (&[writes(1, 1, true, true), writes(1, 2, false, true)], &[]),
            (&[writes(1, 1, false, false), writes(1, 2, false, true)], &[]),
            (&[writes(1, 1, true, true), writes(2, 2, false, true)], &[2]),
        ];
        for (tasks, expected) in cases {
            assert_eq!(chosen(tasks, 9), expected, "{tasks:?}");
        }
    }

    #[test]
    fn in_a_part_of_a_long_queue_the_domains_have_their_turns() {
        let reads = |domain, place| (domain, place, false, false, true);
        let tasks = [reads(7, 5), reads(7, 6), reads(9, 8), reads(2, 1), reads(2, 3)];
        assert_eq!(chosen_of(FairQueue::part(), &tasks, 4), [5, 8, 1, 6]);
    }

    fn chosen(tasks: &[Task], tasks_max: usize) -> Vec<i64> {
        chosen_of(FairQueue::whole(), tasks, tasks_max)
    }

    fn chosen_of(mut queue: FairQueue, tasks: &[Task], tasks_max: usize) -> Vec<i64> {
        for (domain, seq, writes, leased, due) in tasks.iter().copied() {
            let place = QueuePlace { seq, domain: DomainId(domain), id: String::new() };
            queue.add(QueuedTask { place, writes, leased, due, is_new: false });
        }
        queue.choose(tasks_max).iter().map(|place| place.seq).collect()
    }
}
