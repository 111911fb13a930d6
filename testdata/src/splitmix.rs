//! The pseudorandom generator of all tests (`SplitMix64`). The same seed gives the same numbers on
//! every machine, so a failed run can be repeated from its seed. The numbers are easy to predict:
//! never use them for secrets.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A sequence of numbers that depends on its seed alone.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that differs from run to run, short enough to type.
    pub fn fresh_seed() -> u64 {
        RandomState::new().build_hasher().finish() % 1_000_000
    }

    /// A generator whose seed is a hash of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mix = |hash: u64, byte: &u8| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
        };
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if `end` is 0. The bias is far below what a test can notice.
    pub const fn below(&mut self, end: usize) -> usize {
        let end = if end == 0 { 1 } else { end };
        (self.next() % end as u64) as usize
    }

    /// True once in `times` calls on average.
    pub const fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the items, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Up to `max` of the items, in any order and with repeats.
    pub fn pick_up_to<T: Copy>(&mut self, items: &[T], max: usize) -> Vec<T> {
        (0..self.below(max + 1)).map(|_| self.pick(items)).collect()
    }
}
