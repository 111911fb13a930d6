//! How many entries of a file an earlier file had, without a list of all of them. Only entries that
//! have no id count, of an action that makes another record each time it gets them. A sketch has
//! the smallest [`HASHES_MAX`] hashes of their bytes, and how many entries there are. Between
//! sketches of at most [`HASHES_MAX`] entries the number is exact, else it is an estimate. Hashes
//! are stored, so they stay the same from version to version.

use std::collections::{BinaryHeap, HashSet};

use sha2::{Digest, Sha256};

use crate::json::members_at;
use crate::payload::Block;
use crate::task::Action;

/// Hashes of a sketch.
pub const HASHES_MAX: usize = 256;
/// An estimate of a smaller share of the entries than one of so many may be an accident.
const SHARE_MIN: usize = 100;

/// The entries of a file that have no id.
#[derive(Debug, Clone, Default)]
pub struct Sketch {
    /// Their number.
    pub entries: u32,
    /// The smallest hashes. Entries that are the same have the same one.
    hashes: BinaryHeap<u64>,
}

impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        (self.entries, self.stored()) == (other.entries, other.stored())
    }
}

impl Eq for Sketch {}

impl Sketch {
    /// Adds the entries of a block that have no id.
    pub fn add(&mut self, action: Action, block: &Block) {
        if action != Action::ImportIssues {
            return;
        }
        for entry in block.entries.iter().filter(|entry| entry.oversize.is_none()) {
            let text = block.bytes_of(entry).trim_ascii();
            let mut members = members_at(text, 0);
            if !members.any(|(name, value)| name == b"id" && text[value] != *b"null") {
                self.add_entry(text);
            }
        }
    }

    fn add_entry(&mut self, text: &[u8]) {
        let hash =
            Sha256::digest(text)[..8].iter().fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        self.entries += 1;
        if self.hashes.len() < HASHES_MAX {
            self.hashes.push(hash);
        } else if let Some(mut greatest) = self.hashes.peek_mut().filter(|most| hash < **most) {
            *greatest = hash;
        }
    }

    /// The hashes as they are stored; `None` without an entry.
    pub fn stored(&self) -> Option<Vec<u8>> {
        let sorted = || self.hashes.clone().into_sorted_vec();
        (self.entries > 0).then(|| sorted().into_iter().flat_map(u64::to_be_bytes).collect())
    }

    /// The sketch of so many entries that was stored as these hashes.
    pub fn read(entries: u32, stored: &[u8]) -> Self {
        let (hashes, _) = stored.as_chunks();
        Self { entries, hashes: hashes.iter().map(|hash| u64::from_be_bytes(*hash)).collect() }
    }

    /// How many of these entries are among the earlier ones; 0 if they are hardly any.
    pub fn known(&self, earlier: &Self) -> u32 {
        // Up to here, both have the hashes of all their entries.
        let reach = [self, earlier].into_iter().filter_map(Self::reach).min();
        let of_earlier: HashSet<u64> = earlier.hashes.iter().copied().collect();
        let within = |hash: &&u64| reach.is_none_or(|reach| **hash <= reach);
        let sample: Vec<u64> = self.hashes.iter().filter(within).copied().collect();
        let same = sample.iter().filter(|hash| of_earlier.contains(hash)).count();
        if reach.is_some() && same * SHARE_MIN < sample.len() {
            return 0;
        }
        let estimate = u64::from(self.entries) * same as u64 / sample.len().max(1) as u64;
        estimate as u32
    }

    /// The greatest hash if it does not have all of them.
    fn reach(&self) -> Option<u64> {
        self.hashes.peek().copied().filter(|_| self.entries as usize > self.hashes.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sketch(entries: &[u32]) -> Sketch {
        let mut sketch = Sketch::default();
        for entry in entries {
            sketch.add_entry(format!("{{\"title\":\"{entry}\"}}").as_bytes());
        }
        Sketch::read(sketch.entries, &sketch.stored().unwrap_or_default())
    }

    /// How many of the entries are among the earlier ones, by a set of all of them.
    fn naive(entries: &[u32], earlier: &[u32]) -> u32 {
        let earlier: HashSet<&u32> = earlier.iter().collect();
        entries.iter().filter(|entry| earlier.contains(entry)).count() as u32
    }

    fn some(most: usize) -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0..400_u32, 0..=most)
    }

    proptest! {
        #[test]
        fn few_entries_are_counted_exactly(entries in some(256), earlier in some(256)) {
            prop_assert_eq!(sketch(&entries).known(&sketch(&earlier)), naive(&entries, &earlier));
        }

        /// The sample of a sketch is random: the error is at most six times its usual one.
        #[test]
        fn many_entries_are_estimated(
            start in 0..1_000_000_u32,
            size in 2_000..20_000_u32,
            others in 0..40_000_u32,
            earlier_size in 2_000..20_000_u32,
        ) {
            let entries: Vec<u32> = (start..start + size).collect();
            let earlier: Vec<u32> = (start + others..start + others + earlier_size).collect();
            let found = sketch(&entries).known(&sketch(&earlier));
            let true_number = naive(&entries, &earlier);
            let sample = 256.0 * f64::from(size) / f64::from(size.max(earlier_size));
            let share = f64::from(true_number) / f64::from(size);
            let usual = (share * (1.0 - share) / sample).sqrt() + 1.0 / sample;
            let error = (f64::from(found) / f64::from(size) - share).abs();
            prop_assert!(error <= 6.0 * usual + 0.01, "{found} of {true_number} in {size}");
        }
    }

    #[test]
    fn an_edited_line_leaves_the_others_known() {
        let entries: Vec<u32> = (0..25_000).collect();
        let edited: Vec<u32> = (0..24_999).chain([7_000_000]).collect();
        assert!(sketch(&edited).known(&sketch(&entries)) >= 24_800);
        assert_eq!(sketch(&edited[24_990..]).known(&sketch(&entries[24_990..])), 9);
        let same = vec![7; 1_000];
        assert_eq!(sketch(&same).known(&sketch(&same)), 1_000);
        assert_eq!(sketch(&same).known(&sketch(&[])), 0);
        assert_eq!(sketch(&same).stored().map(|stored| stored.len()), Some(8 * HASHES_MAX));
    }
}
