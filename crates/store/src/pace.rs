//! The pace of a long read. A read that looks at very many records checks, every few of them, its
//! deadline and whether others are being served; while they are, it rests most of the time, so that
//! all long reads together take a small part of one core. Alone, it runs at full speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::StoreError;

/// Records between two looks at the clock.
const STEPS_PER_LOOK: u32 = 32;
/// Time at work between two rests.
const SLICE: Duration = Duration::from_millis(1);
/// A rest is so many slices long, for each long read under way.
const REST_SLICES: u32 = 10;

/// What reads tell each other.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Short reads since the store was opened.
    short: AtomicU64,
    /// Long reads under way.
    long: AtomicUsize,
}

impl Traffic {
    pub fn note_short(&self) {
        self.short.fetch_add(1, Ordering::Relaxed);
    }
}

/// The pace of one read.
#[derive(Debug)]
pub struct Pace {
    deadline: Option<Instant>,
    traffic: Arc<Traffic>,
    is_long: bool,
    steps: u32,
    slice_began: Instant,
    short_seen: u64,
}

impl Pace {
    pub fn new(deadline: Option<Instant>, traffic: &Arc<Traffic>, is_long: bool) -> Self {
        if is_long {
            traffic.long.fetch_add(1, Ordering::Relaxed);
        } else {
            traffic.note_short();
        }
        Self {
            deadline,
            traffic: traffic.clone(),
            is_long,
            steps: 0,
            slice_began: Instant::now(),
            short_seen: traffic.short.load(Ordering::Relaxed),
        }
    }

    /// The pace of a read that has all the time it wants.
    pub fn unhurried() -> Self {
        Self::new(None, &Arc::default(), false)
    }

    /// A further record is about to be looked at.
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
            self.rest(now);
        }
        Ok(())
    }

    fn rest(&mut self, now: Instant) {
        let short = self.traffic.short.load(Ordering::Relaxed);
        if short != self.short_seen {
            self.short_seen = short;
            let long = self.traffic.long.load(Ordering::Relaxed).max(1) as u32;
            let rest = (now - self.slice_began) * REST_SLICES * long;
            let left = self.deadline.map_or(rest, |deadline| deadline - now);
            std::thread::sleep(rest.min(left));
        }
        self.slice_began = Instant::now();
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        if self.is_long {
            self.traffic.long.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
