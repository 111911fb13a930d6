//! What an attack has to show: its rounds by kind, how long tasks of servers that were gone
//! waited, and how much was asked, refused, lost and acknowledged meanwhile. It judges nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Attack;
use super::fault::{Fault, Struck};
use super::fleet::lock;

#[derive(Default)]
pub(super) struct Tally {
    faults: BTreeMap<Fault, usize>,
    takeovers: BTreeMap<Fault, Vec<Duration>>,
    sessions: usize,
    /// Submissions that were acknowledged, and repeats of such with the same answer.
    pub(super) accepted: usize,
    pub(super) same: usize,
    pub(super) lost: usize,
    pub(super) unavailable: u64,
    pub(super) in_progress: u64,
    pub(super) cancelled: usize,
    pub(super) waits: usize,
    pub(super) holds: usize,
}

impl Tally {
    pub(super) fn add(&mut self, fault: Fault, struck: Struck) {
        *self.faults.entry(fault).or_default() += 1;
        self.takeovers.entry(fault).or_default().extend(struck.takeovers);
        self.sessions += struck.sessions;
    }
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
fn row(name: &str, value: impl std::fmt::Display) {
    println!("{name:<44} {value:>8}");
}

impl Attack {
    #[expect(clippy::print_stdout, reason = "the table is the program's output")]
    pub(super) fn print(&self) {
        let tally = &self.tally;
        row("rounds", tally.faults.values().sum::<usize>());
        for (fault, rounds) in &tally.faults {
            row(&format!("  {}", fault.name()), rounds);
        }
        row("sessions ended in a chunk", tally.sessions);
        for (fault, times) in &tally.takeovers {
            let mut times = times.clone();
            times.sort();
            if let (Some(most), middle) = (times.last(), times.get(times.len() / 2)) {
                let middle = middle.unwrap_or(most).as_secs_f64();
                let (name, count, most) = (fault.name(), times.len(), most.as_secs_f64());
                println!(
                    "{:<44} {count:>8} median {middle:.2} s, longest {most:.2} s",
                    format!("tasks taken over, {name}")
                );
            }
        }
        self.book.print();
        row("tasks acknowledged", tally.accepted);
        row("tasks whose end was asked for", tally.cancelled);
        row("repeats answered with the first answer", tally.same);
        row("ends of tasks waited for", tally.waits);
        self.print_singles();
        let seen = &self.fleet.seen;
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        row("answers 503", read(&seen.unavailable) + tally.unavailable);
        row("answers 409, still in progress", read(&seen.in_progress) + tally.in_progress);
        row("answers lost", read(&seen.lost) + tally.lost as u64);
        row("slowest answer, ms", read(&seen.slowest_ms));
        row("looks at everything, with a check", tally.holds);
    }

    fn print_singles(&self) {
        let sum = |of: fn(&super::Singles) -> u64| -> u64 {
            self.singles.iter().map(|singles| of(&lock(singles))).sum()
        };
        row("single writes acknowledged", sum(|s| s.acknowledged));
        row("  repeats of them", sum(|s| s.repeats));
        row("  given up without an answer", sum(|s| s.given_up));
        for (n, name) in ["ascending", "descending"].iter().enumerate() {
            let both = self.followed.iter().map(|of| lock(&of[n]));
            let (polls, changes) =
                both.fold((0, 0), |sum, of| (sum.0 + of.polls, sum.1 + of.changes));
            row(&format!("changes followed, {name}, of {polls} polls"), changes);
        }
    }
}
