//! Whose turn it is: which of the tasks that wait are leased next. Per domain the oldest unfinished
//! writing task is runnable and no other writing one; reading tasks are free. Domains take turns,
//! and the one with the fewest running tasks comes first. Pure: a backend says what it sees in its
//! queue, and leases what was chosen.

use std::collections::BTreeMap;

/// The queue as it is seen once. `P` names a task's place; smaller is older.
#[derive(Debug)]
pub struct Turns<P> {
    domains: BTreeMap<i64, Turn<P>>,
    domain_with_writer: Option<i64>,
}

/// A domain's claim to a turn.
#[derive(Debug, Clone)]
struct Turn<P> {
    running: u32,
    /// Runnable tasks, oldest first.
    runnable: Vec<P>,
}

/// An unfinished task, as far as turns go.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub domain: i64,
    pub writes: bool,
    /// Whether a server works on it.
    pub leased: bool,
    /// Whether it may run by now.
    pub due: bool,
}

impl<P> Default for Turns<P> {
    fn default() -> Self {
        Self { domains: BTreeMap::new(), domain_with_writer: None }
    }
}

impl<P: Clone + Ord> Turns<P> {
    /// Adds a task. They come by domain, in it reading ones first, and then the oldest first.
    pub fn see(&mut self, task: Waiting, place: P) {
        let turn = self.domains.entry(task.domain).or_default();
        if task.writes && self.domain_with_writer.replace(task.domain) == Some(task.domain) {
            return;
        }
        if task.leased {
            turn.running += 1;
        } else if task.due {
            turn.runnable.push(place);
        }
    }

    /// At most `tasks_max` tasks: always one more of the domain that has the fewest so far.
    pub fn choose(self, tasks_max: usize) -> Vec<P> {
        let mut turns: Vec<_> = self.domains.into_values().collect();
        for turn in &mut turns {
            turn.runnable.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut chosen = Vec::new();
        while chosen.len() < tasks_max {
            let open = turns.iter_mut().filter(|turn| !turn.runnable.is_empty());
            let next = open.min_by_key(|turn| (turn.running, turn.runnable.last().cloned()));
            let Some(turn) = next else { break };
            chosen.extend(turn.runnable.pop());
            turn.running += 1;
        }
        chosen
    }
}

impl<P> Default for Turn<P> {
    fn default() -> Self {
        Self { running: 0, runnable: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Turns, Waiting};

    /// A task that is seen: domain, place, whether it writes, is leased, is due.
    type Seen = (i64, i64, bool, bool, bool);

    #[test]
    fn domains_with_fewer_running_tasks_come_first_and_older_tasks_before_newer() {
        let reads = |domain, place| (domain, place, false, false, true);
        let leased = |domain, place| (domain, place, false, true, true);
        let cases: [(&[Seen], usize, &[i64]); 4] = [
            (&[], 3, &[]),
            (&[reads(1, 1), reads(1, 2), reads(1, 3), reads(2, 4)], 3, &[1, 4, 2]),
            (&[leased(1, 7), leased(1, 8), reads(1, 1), reads(2, 9), reads(2, 10)], 2, &[9, 10]),
            (&[reads(1, 5), reads(2, 3)], 9, &[3, 5]),
        ];
        for (seen, tasks_max, expected) in cases {
            assert_eq!(chosen(seen, tasks_max), expected, "{seen:?}");
        }
    }

    #[test]
    fn of_a_domains_writing_tasks_the_oldest_alone_is_runnable() {
        let writes = |domain, place, leased, due| (domain, place, true, leased, due);
        let cases: [(&[Seen], &[i64]); 4] = [
            (&[writes(1, 1, false, true), writes(1, 2, false, true)], &[1]),
            (&[writes(1, 1, true, true), writes(1, 2, false, true)], &[]),
            (&[writes(1, 1, false, false), writes(1, 2, false, true)], &[]),
            (&[writes(1, 1, true, true), writes(2, 2, false, true)], &[2]),
        ];
        for (seen, expected) in cases {
            assert_eq!(chosen(seen, 9), expected, "{seen:?}");
        }
    }

    fn chosen(seen: &[Seen], tasks_max: usize) -> Vec<i64> {
        let mut turns = Turns::default();
        for (domain, place, writes, leased, due) in seen.iter().copied() {
            turns.see(Waiting { domain, writes, leased, due }, place);
        }
        turns.choose(tasks_max)
    }
}
