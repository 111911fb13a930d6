//! The statements of the writing commands ([`IssueStore`]). The writer thread runs one command at
//! a time, so no statement locks anything.

use caseload_model::issue::write::IssueRecord;
use caseload_model::time::UnixMillis;
use rusqlite::{OptionalExtension, params};

use super::import::{
    insert_columns, insert_columns_statement, insert_fragments, insert_fragments_statement,
};
use super::{index, records};
use crate::tx::DomainTx;
use crate::{clock, store_error};
use caseload_store::StoreError;
use caseload_store::issues::{
    FRAGMENT_BYTES, IndexChanges, IssueAllocation, IssueStore, Replacement,
};
use caseload_store::rowset::row_number;

impl IssueStore for DomainTx<'_> {
    const BODY: &'static str = "row = ?2";

    fn rows_of(&self, ids: &[u64]) -> Result<Vec<Option<u32>>, StoreError> {
        let mut find = self
            .conn
            .prepare_cached("SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2")
            .map_err(store_error)?;
        let mut row = |id: &u64| {
            let found = find.query_row(params![self.domain.0, *id as i64], |row| row.get(0));
            found.optional().map_err(store_error)?.map(row_number).transpose()
        };
        ids.iter().map(&mut row).collect()
    }

    fn issue(&self, id: u64) -> Result<Option<(u32, IssueRecord)>, StoreError> {
        Ok(records::read(self.conn, self.domain, id)?)
    }

    fn lock(&self, _rows: &[u32]) -> Result<(), StoreError> {
        Ok(())
    }

    fn stored_bytes(&self, rows: &[u32]) -> Result<Vec<u64>, StoreError> {
        let select = format!("SELECT {FRAGMENT_BYTES} FROM issue_bodies WHERE row = ?1");
        let mut select = self.conn.prepare_cached(&select).map_err(store_error)?;
        let mut bytes = |row: &u32| {
            let found = select.query_row([row], |found| found.get::<_, i64>(0));
            Ok(found.map_err(store_error)?.cast_unsigned())
        };
        rows.iter().map(&mut bytes).collect()
    }

    fn records(&self, rows: &[u32]) -> Result<Vec<IssueRecord>, StoreError> {
        rows.iter().map(|row| Ok(records::read_row(self.conn, *row)?)).collect()
    }

    fn change_time(&self, now: UnixMillis) -> Result<UnixMillis, StoreError> {
        Ok(clock::change_time(self.conn, self.domain, now)?)
    }

    fn allocate(&self, now: UnixMillis) -> Result<IssueAllocation, StoreError> {
        Ok(clock::allocate_issue(*self, now)?)
    }

    fn insert(&self, _birth: &IssueAllocation, issue: &IssueRecord) -> Result<i64, StoreError> {
        insert_columns(
            &mut insert_columns_statement(self.conn)?,
            self.domain,
            &issue.columns,
            None,
        )?;
        let row = self.conn.last_insert_rowid();
        insert_fragments(
            &mut insert_fragments_statement(self.conn)?,
            row,
            &issue.head,
            &issue.body,
        )?;
        Ok(row)
    }

    fn replace(&self, replaced: &[Replacement]) -> Result<(), StoreError> {
        Ok(replaced.iter().try_for_each(|replaced| records::replace(self.conn, replaced))?)
    }

    fn delete(&self, rows: &[u32]) -> Result<(), StoreError> {
        for delete in
            ["DELETE FROM issue_bodies WHERE row = ?1", "DELETE FROM issues WHERE row = ?1"]
        {
            self.execute_each(delete, rows, |row| [*row])?;
        }
        Ok(())
    }

    fn update_index(&self, changes: IndexChanges) -> Result<(), StoreError> {
        Ok(index::update(self.conn, self.domain, &changes.finish())?)
    }
}
