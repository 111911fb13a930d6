//! Finding core profiles by their ids. Nearly every profile's id is the number of its row, so that
//! one search of the table finds it; the few that a copy had to move are found by an index of their
//! own, which is looked at where the first search finds nothing. Nothing is written here.

use caseload_model::ids::{CoreProfileId, DomainId};
use rusqlite::{CachedStatement, Connection, Row};

use crate::StoreError;

/// The profile with id `?2` of domain `?1`, where its row has that number.
pub(in crate::sqlite) const PLACED: &str = "seq = ?2 AND domain_id = ?1 AND moved_id IS NULL";
/// The same profile, where it was moved.
pub(in crate::sqlite) const MOVED: &str = "domain_id = ?1 AND moved_id = ?2";

/// Some columns of the core profiles of one domain.
pub(super) struct ById<'c> {
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
        let prepared = |place: &str| -> Result<_, StoreError> {
            let sql = format!("SELECT {columns} FROM core_profiles WHERE {place}");
            let mut statement = conn.prepare_cached(&sql)?;
            statement.raw_bind_parameter(1, domain.0)?;
            Ok(statement)
        };
        Ok(Self { placed: prepared(PLACED)?, moved: prepared(MOVED)? })
    }

    /// Has `read` look at the profile, and says whether there is one.
    pub(super) fn read(
        &mut self,
        id: CoreProfileId,
        read: impl FnOnce(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        for statement in [&mut self.placed, &mut self.moved] {
            statement.raw_bind_parameter(2, id.0 as i64)?;
            let mut rows = statement.raw_query();
            if let Some(row) = rows.next()? {
                read(row)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
