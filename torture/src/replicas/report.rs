//! The figures of an attack: rounds by fault, how long the tasks of missing servers waited, and how
//! many requests were acknowledged, refused and lost. It judges nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::fault::{Fault, FaultOutcome};
use super::fleet::CallCounts;
use super::follow::FollowerState;
use super::singles::SingleWrites;
use crate::laws::Ledger;

#[derive(Default)]
pub(super) struct Totals {
    faults: BTreeMap<Fault, usize>,
    takeovers: BTreeMap<Fault, Vec<Duration>>,
    sessions: usize,
    between_commits: usize,
    /// Acknowledged submissions, and repeats that got the same answer.
    pub(super) accepted: usize,
    pub(super) same: usize,
    pub(super) lost: usize,
    pub(super) unavailable: u64,
    pub(super) in_progress: u64,
    pub(super) cancelled: usize,
    pub(super) waits: usize,
    pub(super) verifications: usize,
}

impl Totals {
    pub(super) fn add(&mut self, fault: Fault, outcome: FaultOutcome) {
        *self.faults.entry(fault).or_default() += 1;
        self.takeovers.entry(fault).or_default().extend(outcome.takeovers);
        self.sessions += outcome.sessions;
        self.between_commits += outcome.between_commits;
    }
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
fn row(name: &str, value: impl std::fmt::Display) {
    println!("{name:<44} {value:>8}");
}

/// The parts of an attack that a report has figures of.
pub(super) struct Parts<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) singles: &'a [Arc<Mutex<SingleWrites>>; 2],
    pub(super) followed: &'a [[Arc<Mutex<FollowerState>>; 2]; 2],
    pub(super) calls: &'a CallCounts,
}

impl Totals {
    #[expect(clippy::print_stdout, reason = "the table is the program's output")]
    pub(super) fn print(&self, parts: &Parts<'_>) {
        row("rounds", self.faults.values().sum::<usize>());
        for (fault, rounds) in &self.faults {
            row(&format!("  {}", fault.name()), rounds);
        }
        row("sessions ended in a chunk", self.sessions);
        row("commits stopped between two nodes", self.between_commits);
        for (fault, times) in &self.takeovers {
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
        parts.ledger.print();
        row("tasks acknowledged", self.accepted);
        row("tasks cancelled", self.cancelled);
        row("repeats answered with the first answer", self.same);
        row("waits for the end of a task", self.waits);
        print_singles(parts);
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        row("answers 503", read(&parts.calls.unavailable) + self.unavailable);
        row("answers 409, still in progress", read(&parts.calls.in_progress) + self.in_progress);
        row("answers lost", read(&parts.calls.lost) + self.lost as u64);
        row("slowest answer, ms", read(&parts.calls.slowest_ms));
        row("verifications of all data, with a check", self.verifications);
    }
}

fn print_singles(parts: &Parts<'_>) {
    let sum = |of: fn(&SingleWrites) -> u64| -> u64 {
        parts.singles.iter().map(|singles| of(&singles.lock())).sum()
    };
    row("single writes acknowledged", sum(|s| s.acknowledged));
    row("  repeats of them", sum(|s| s.repeats));
    row("  given up without an answer", sum(|s| s.given_up));
    for (n, name) in ["ascending", "descending"].iter().enumerate() {
        let both = parts.followed.iter().map(|of| of[n].lock());
        let (polls, changes) = both.fold((0, 0), |sum, of| (sum.0 + of.polls, sum.1 + of.changes));
        row(&format!("changes followed, {name}, of {polls} polls"), changes);
    }
}
