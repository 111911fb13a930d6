//! Grams: each four bytes of a folded text, hashed to one of 16,384 buckets. A text can only
//! contain another one if it has all its buckets. The hash is stored: it never changes.

/// Bytes of a gram. A text with fewer has none.
const GRAM_BYTES: usize = 4;
const BUCKET_BITS: u32 = 14;
/// Buckets that grams are hashed to.
pub(super) const BUCKETS: usize = 1 << BUCKET_BITS;

/// Whether a folded text is long enough to be looked up.
pub(crate) fn has_grams(text: &str) -> bool {
    text.len() >= GRAM_BYTES
}

/// The bucket of a gram.
const fn bucket(gram: [u8; GRAM_BYTES]) -> u16 {
    let mut hash = u32::from_le_bytes(gram);
    hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
    hash = (hash ^ (hash >> 12)).wrapping_mul(0x297a_2d39);
    ((hash ^ (hash >> 15)) >> (u32::BITS - BUCKET_BITS)) as u16
}

fn buckets(text: &[u8]) -> impl Iterator<Item = u16> {
    text.array_windows().map(|gram: &[u8; GRAM_BYTES]| bucket(*gram))
}

/// The buckets of a text that is searched for, ascending. None if it is too short to have one.
pub(super) fn buckets_of(text: &str) -> Option<Vec<u16>> {
    let mut found: Vec<u16> = buckets(text.as_bytes()).collect();
    found.sort_unstable();
    found.dedup();
    (!found.is_empty()).then_some(found)
}

/// The buckets of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GramSet(Box<[u64; BUCKETS / 64]>);

impl Default for GramSet {
    fn default() -> Self {
        Self(Box::new([0; BUCKETS / 64]))
    }
}

impl GramSet {
    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds the grams of a folded text.
    pub(super) fn add(&mut self, text: &[u8]) {
        buckets(text).for_each(|bucket| self.insert(bucket));
    }

    pub(super) fn insert(&mut self, bucket: u16) {
        self.0[usize::from(bucket >> 6)] |= 1 << (bucket & 63);
    }

    /// The buckets, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.iter().enumerate().flat_map(|(place, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < u64::BITS).then_some((place as u32 * u64::BITS + bit) as u16)
            })
        })
    }
}
