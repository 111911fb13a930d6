//! Counting by two properties. Of one of them, each match has exactly one value; the matches are
//! labelled with it, block of rows by block, and the sets of the other property are counted by
//! label. So the cost is that of the matches and sets, not that of all pairs of values.

use caseload_model::issue_query::CountedGroup;
use roaring::RoaringBitmap;

use super::parts::Part;
use crate::rowset::{block_of, offset_of};
use crate::{StoreError, throttle::Throttle};

/// Rows of a block.
const BLOCK_ROWS: usize = 1 << 16;

/// The number of matches in each pair of parts that has any. At most one of the two properties has
/// several values for one issue; the parts of the other one are disjoint and cover the matches.
pub(super) fn count(
    found: &RoaringBitmap,
    first: &[Part],
    second: &[Part],
    throttle: &mut Throttle,
) -> Result<Vec<CountedGroup>, StoreError> {
    let first_is_single = is_single(found, first);
    let (single, other) = if first_is_single { (first, second) } else { (second, first) };
    let mut pairs = Pairs::new(single);
    let mut counts = vec![foldhash::HashMap::<u32, u64>::default(); other.len()];
    let mut next = found.min();
    while let Some(row) = next {
        let block = block_of(row);
        let (from, until) = (block << 16, block << 16 | 0xffff);
        pairs.label(from..=until, throttle)?;
        for (part, counts) in other.iter().zip(&mut counts) {
            throttle.step()?;
            pairs.add(part, from..=until, counts);
        }
        next = until.checked_add(1).and_then(|row| found.range(row..).next());
    }
    let mut groups = Vec::new();
    for (part, counts) in other.iter().zip(counts) {
        for (label, issues) in counts {
            let mut values = vec![single[label as usize].value.clone(), part.value.clone()];
            if !first_is_single {
                values.reverse();
            }
            groups.push((values, issues));
        }
    }
    Ok(groups)
}

fn is_single(found: &RoaringBitmap, parts: &[Part]) -> bool {
    parts.iter().map(|part| part.rows.len()).sum::<u64>() == found.len()
}

/// The matches of one block while they are counted.
struct Pairs<'p> {
    single: &'p [Part],
    /// The part that each match of the block is in. Other rows have labels of earlier blocks; no
    /// set has these rows.
    labels: Vec<u32>,
    /// Counts by label; zero between two sets.
    sums: Vec<u64>,
    touched: Vec<u32>,
}

impl<'p> Pairs<'p> {
    fn new(single: &'p [Part]) -> Self {
        let (labels, sums) = (vec![0; BLOCK_ROWS], vec![0; single.len()]);
        Self { single, labels, sums, touched: Vec::new() }
    }

    fn label(
        &mut self,
        block: std::ops::RangeInclusive<u32>,
        throttle: &mut Throttle,
    ) -> Result<(), StoreError> {
        for (label, part) in self.single.iter().enumerate() {
            throttle.step()?;
            for row in part.rows.range(block.clone()) {
                self.labels[usize::from(offset_of(row))] = label as u32;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        part: &Part,
        block: std::ops::RangeInclusive<u32>,
        counts: &mut foldhash::HashMap<u32, u64>,
    ) {
        for row in part.rows.range(block) {
            let label = self.labels[usize::from(offset_of(row))];
            let sum = &mut self.sums[label as usize];
            if *sum == 0 {
                self.touched.push(label);
            }
            *sum += 1;
        }
        for label in self.touched.drain(..) {
            *counts.entry(label).or_default() += std::mem::take(&mut self.sums[label as usize]);
        }
    }
}
