//! Numbers that look random and follow from a seed (`SplitMix64`). For making test data, for
//! nothing else: they are easy to foresee.

/// A sequence of numbers that follows from its seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
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

    /// True once in `of` times.
    pub const fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of the items, of which there is at least one.
    pub fn one<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len() as u64) as usize]
    }

    /// Up to `max` of the items, some perhaps several times.
    pub fn some<'t, T: ?Sized>(&mut self, items: &[&'t T], max: u64) -> Vec<&'t T> {
        (0..self.below(max + 1)).map(|_| self.one(items)).collect()
    }
}
