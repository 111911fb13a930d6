//! The tables of the text index, in statements that both databases read the same.
//!
//! `issue_text_marks` has ranges of rows whose texts were written, or deleted, and that no segment
//! has yet. `issue_text_segments` has the rows of each segment. `issue_text_grams` has, for each
//! segment and bucket, the places of the issues among the rows of the segment.

use std::collections::BTreeSet;

use caseload_model::ids::DomainId;
use roaring::RoaringBitmap;

use super::grams::BUCKETS;
use crate::rowset::row_number;
use crate::sql::Sql;
use crate::{StoreError, values};

/// The tables of the index.
pub const TABLES: [&str; 3] = ["issue_text_marks", "issue_text_segments", "issue_text_grams"];
/// A range of rows that a write left for the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMark {
    pub first: u32,
    pub last: u32,
    /// Whether the rows were deleted.
    pub erased: bool,
}

/// A mark as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredMark {
    pub(super) seq: i64,
    pub(super) mark: TextMark,
}

impl StoredMark {
    /// Rows of the range.
    pub(super) fn length(&self) -> u64 {
        (self.mark.last - self.mark.first + 1).into()
    }

    pub(super) fn rows(&self) -> RoaringBitmap {
        let mut rows = RoaringBitmap::new();
        rows.insert_range(self.mark.first..=self.mark.last);
        rows
    }
}

/// A segment and its rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Segment {
    pub(super) number: i64,
    pub(super) rows: RoaringBitmap,
}

/// Statements of the index that differ between databases.
pub trait TextIndexStore: Sql {
    /// Fails if the domain is not there, and stops other servers from indexing it until the
    /// transaction ends. False if one is at it.
    fn lock_text_index(&self, domain: DomainId) -> Result<bool, StoreError>;
    /// Inserts the lists of a segment: buckets and blobs.
    fn insert_grams(
        &self,
        domain: DomainId,
        segment: i64,
        lists: &[(u16, Vec<u8>)],
    ) -> Result<(), StoreError>;
}

/// The marks of a domain, in their order.
pub(super) fn marks(sql: &impl Sql, domain: DomainId) -> Result<Vec<StoredMark>, StoreError> {
    sql.list(
        "SELECT seq, first_row, last_row, erased FROM issue_text_marks
         WHERE domain_id = ?1 ORDER BY seq",
        values![domain],
        |row| {
            let (first, last) = (row_number(row.get(1)?)?, row_number(row.get(2)?)?);
            let mark = TextMark { first, last, erased: row.get(3)? };
            Ok(StoredMark { seq: row.get(0)?, mark })
        },
    )
}

/// The domains that have marks, and the lengths of their ranges: of those that were written, and
/// of those that were deleted.
pub(super) fn marked_domains(sql: &impl Sql) -> Result<Vec<(DomainId, [u64; 2])>, StoreError> {
    let there: BTreeSet<DomainId> =
        sql.list("SELECT id FROM domains", &[], |row| row.get(0))?.into_iter().collect();
    let mut domains: Vec<(DomainId, [u64; 2])> = sql.list(
        "SELECT domain_id,
         CAST(sum(CASE WHEN erased THEN 0 ELSE last_row - first_row + 1 END) AS BIGINT),
         CAST(sum(CASE WHEN erased THEN last_row - first_row + 1 ELSE 0 END) AS BIGINT)
         FROM issue_text_marks GROUP BY domain_id ORDER BY domain_id",
        &[],
        |row| Ok((row.get(0)?, [row.get(1)?, row.get(2)?])),
    )?;
    domains.retain(|(domain, _)| there.contains(domain));
    Ok(domains)
}

/// The segments of a domain, oldest first.
pub(super) fn segments(sql: &impl Sql, domain: DomainId) -> Result<Vec<Segment>, StoreError> {
    sql.list(
        "SELECT segment, rows FROM issue_text_segments WHERE domain_id = ?1 ORDER BY segment",
        values![domain],
        |row| {
            let rows = RoaringBitmap::deserialize_from(row.get::<&[u8]>(1)?).map_err(|_| {
                StoreError::Corrupt("the rows of a text index segment cannot be read".to_owned())
            })?;
            Ok(Segment { number: row.get(0)?, rows })
        },
    )
}

/// Passes segment, bucket and blob of each list to `visit`, segment by segment.
pub(super) fn grams(
    sql: &impl Sql,
    domain: DomainId,
    segments: &[i64],
    buckets: &[i64],
    mut visit: impl FnMut(i64, u16, &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    sql.each(
        "SELECT segment, bucket, rows FROM issue_text_grams
         WHERE domain_id = ?1 AND segment = ANY (?2) AND bucket = ANY (?3)
         ORDER BY segment, bucket",
        values![domain, segments, buckets],
        &mut |row| visit(row.get(0)?, row.get::<u32>(1)? as u16, row.get(2)?),
    )
}

/// Passes bucket and blob of each list of a segment to `visit`.
pub(super) fn all_grams(
    sql: &impl Sql,
    domain: DomainId,
    segment: i64,
    mut visit: impl FnMut(u16, &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    sql.each(
        "SELECT bucket, rows FROM issue_text_grams WHERE domain_id = ?1 AND segment = ?2
         ORDER BY bucket",
        values![domain, segment],
        &mut |row| {
            let bucket = u16::try_from(row.get::<i64>(0)?).ok();
            let bucket = bucket.filter(|bucket| usize::from(*bucket) < BUCKETS);
            let bucket = bucket.ok_or_else(|| {
                StoreError::Corrupt("the text index has an unknown bucket".to_owned())
            })?;
            visit(bucket, row.get(1)?)
        },
    )
}
