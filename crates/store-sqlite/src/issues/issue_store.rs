//! The statements of the writing commands ([`IssueStore`]). The writer thread runs one command at
//! a time, so no statement locks anything.

use caseload_model::issue::write::{
    AgentSummary, AppProfileSummary, Attachment, Desk, IssueRecord,
};
use caseload_model::issue::{App, AppProfileRow, IssueQueue};
use caseload_model::time::UnixMillis;
use rusqlite::{OptionalExtension, Row, params};

use super::super::{attachments, clock, domains};
use super::import::{
    insert_columns, insert_columns_statement, insert_fragments, insert_fragments_statement,
};
use super::{index, records};
use crate::store_error;
use crate::tx::DomainTx;
use caseload_store::StoreError;
use caseload_store::issues::{IndexChanges, IssueAllocation, IssueStore, Replacement};
use caseload_store::rowset::row_number;

impl IssueStore for DomainTx<'_> {
    fn app(&self, id: Option<&str>) -> Result<Option<(App, bool)>, StoreError> {
        self.conn
            .prepare_cached(
                "SELECT a.id, a.publish_id, a.id = d.default_app_id
                 FROM domains d JOIN apps a
                 ON a.domain_id = d.id AND a.id = ifnull(?2, d.default_app_id)
                 WHERE d.id = ?1",
            )
            .map_err(store_error)?
            .query_row(params![self.domain.0, id], |row| {
                Ok((App { app_id: row.get(0)?, publish_id: row.get(1)? }, row.get(2)?))
            })
            .optional()
            .map_err(store_error)
    }

    fn agent(&self, id: &str) -> Result<Option<AgentSummary>, StoreError> {
        self.conn
            .prepare_cached("SELECT id, name, email FROM agents WHERE domain_id = ?1 AND id = ?2")
            .map_err(store_error)?
            .query_row(params![self.domain.0, id], agent)
            .optional()
            .map_err(store_error)
    }

    fn agents(&self) -> Result<Vec<AgentSummary>, StoreError> {
        let mut statement = self
            .conn
            .prepare_cached(
                "SELECT id, name, email FROM agents WHERE domain_id = ?1 ORDER BY created_at, id",
            )
            .map_err(store_error)?;
        let agents = statement.query_map([self.domain.0], agent).map_err(store_error)?;
        agents.collect::<Result<_, _>>().map_err(store_error)
    }

    fn desk(&self) -> Result<Desk, StoreError> {
        Ok(domains::desk(self.conn, self.domain)?)
    }

    fn queue(&self, id: &str) -> Result<Option<IssueQueue>, StoreError> {
        self.conn
            .prepare_cached("SELECT id, name FROM queues WHERE domain_id = ?1 AND id = ?2")
            .map_err(store_error)?
            .query_row(params![self.domain.0, id], |row| {
                Ok(IssueQueue { id: row.get(0)?, name: row.get(1)? })
            })
            .optional()
            .map_err(store_error)
    }

    fn app_profile(&self, pid: &str) -> Result<Option<AppProfileSummary>, StoreError> {
        self.conn
            .prepare_cached(
                "SELECT pid, name, emails FROM app_profiles WHERE domain_id = ?1 AND pid = ?2",
            )
            .map_err(store_error)?
            .query_row(params![self.domain.0, pid], |row| {
                Ok(AppProfileSummary { pid: row.get(0)?, name: row.get(1)?, emails: row.get(2)? })
            })
            .optional()
            .map_err(store_error)
    }

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
        insert_columns(&mut insert_columns_statement(self.conn)?, self.domain, &issue.columns)?;
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

    fn update_index(&self, changes: IndexChanges) -> Result<(), StoreError> {
        Ok(index::update(self.conn, self.domain, &changes.finish())?)
    }

    fn add_app_profile(&self, profile: &AppProfileRow, at: UnixMillis) -> Result<(), StoreError> {
        let AppProfileRow { pid, app_id, name, emails } = profile;
        self.conn
            .prepare_cached(
                "INSERT INTO app_profiles
                 (domain_id, pid, app_id, name, emails, created_at, updated_at, fields)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, x'') ON CONFLICT DO NOTHING",
            )
            .map_err(store_error)?
            .execute(params![self.domain.0, pid, app_id, name, emails, at.0])
            .map_err(store_error)?;
        Ok(())
    }

    fn claim(&self, issue_id: u64, files: &[Attachment]) -> Result<(), StoreError> {
        Ok(attachments::claim(self.conn, self.domain, issue_id, files)?)
    }
}

fn agent(row: &Row<'_>) -> rusqlite::Result<AgentSummary> {
    Ok(AgentSummary { id: row.get(0)?, name: row.get(1)?, email: row.get(2)? })
}
