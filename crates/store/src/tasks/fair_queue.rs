//! The fair queue: which of the unfinished tasks are leased next. Per domain the oldest unfinished
//! writing task is runnable and no other writing one; reading tasks are always runnable. The domain
//! with the fewest running tasks comes first. Pure: a backend adds the tasks that it reads, and
//! leases those that are chosen.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;

/// The unfinished tasks as one transaction reads them.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    domains: BTreeMap<DomainId, DomainQueue>,
    domain_with_writer: Option<DomainId>,
}

#[derive(Debug, Default)]
struct DomainQueue {
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
pub(super) struct QueuedTask {
    pub(super) place: QueuePlace,
    pub(super) writes: bool,
    /// Whether a server works on it.
    pub(super) leased: bool,
    /// Whether it may run by now.
    pub(super) due: bool,
}

impl FairQueue {
    /// Adds a task. Tasks come by domain; in a domain first those that read, and the oldest first.
    pub(super) fn add(&mut self, task: QueuedTask) {
        let id = task.place.domain;
        let domain = self.domains.entry(id).or_default();
        if task.writes && self.domain_with_writer.replace(id) == Some(id) {
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
        let mut domains: Vec<_> = self.domains.into_values().collect();
        for domain in &mut domains {
            domain.runnable.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut chosen = Vec::new();
        while chosen.len() < tasks_max {
            let waiting = domains.iter_mut().filter(|domain| !domain.runnable.is_empty());
            let next =
                waiting.min_by_key(|domain| (domain.running, domain.runnable.last().cloned()));
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

    fn chosen(tasks: &[Task], tasks_max: usize) -> Vec<i64> {
        let mut queue = FairQueue::default();
        for (domain, seq, writes, leased, due) in tasks.iter().copied() {
            let place = QueuePlace { seq, domain: DomainId(domain), id: String::new() };
            queue.add(QueuedTask { place, writes, leased, due });
        }
        queue.choose(tasks_max).iter().map(|place| place.seq).collect()
    }
}
