//! Reading core profiles for the get actions and for updates. How a profile is shown is the model's
//! business. One statement searches for all profiles of a slice: the cost of a statement is that of
//! a search. Its rows come in the order of the wanted ids, because the right side of a LEFT JOIN
//! follows the left one; a row of another id has another checksum.

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{named_core_profiles, render_core, show_core_gets};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use caseload_store::StoreError;
use caseload_store::checksum::require_core_profile;
use caseload_store::profiles::{CoreProfiles, IndexedProfile};
use caseload_store::rowset::row_number;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows, params};

use crate::Fault;
use crate::issues::numbers;
use crate::tx::DomainTx;

const BY_ID: &str = "SELECT row, updated_at, fields, created_at, checksum
     FROM rarray(?2) wanted LEFT JOIN core_profiles ON domain_id = ?1 AND id = wanted.value";

/// A core profile straight from the page, without a copy: a get reads thousands of them.
struct CoreRow<'r> {
    row: i64,
    created_at: UnixMillis,
    updated_at: UnixMillis,
    fields: &'r [u8],
}

impl<'r> CoreRow<'r> {
    /// Reads the next row of [`BY_ID`], which is the one of this id, and compares its checksum.
    /// `None` if there is no such profile.
    fn next(
        tx: DomainTx<'_>,
        id: CoreProfileId,
        rows: &'r mut Rows<'_>,
    ) -> Result<Option<Self>, Fault> {
        let row: &'r Row<'_> = rows
            .next()?
            .ok_or_else(|| StoreError::Corrupt("a list of ids ends early".to_owned()))?;
        if row.get_ref(0)? == ValueRef::Null {
            return Ok(None);
        }
        let (updated_at, created_at) = (UnixMillis(row.get(1)?), UnixMillis(row.get(3)?));
        let fields = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let key = (tx.domain, id.0.cast_signed());
        require_core_profile(key, updated_at, fields, row.get(4)?)?;
        Ok(Some(Self { row: row.get(0)?, created_at, updated_at, fields }))
    }
}

/// Adds the records of the entries to `out`.
pub(super) fn core(
    tx: DomainTx<'_>,
    payload: &[u8],
    entries: &[PreparedEntry<CoreProfileId>],
    out: &mut ChunkRecords,
) -> Result<(), Fault> {
    let mut search = tx.conn.prepare_cached(BY_ID)?;
    let ids = named_core_profiles(entries).map(|id| id.0 as i64);
    let mut rows = search.query(params![tx.domain.0, numbers(ids)])?;
    show_core_gets(payload, entries, out, |id, out| {
        let found = CoreRow::next(tx, *id, &mut rows)?;
        let Some(CoreRow { created_at, updated_at, fields, .. }) = found else { return Ok(false) };
        render_core(*id, created_at, fields, updated_at, out);
        Ok(true)
    })
}

/// Those profiles that exist.
pub(super) fn core_profiles(
    tx: DomainTx<'_>,
    ids: &[CoreProfileId],
) -> Result<CoreProfiles, Fault> {
    let mut search = tx.conn.prepare_cached(BY_ID)?;
    let mut rows = search.query(params![tx.domain.0, numbers(ids.iter().map(|id| id.0 as i64))])?;
    let mut stored = CoreProfiles::default();
    for id in ids {
        let Some(found) = CoreRow::next(tx, *id, &mut rows)? else { continue };
        let CoreRow { row, created_at, updated_at, fields } = found;
        let indexed = IndexedProfile { row: row_number(row)?, created_at, updated_at };
        stored.fields.insert(*id, fields.to_vec());
        stored.indexed.insert(*id, indexed);
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use rusqlite::StatementStatus;

    use super::*;
    use crate::engine;

    #[test]
    fn a_search_is_planned_once_and_reads_the_index_of_ids() {
        let conn = engine::open_in_memory().unwrap();
        for number in 1..4_i64 {
            let mut search = conn.prepare_cached(BY_ID).unwrap();
            let mut rows = search.query(params![number, numbers([number])]).unwrap();
            assert_eq!(rows.next().unwrap().unwrap().get_ref(0).unwrap(), ValueRef::Null);
            drop(rows);
            assert_eq!(search.get_status(StatementStatus::RePrepare), 0);
        }
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {BY_ID}")).unwrap();
        let steps = plan.query_map(params![1, numbers([1])], |row| row.get::<_, String>(3));
        let steps = steps.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ");
        assert!(steps.contains("core_profiles_by_id (domain_id=? AND id=?)"), "{steps}");
    }
}
