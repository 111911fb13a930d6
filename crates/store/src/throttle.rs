//! The throttle of reads that look at very many issues. Every few issues such a read checks its
//! deadline and whether other reads are being served. While there are others, it sleeps most of the
//! time, so all long reads together take a small share of one core. Alone, it runs at full speed,
//! and so does a read that turns out to be short.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::StoreError;

/// Issues between two looks at the clock.
const STEPS_PER_LOOK: u32 = 32;
/// Time at work between two sleeps.
const SLICE: Duration = Duration::from_millis(1);
/// Time at work before the first sleep.
const FREE: Duration = Duration::from_millis(20);
/// A sleep lasts this many slices for each long read in progress.
const SLEEP_SLICES: u32 = 10;

/// The reads of one store that throttle each other.
#[derive(Debug, Default)]
pub struct ReadLoad {
    /// Short reads since the store was opened.
    short: AtomicU64,
    /// Long reads in progress.
    long: AtomicUsize,
}

impl ReadLoad {
    /// Counts a short read.
    pub fn note_short(&self) {
        self.short.fetch_add(1, Ordering::Relaxed);
    }
}

/// The throttle of one read.
#[derive(Debug)]
pub struct Throttle {
    deadline: Option<Instant>,
    load: Arc<ReadLoad>,
    is_long: bool,
    steps: u32,
    slice_began: Instant,
    worked: Duration,
    short_seen: u64,
}

impl Throttle {
    pub fn new(deadline: Option<Instant>, load: &Arc<ReadLoad>, is_long: bool) -> Self {
        if is_long {
            load.long.fetch_add(1, Ordering::Relaxed);
        } else {
            load.note_short();
        }
        Self {
            deadline,
            load: load.clone(),
            is_long,
            steps: 0,
            slice_began: Instant::now(),
            worked: Duration::ZERO,
            short_seen: load.short.load(Ordering::Relaxed),
        }
    }

    /// A throttle without a deadline, for a read that is the only one.
    pub fn unlimited() -> Self {
        Self::new(None, &Arc::default(), false)
    }

    /// One for a further reader that helps with the same read.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.deadline, &self.load, self.is_long)
    }

    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Comes before each issue that is looked at. Fails once the deadline has passed.
    pub fn step(&mut self) -> Result<(), StoreError> {
        self.steps += 1;
        if self.steps < STEPS_PER_LOOK {
            return Ok(());
        }
        self.steps = 0;
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(StoreError::DeadlinePassed);
        }
        if self.is_long && now - self.slice_began >= SLICE {
            self.sleep(now);
        }
        Ok(())
    }

    fn sleep(&mut self, now: Instant) {
        let short = self.load.short.load(Ordering::Relaxed);
        self.worked += now - self.slice_began;
        if short != self.short_seen && self.worked > FREE {
            self.short_seen = short;
            let long = self.load.long.load(Ordering::Relaxed).max(1) as u32;
            let time = (now - self.slice_began) * SLEEP_SLICES * long;
            let remaining = self.deadline.map_or(time, |deadline| deadline - now);
            std::thread::sleep(time.min(remaining));
        }
        self.slice_began = Instant::now();
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        if self.is_long {
            self.load.long.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
