//! Finding core profiles by their ids. Nearly every profile's id is the number of its row, so
//! that one search of the table finds it; the few that a copy had to move are found by an index
//! of their own, which is looked at where the first search finds nothing. Many are searched by
//! one statement: what SQLite does around each costs as much as the search. Ids that follow each
//! other closely, as where all profiles are read in the order of their making, are not searched at
//! all but passed in the order of the table. Nothing is written here.

use caseload_model::ids::{CoreProfileId, DomainId};
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator as _;
use rusqlite::{CachedStatement, Connection, Row, Rows, params};

use super::super::issues::numbers;
use crate::Fault;
use caseload_store::StoreError;

/// The profile with id `?2` of domain `?1`, where its row has that number.
pub(crate) const PLACED: &str = "seq = ?2 AND domain_id = ?1 AND moved_id IS NULL";
/// The same profile, where it was moved.
pub(crate) const MOVED: &str = "domain_id = ?1 AND moved_id = ?2";

/// Rows that are passed at most for each that is wanted: more would cost as much as searches.
const PASSED_EACH_MAX: u64 = 2;

/// Some columns of the core profiles of one domain.
pub(super) struct ById<'c> {
    domain: DomainId,
    searched: CachedStatement<'c>,
    passed: CachedStatement<'c>,
    moved: CachedStatement<'c>,
}

impl<'c> ById<'c> {
    /// `columns` as they are written in SQL.
    pub(super) fn of(conn: &'c Connection, domain: DomainId, columns: &str) -> Result<Self, Fault> {
        let searched = conn.prepare_cached(&format!(
            "SELECT {columns}, seq FROM rarray(?2) wanted LEFT JOIN core_profiles
             ON seq = wanted.value AND domain_id = ?1 AND moved_id IS NULL"
        ))?;
        let passed = conn.prepare_cached(&format!(
            "SELECT {columns}, seq FROM core_profiles
             WHERE seq BETWEEN ?2 AND ?3 AND domain_id = ?1 AND moved_id IS NULL ORDER BY seq"
        ))?;
        let moved = conn
            .prepare_cached(&format!("SELECT {columns}, seq FROM core_profiles WHERE {MOVED}"))?;
        Ok(Self { domain, searched, passed, moved })
    }

    /// The profiles with these ids, to be looked at in the same order.
    pub(super) fn in_order(
        &mut self,
        ids: impl Iterator<Item = CoreProfileId> + Clone,
    ) -> Result<InOrder<'_, 'c>, Fault> {
        let Self { domain, searched, passed, moved } = self;
        let seq = searched.column_count() - 1;
        let among = close_together(ids.clone());
        let rows = if let Some((first, last)) = among {
            let mut rows = passed.query(params![domain.0, first.0 as i64, last.0 as i64])?;
            rows.advance()?;
            rows
        } else {
            searched.query(params![domain.0, numbers(ids.map(|id| id.0 as i64))])?
        };
        Ok(InOrder { domain: *domain, rows, is_searched: among.is_none(), seq, moved })
    }
}

/// The first and the last of ids that rise, where few numbers lie between them that are no id.
fn close_together(
    mut ids: impl Iterator<Item = CoreProfileId>,
) -> Option<(CoreProfileId, CoreProfileId)> {
    let first = ids.next()?;
    let (mut last, mut count) = (first, 1);
    for id in ids {
        if id.0 <= last.0 {
            return None;
        }
        (last, count) = (id, count + 1);
    }
    (last.0 - first.0 < count * PASSED_EACH_MAX).then_some((first, last))
}

/// The profiles of a list of ids, one after the other.
pub(super) struct InOrder<'s, 'c> {
    domain: DomainId,
    rows: Rows<'s>,
    /// Whether each wanted id has a row; else the rows are those that there are, and the present
    /// one is that of the next id or lies behind it.
    is_searched: bool,
    /// Number of the column that is the row's number, or null where there is no profile.
    seq: usize,
    moved: &'s mut CachedStatement<'c>,
}

impl InOrder<'_, '_> {
    /// Has `read` look at the profile with the list's next id, which is `id`, and says whether
    /// there is one.
    pub(super) fn next(
        &mut self,
        id: CoreProfileId,
        read: impl FnOnce(&Row<'_>) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        let placed = if self.is_searched { self.search(id)? } else { self.pass(id)? };
        if let Some(row) = placed {
            read(row)?;
            return Ok(true);
        }
        let mut moved = self.moved.query(params![self.domain.0, id.0 as i64])?;
        let Some(row) = moved.next()? else { return Ok(false) };
        read(row)?;
        Ok(true)
    }

    /// The next row, where it is a profile's.
    fn search(&mut self, id: CoreProfileId) -> Result<Option<&Row<'_>>, Fault> {
        let Some(row) = self.rows.next()? else {
            return Err(StoreError::Corrupt("a list of ids ends early".to_owned()).into());
        };
        let seq: Option<i64> = row.get(self.seq)?;
        assert!(
            seq.is_none_or(|seq| seq == id.0 as i64),
            "profiles come in another order than their ids"
        );
        Ok(seq.map(|_| row))
    }

    /// The row of that id, where there is one.
    fn pass(&mut self, id: CoreProfileId) -> Result<Option<&Row<'_>>, Fault> {
        while let Some(row) = self.rows.get() {
            let seq: i64 = row.get(self.seq)?;
            if seq >= id.0 as i64 {
                return Ok(self.rows.get().filter(|_| seq == id.0 as i64));
            }
            self.rows.advance()?;
        }
        Ok(None)
    }
}
