//! Finding core profiles by their ids. Nearly every profile's id is the number of its row, so
//! that one search of the table finds it; the few that a copy had to move are found by an index
//! of their own, which is looked at where the first search finds nothing. Many are searched by
//! one statement: what SQLite does around each costs as much as the search. Nothing is written
//! here.

use caseload_model::ids::{CoreProfileId, DomainId};
use rusqlite::{CachedStatement, Connection, Row, Rows, params};

use super::super::issues::numbers;
use crate::StoreError;

/// The profile with id `?2` of domain `?1`, where its row has that number.
pub(in crate::sqlite) const PLACED: &str = "seq = ?2 AND domain_id = ?1 AND moved_id IS NULL";
/// The same profile, where it was moved.
pub(in crate::sqlite) const MOVED: &str = "domain_id = ?1 AND moved_id = ?2";

/// Some columns of the core profiles of one domain.
pub(super) struct ById<'c> {
    domain: DomainId,
    placed: CachedStatement<'c>,
    moved: CachedStatement<'c>,
}

impl<'c> ById<'c> {
    /// `columns` as they are written in SQL.
    pub(super) fn of(
        conn: &'c Connection,
        domain: DomainId,
        columns: &str,
    ) -> Result<Self, StoreError> {
        let placed = conn.prepare_cached(&format!(
            "SELECT {columns}, seq FROM rarray(?2) wanted LEFT JOIN core_profiles
             ON seq = wanted.value AND domain_id = ?1 AND moved_id IS NULL"
        ))?;
        let moved = conn
            .prepare_cached(&format!("SELECT {columns}, seq FROM core_profiles WHERE {MOVED}"))?;
        Ok(Self { domain, placed, moved })
    }

    /// The profiles with these ids, to be looked at in the same order.
    pub(super) fn in_order(
        &mut self,
        ids: impl Iterator<Item = CoreProfileId>,
    ) -> Result<InOrder<'_, 'c>, StoreError> {
        let Self { domain, placed, moved } = self;
        let seq = placed.column_count() - 1;
        let placed = placed.query(params![domain.0, numbers(ids.map(|id| id.0 as i64))])?;
        Ok(InOrder { domain: *domain, placed, seq, moved })
    }
}

/// The profiles of a list of ids, one after the other.
pub(super) struct InOrder<'s, 'c> {
    domain: DomainId,
    placed: Rows<'s>,
    /// Number of the column that is null where there is no profile.
    seq: usize,
    moved: &'s mut CachedStatement<'c>,
}

impl InOrder<'_, '_> {
    /// Has `read` look at the profile with the list's next id, which is `id`, and says whether
    /// there is one.
    pub(super) fn next(
        &mut self,
        id: CoreProfileId,
        read: impl FnOnce(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let Some(row) = self.placed.next()? else {
            return Err(StoreError::Corrupt("a list of ids ends early".to_owned()));
        };
        if let Some(seq) = row.get::<_, Option<i64>>(self.seq)? {
            assert_eq!(seq, id.0 as i64, "profiles come in another order than their ids");
            read(row)?;
            return Ok(true);
        }
        let mut moved = self.moved.query(params![self.domain.0, id.0 as i64])?;
        let Some(row) = moved.next()? else { return Ok(false) };
        read(row)?;
        Ok(true)
    }
}
