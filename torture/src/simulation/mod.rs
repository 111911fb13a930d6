//! Simulated schedules of the task engine. The runner, its workers and the rules of the store are
//! the real ones; clocks, network, kills and faults of the database are simulated on one thread
//! with a virtual clock. The seed of a schedule decides about every event, so a failure is
//! repeated by its seed. The laws are the invariants of ARCHITECTURE.md ([`laws`]).

mod chaos;
mod clients;
mod entries;
mod laws;
mod ledger;
mod link;
mod schedule;
mod server;
mod verdict;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use caseload_store_sqlite::InMemoryStore;
use caseload_testdata::SplitMix;
use parking_lot::Mutex;

use laws::Law;
use world::Played;

/// Of so many schedules one is played twice, and the histories are compared.
const REPEAT_EVERY: u64 = 50;

/// The figures of all schedules.
#[derive(Default)]
struct Totals {
    events: BTreeMap<&'static str, u64>,
    /// How often each law was checked.
    checked: BTreeMap<Law, u64>,
    simulated_seconds: u64,
}

/// Plays so many schedules, with the seeds from `seed` on.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) fn run(schedules: u64, seed: Option<u64>) -> Result<()> {
    let first = seed.unwrap_or_else(SplitMix::fresh_seed);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    println!("{schedules} schedules, seeds from {first} on");
    let begun = Instant::now();
    let (next, totals) = (AtomicU64::new(0), Mutex::new(Totals::default()));
    let failed: Mutex<Option<(u64, String)>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(schedules) {
            scope.spawn(|| {
                let found = play_next(first, schedules, &next, &totals);
                if let Some((number, fault)) = found {
                    // The others end at their next schedule.
                    next.store(schedules, Ordering::Relaxed);
                    failed.lock().get_or_insert((number, fault));
                }
            });
        }
    });
    let totals = totals.into_inner();
    totals.print();
    if let Some((number, fault)) = failed.into_inner() {
        if schedules > 1 {
            bail!("{fault}\nrepeat it with: torture simulate 1 {number}");
        }
        bail!("{fault}");
    }
    println!("every law held; {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Plays schedules until none is left; returns the number and the fault of one that broke a law.
fn play_next(
    first: u64,
    schedules: u64,
    next: &AtomicU64,
    totals: &Mutex<Totals>,
) -> Option<(u64, String)> {
    let store = match InMemoryStore::new() {
        Ok(store) => Arc::new(store),
        Err(error) => return Some((first, error.to_string())),
    };
    let mut own = Totals::default();
    let mut found = None;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= schedules {
            break;
        }
        let seed = first.wrapping_add(number);
        let played = schedule::play(&store, seed, schedules == 1);
        let again = number.is_multiple_of(REPEAT_EVERY) || schedules == 1;
        let fault =
            played.fault.clone().or_else(|| again.then(|| repeat(&store, seed, &played))?);
        own.add(&played);
        if let Some(fault) = fault {
            let trace = played.trace.join("\n");
            found = Some((seed, format!("seed {seed}: {fault}\n{trace}")));
            break;
        }
    }
    totals.lock().merge(own);
    found
}

/// Planning is pure: the same events lead to the same history.
fn repeat(store: &Arc<InMemoryStore>, seed: u64, before: &Played) -> Option<String> {
    let again = schedule::play(store, seed, false);
    let differ = again.history != before.history;
    differ.then(|| format!("{}, but they did not", Law::Pure.sentence()))
}

impl Totals {
    fn add(&mut self, played: &Played) {
        for (event, count) in &played.events {
            *self.events.entry(event).or_default() += count;
        }
        for (law, count) in &played.checked {
            *self.checked.entry(*law).or_default() += count;
        }
        self.simulated_seconds += played.seconds;
    }

    fn merge(&mut self, other: Self) {
        let Self { events, checked, simulated_seconds: seconds } = other;
        self.add(&Played { events, checked, seconds, ..Played::default() });
    }

    #[expect(clippy::print_stdout, reason = "the table is the program's output")]
    fn print(&self) {
        for (event, count) in &self.events {
            println!("{event:<64} {count:>12}");
        }
        let days = self.simulated_seconds / 86_400;
        println!("{:<64} {days:>12}", "simulated days");
        for (law, count) in &self.checked {
            println!("{:<64} {count:>12}", format!("law {}, checks", law.sentence()));
        }
    }
}
