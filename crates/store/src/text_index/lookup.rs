//! Candidates: the issues that may contain a text. They are those that have all its buckets, and
//! those that no segment has yet. A candidate may be a row that is gone, so the caller intersects
//! them with issues that are there, and reads their texts.

use caseload_model::ids::DomainId;
use roaring::RoaringBitmap;

use super::grams::buckets_of;
use super::postings::{SEGMENT_ROWS_MAX, decode};
use super::tables::{Segment, grams, marks, segments};
use crate::StoreError;
use crate::sql::Sql;

/// Buckets of a text that are looked up: the rarest ones.
const LOOKED_UP_MAX: usize = 10;

/// The rows that may contain `text`, which is folded and [has grams](super::grams::has_grams).
pub fn candidates(
    sql: &impl Sql,
    domain: DomainId,
    text: &str,
) -> Result<RoaringBitmap, StoreError> {
    let mut found = RoaringBitmap::new();
    for mark in marks(sql, domain)?.iter().filter(|mark| !mark.mark.erased) {
        found |= mark.rows();
    }
    let segments = segments(sql, domain)?;
    if segments.is_empty() {
        return Ok(found);
    }
    let buckets = rarest(sql, domain, &segments, &buckets_of(text).unwrap_or_default())?;
    let numbers: Vec<i64> = segments.iter().map(|segment| segment.number).collect();
    let mut at = Lists::default();
    grams(sql, domain, &numbers, &buckets, |segment, _, blob| {
        if at.segment != Some(segment) {
            at.add_to(&mut found, &segments, buckets.len())?;
            at.begin(segment);
        }
        at.push(blob);
        Ok(())
    })?;
    at.add_to(&mut found, &segments, buckets.len())?;
    Ok(found)
}

/// The buckets that have the shortest lists in the largest segment.
fn rarest(
    sql: &impl Sql,
    domain: DomainId,
    segments: &[Segment],
    buckets: &[u16],
) -> Result<Vec<i64>, StoreError> {
    let mut all: Vec<(usize, i64)> = buckets.iter().map(|bucket| (0, (*bucket).into())).collect();
    if all.len() > LOOKED_UP_MAX
        && let Some(largest) = segments.iter().max_by_key(|segment| segment.rows.len())
    {
        let numbers: Vec<i64> = all.iter().map(|(_, bucket)| *bucket).collect();
        grams(sql, domain, &[largest.number], &numbers, |_, bucket, blob| {
            if let Some((length, _)) = all.iter_mut().find(|(_, known)| *known == i64::from(bucket))
            {
                *length = blob.len();
            }
            Ok(())
        })?;
        all.sort_unstable();
        all.truncate(LOOKED_UP_MAX);
    }
    Ok(all.into_iter().map(|(_, bucket)| bucket).collect())
}

/// A bit for each place of a segment.
type Places = [u64; SEGMENT_ROWS_MAX / 64];

/// The rows at these places of a segment. Most segments are one range of rows.
fn rows_at(places: &Places, segment: &RoaringBitmap) -> Result<RoaringBitmap, StoreError> {
    let first = segment.min().unwrap_or_default();
    let rows = if segment.max() == Some(first + segment.len().saturating_sub(1) as u32) {
        let places = set_bits(places).take_while(|place| u64::from(*place) < segment.len());
        RoaringBitmap::from_sorted_iter(places.map(|place| first + place))
    } else {
        let is_hit = |place: usize| places[place >> 6] >> (place & 63) & 1 == 1;
        let rows = segment.iter().take(SEGMENT_ROWS_MAX).enumerate();
        let rows = rows.filter(|(place, _)| is_hit(*place)).map(|(_, row)| row);
        RoaringBitmap::from_sorted_iter(rows)
    };
    rows.map_err(|_| StoreError::Corrupt("a segment of the text index has no order".to_owned()))
}

/// The places whose bit is set, ascending.
fn set_bits(places: &Places) -> impl Iterator<Item = u32> {
    places.iter().zip((0..).step_by(64)).flat_map(|(word, first)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (bit < u64::BITS).then_some(first + bit)
        })
    })
}

/// The lists of one segment.
#[derive(Default)]
struct Lists {
    segment: Option<i64>,
    /// One after the other, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Lists {
    fn begin(&mut self, segment: i64) {
        self.segment = Some(segment);
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, blob: &[u8]) {
        self.bytes.extend_from_slice(blob);
        self.ends.push(self.bytes.len());
    }

    /// Adds the rows at the places that all lists have, if every bucket has a list.
    fn add_to(
        &self,
        found: &mut RoaringBitmap,
        segments: &[Segment],
        buckets: usize,
    ) -> Result<(), StoreError> {
        if self.ends.len() != buckets {
            return Ok(());
        }
        let Some(segment) = segments.iter().find(|known| Some(known.number) == self.segment) else {
            return Ok(());
        };
        let places = self.places()?;
        *found |= rows_at(&places, &segment.rows)?;
        Ok(())
    }

    /// The places that all lists have. Short lists come first: once no place is left, the long ones
    /// are not decoded.
    fn places(&self) -> Result<Places, StoreError> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let mut lists: Vec<&[u8]> =
            begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end]).collect();
        lists.sort_unstable_by_key(|list| list.len());
        let mut all: Places = [u64::MAX; SEGMENT_ROWS_MAX / 64];
        for list in lists {
            let mut of_list: Places = [0; SEGMENT_ROWS_MAX / 64];
            decode(list, SEGMENT_ROWS_MAX, |place| {
                of_list[usize::from(place >> 6)] |= 1 << (place & 63);
            })?;
            let mut left = 0;
            for (all, one) in all.iter_mut().zip(&of_list) {
                *all &= one;
                left |= *all;
            }
            if left == 0 {
                break;
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_lead_to_the_rows_of_their_segment(
            first in 0..100_000_u32,
            length in 1..3000_u32,
            gaps in proptest::collection::vec(0..3000_u32, 0..20),
            hits in proptest::collection::btree_set(0..SEGMENT_ROWS_MAX, 0..600),
        ) {
            let mut segment: RoaringBitmap = (first..first + length).collect();
            for gap in gaps {
                segment.remove(first + gap);
            }
            let mut places: Places = [0; SEGMENT_ROWS_MAX / 64];
            for hit in &hits {
                places[hit / 64] |= 1 << (hit % 64);
            }
            let rows: Vec<u32> = segment.iter().collect();
            let expected = hits.iter().filter_map(|hit| rows.get(*hit).copied()).collect();
            prop_assert_eq!(rows_at(&places, &segment).unwrap(), expected);
        }
    }
}
