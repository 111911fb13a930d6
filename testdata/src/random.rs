//! Numbers that look random and follow from a seed (`SplitMix64`). For making test data, for
//! nothing else: they are easy to foresee.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A sequence of numbers that follows from its seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that differs from run to run, short enough to be typed.
    pub fn fresh_seed() -> u64 {
        RandomState::new().build_hasher().finish() % 1_000_000
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A position in a list of `len` items; 0 if the list is empty.
    pub fn index(&mut self, len: usize) -> usize {
        (self.next() % len.max(1) as u64) as usize
    }

    /// True once in `of` times.
    pub const fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of the items, of which there is at least one.
    pub fn one<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len() as u64) as usize]
    }

    /// A copy of one of the items, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// Up to `max` of the items, some perhaps several times.
    pub fn some<'t, T: ?Sized>(&mut self, items: &[&'t T], max: u64) -> Vec<&'t T> {
        (0..self.below(max + 1)).map(|_| self.one(items)).collect()
    }
}
