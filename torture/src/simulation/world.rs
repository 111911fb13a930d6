//! The world of one schedule: its store, its random numbers, its clock and its history. All events
//! of a schedule happen on one thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use caseload_model::time::UnixMillis;
use caseload_store_sqlite::InMemoryStore;
use caseload_testdata::SplitMix;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::laws::Law;

/// The true time at the beginning of every schedule.
pub(super) const BEGIN_MS: i64 = 1_700_000_000_000;

/// The features of a schedule that its seed decides first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Servers that share the store; a single one has it alone.
    pub(super) servers: usize,
    /// One request in so many meets a fault; 0 for none.
    pub(super) fault_every: usize,
    /// One request in so many takes longer than a lease; 0 for none.
    pub(super) stall_every: usize,
    /// Kills, cuts, stops and jumps of clocks.
    pub(super) blows: usize,
    /// The most unfinished tasks of a domain.
    pub(super) queue_max: u32,
}

impl Plan {
    fn choose(random: &mut SplitMix) -> Self {
        Self {
            servers: random.pick(&[1, 1, 2, 3]),
            fault_every: random.pick(&[0, 40, 8]),
            stall_every: random.pick(&[0, 0, 60, 15]),
            blows: random.pick(&[0, 1, 3, 6]),
            queue_max: random.pick(&[1, 3, 1000]),
        }
    }
}

/// The events of a schedule.
#[derive(Default)]
struct History {
    hash: u64,
    trace: Option<Vec<String>>,
    events: BTreeMap<&'static str, u64>,
    checked: BTreeMap<Law, u64>,
    broken: Option<String>,
}

/// The outcome of a schedule.
#[derive(Default)]
pub(super) struct Played {
    pub(super) history: u64,
    pub(super) events: BTreeMap<&'static str, u64>,
    pub(super) checked: BTreeMap<Law, u64>,
    /// The first broken law.
    pub(super) fault: Option<String>,
    pub(super) trace: Vec<String>,
    /// Virtual seconds.
    pub(super) seconds: u64,
}

pub(super) struct World {
    pub(super) store: Arc<InMemoryStore>,
    pub(super) plan: Plan,
    random: Mutex<SplitMix>,
    history: Mutex<History>,
    /// True once no more faults happen.
    calm: AtomicBool,
    begun: Instant,
}

impl World {
    pub(super) fn new(store: Arc<InMemoryStore>, seed: u64, traced: bool) -> Self {
        // Seeds in a row have first numbers that hardly differ.
        let mut random = SplitMix::from_bytes(&seed.to_le_bytes());
        let plan = Plan::choose(&mut random);
        let history = History { trace: traced.then(Vec::new), ..History::default() };
        Self {
            store,
            plan,
            random: Mutex::new(random),
            history: Mutex::new(history),
            calm: AtomicBool::new(false),
            begun: Instant::now(),
        }
    }

    /// Milliseconds since the beginning.
    pub(super) fn elapsed_ms(&self) -> i64 {
        self.begun.elapsed().as_millis() as i64
    }

    /// The true time.
    pub(super) fn now(&self) -> UnixMillis {
        UnixMillis(BEGIN_MS + self.elapsed_ms())
    }

    pub(super) fn below(&self, end: usize) -> usize {
        self.random.lock().below(end)
    }

    pub(super) fn pick<T: Copy>(&self, items: &[T]) -> T {
        self.random.lock().pick(items)
    }

    /// True once in `times` calls; never if that is 0.
    pub(super) fn once_in(&self, times: usize) -> bool {
        times > 0 && self.random.lock().once_in(times)
    }

    pub(super) fn millis_below(&self, end: usize) -> Duration {
        Duration::from_millis(self.below(end) as u64)
    }

    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    pub(super) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// Adds an event to the history.
    pub(super) fn note(&self, event: &'static str, place: usize, detail: &str) {
        let mut history = self.history.lock();
        *history.events.entry(event).or_default() += 1;
        let at = self.elapsed_ms();
        let mut hash = history.hash ^ at.unsigned_abs() ^ (place as u64) << 48;
        for byte in event.bytes().chain(detail.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        history.hash = hash.rotate_left(7);
        if let Some(trace) = &mut history.trace {
            let (seconds, millis) = (at / 1000, at % 1000);
            trace.push(format!("{seconds:>6}.{millis:03} s  {place}  {event} {detail}"));
        }
    }

    /// Counts a check of a law, and records that it is broken.
    pub(super) fn require(&self, law: Law, holds: bool, detail: impl FnOnce() -> String) {
        let mut history = self.history.lock();
        *history.checked.entry(law).or_default() += 1;
        if !holds && history.broken.is_none() {
            history.broken = Some(format!("{}, but {}", law.sentence(), detail()));
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.history.lock().broken.is_some()
    }

    /// The history and its counts.
    pub(super) fn played(&self) -> Played {
        let mut history = self.history.lock();
        Played {
            history: history.hash,
            events: std::mem::take(&mut history.events),
            checked: std::mem::take(&mut history.checked),
            fault: history.broken.take(),
            trace: history.trace.take().unwrap_or_default(),
            seconds: self.begun.elapsed().as_secs(),
        }
    }
}
