//! Finding core profiles by their ids. Nearly every profile's id is the number of its row, so one
//! search of the table finds it; an index finds the few profiles that a copy had to move, if the
//! first search finds nothing. One statement searches for all profiles of a slice: the cost of a
//! statement is that of a search. Its rows come in the order of the wanted ids, because the right
//! side of a LEFT JOIN follows the left one; a row of another id has another checksum.

use caseload_model::ids::{CoreProfileId, DomainId};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Row, Rows, params};

use crate::Fault;
use crate::issues::numbers;
use caseload_store::StoreError;

/// The profile with id `?2` of domain `?1`, if its row has that number.
pub(crate) const PLACED: &str = "seq = ?2 AND domain_id = ?1 AND moved_id IS NULL";
/// The same profile, if it was moved.
pub(crate) const MOVED: &str = "domain_id = ?1 AND moved_id = ?2";

/// Some columns of the core profiles of one domain.
pub(super) struct ById<'c> {
    domain: DomainId,
    searched: CachedStatement<'c>,
    moved: CachedStatement<'c>,
}

impl<'c> ById<'c> {
    /// `columns` as they are written in SQL; the first one is never null in a profile.
    pub(super) fn of(conn: &'c Connection, domain: DomainId, columns: &str) -> Result<Self, Fault> {
        let searched = conn.prepare_cached(&format!(
            "SELECT {columns} FROM rarray(?2) wanted LEFT JOIN core_profiles
             ON seq = wanted.value AND domain_id = ?1 AND moved_id IS NULL"
        ))?;
        let moved =
            conn.prepare_cached(&format!("SELECT {columns} FROM core_profiles WHERE {MOVED}"))?;
        Ok(Self { domain, searched, moved })
    }

    /// The profiles with these ids, to be read in the same order.
    pub(super) fn in_order(
        &mut self,
        ids: impl Iterator<Item = CoreProfileId>,
    ) -> Result<InOrder<'_, 'c>, Fault> {
        let Self { domain, searched, moved } = self;
        let rows = searched.query(params![domain.0, numbers(ids.map(|id| id.0 as i64))])?;
        Ok(InOrder { domain: *domain, rows, moved })
    }
}

/// The profiles of a list of ids, one after another.
pub(super) struct InOrder<'s, 'c> {
    domain: DomainId,
    /// A row for each wanted id.
    rows: Rows<'s>,
    moved: &'s mut CachedStatement<'c>,
}

impl InOrder<'_, '_> {
    /// Has `read` read the profile with `id`, which is the next id of the list; false if there is
    /// no such profile.
    pub(super) fn next(
        &mut self,
        id: CoreProfileId,
        read: impl FnOnce(&Row<'_>) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        let Some(row) = self.rows.next()? else {
            return Err(StoreError::Corrupt("a list of ids ends early".to_owned()).into());
        };
        if row.get_ref(0)? != ValueRef::Null {
            read(row)?;
            return Ok(true);
        }
        let mut moved = self.moved.query(params![self.domain.0, id.0 as i64])?;
        let Some(row) = moved.next()? else { return Ok(false) };
        read(row)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use rusqlite::StatementStatus;

    use super::*;
    use crate::engine;

    #[test]
    fn a_search_is_planned_once_whatever_its_values_are() {
        let conn = engine::open_in_memory().unwrap();
        for number in 1..4_u32 {
            let (domain, id) = (DomainId(number.into()), CoreProfileId(number.into()));
            let mut profiles = ById::of(&conn, domain, "created_at").unwrap();
            let mut found = profiles.in_order([id].into_iter()).unwrap();
            assert!(!found.next(id, |_| Ok(())).unwrap());
            drop(found);
            let planned_again =
                |statement: &CachedStatement<'_>| statement.get_status(StatementStatus::RePrepare);
            assert_eq!(planned_again(&profiles.searched), 0);
            assert_eq!(planned_again(&profiles.moved), 0);
        }
    }
}
