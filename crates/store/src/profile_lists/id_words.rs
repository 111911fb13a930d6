//! Ids as words of 64 bits, in ascending order and none without a bit: sets of ids are intersected
//! word by word.

use crate::profile_sets::{IdWord, Moment};

/// A sorted list of words.
#[derive(Debug, Default)]
pub(super) struct IdWords {
    pub(super) words: Vec<IdWord>,
    /// The place of the last look: the next one is often for a neighbour.
    at: usize,
}

impl IdWords {
    /// From words in any order, which may have several parts of one word.
    pub(super) fn of(mut words: Vec<IdWord>) -> Self {
        if !words.is_sorted_by(|a, b| a.0 < b.0) {
            words.sort_unstable_by_key(|word| word.0);
            words.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 |= if is_same { next.1 } else { 0 };
                is_same
            });
        }
        Self { words, at: 0 }
    }

    /// The ids of these moments.
    pub(super) fn of_moments(moments: &[Moment]) -> Self {
        let mut words: Vec<IdWord> = Vec::new();
        for (_, id) in moments {
            let (word, bit) = (id >> 6, 1 << (id & 63));
            match words.last_mut() {
                Some((last, bits)) if *last == word => *bits |= bit,
                _ => words.push((word, bit)),
            }
        }
        Self::of(words)
    }

    /// The lowest and the highest id that the words may have.
    pub(super) fn span(&self) -> (i64, i64) {
        let span = self.words.first().zip(self.words.last());
        span.map_or((0, 0), |(first, last)| (first.0 << 6, last.0 << 6 | 63))
    }

    pub(super) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.1.count_ones())).sum()
    }

    pub(super) fn contains(&mut self, id: i64) -> bool {
        let word = id >> 6;
        if self.words.get(self.at).is_none_or(|at| at.0 != word) {
            self.at = self.words.partition_point(|at| at.0 < word);
        }
        self.words.get(self.at).is_some_and(|at| at.0 == word && at.1 >> (id & 63) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_have_the_ids_that_they_were_made_of(
            ids in proptest::collection::vec(
                prop_oneof![0..300i64, 1 << 50..(1i64 << 50) + 99],
                0..90,
            ),
            reversed: bool,
        ) {
            let all: BTreeSet<i64> = ids.iter().copied().collect();
            let mut moments: Vec<Moment> = ids.iter().map(|id| (0, *id)).collect();
            if reversed {
                moments.sort_unstable_by(|a, b| b.cmp(a));
            }
            let mut words = IdWords::of_moments(&moments);
            prop_assert!(words.words.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert_eq!(words.count(), all.len() as u64);
            let (low, high) = words.span();
            prop_assert!(all.iter().all(|id| low <= *id && *id <= high));
            for id in (0..310).chain(ids) {
                prop_assert_eq!(words.contains(id), all.contains(&id));
            }
        }
    }
}
