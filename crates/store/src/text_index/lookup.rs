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
    let mut at = Hits::default();
    grams(sql, domain, &numbers, &buckets, |segment, _, blob| {
        if at.segment != Some(segment) {
            at.add_to(&mut found, &segments, buckets.len());
            at = Hits { segment: Some(segment), ..Hits::default() };
        }
        at.narrow(blob)
    })?;
    at.add_to(&mut found, &segments, buckets.len());
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
            if let Some((length, _)) = all.iter_mut().find(|(_, known)| *known == bucket.into()) {
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

/// The places of one segment that all lists have so far.
#[derive(Default)]
struct Hits {
    segment: Option<i64>,
    lists: usize,
    places: Option<Box<Places>>,
}

impl Hits {
    fn narrow(&mut self, blob: &[u8]) -> Result<(), StoreError> {
        let mut of_list: Places = [0; SEGMENT_ROWS_MAX / 64];
        decode(blob, SEGMENT_ROWS_MAX, |place| {
            of_list[usize::from(place >> 6)] |= 1 << (place & 63);
        })?;
        self.lists += 1;
        match &mut self.places {
            None => self.places = Some(Box::new(of_list)),
            Some(places) => places.iter_mut().zip(&of_list).for_each(|(all, one)| *all &= one),
        }
        Ok(())
    }

    /// Adds the rows at these places, if every bucket has a list.
    fn add_to(&self, found: &mut RoaringBitmap, segments: &[Segment], buckets: usize) {
        let Some(places) = self.places.as_ref().filter(|_| self.lists == buckets) else { return };
        let Some(segment) = segments.iter().find(|known| Some(known.number) == self.segment) else {
            return;
        };
        if places.iter().all(|word| *word == 0) {
            return;
        }
        let is_hit = |place: usize| places[place >> 6] >> (place & 63) & 1 == 1;
        let rows = segment
            .rows
            .iter()
            .take(SEGMENT_ROWS_MAX)
            .enumerate()
            .filter(|(place, _)| is_hit(*place));
        found.extend(rows.map(|(_, row)| row));
    }
}
