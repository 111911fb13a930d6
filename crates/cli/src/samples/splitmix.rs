//! The random numbers of the sample data (`SplitMix64`): the same sequence each time. The test data
//! crate has a generator of the same name; the program does not depend on that crate, and its
//! sample data must not change with it. Not for secrets.

/// A sequence of numbers that follows from its seed.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// An amount of money with two decimals, below `end` cents.
    pub(crate) fn cents(&mut self, end: u32) -> f64 {
        f64::from(self.below(end.into()) as u32) / 100.0
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the values, of which there is at least one.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, values: &[&'a T]) -> &'a T {
        values[self.below(values.len() as u64) as usize]
    }
}
