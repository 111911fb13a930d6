//! A small seeded generator (splitmix64), so that a run's choices can be had again. Not for
//! secrets. The same seed gives the same numbers on every machine.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that differs from run to run, short enough to be typed.
    pub(crate) fn fresh_seed() -> u64 {
        RandomState::new().build_hasher().finish() % 1_000_000
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1; the bias is far below what a crash test notices.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
