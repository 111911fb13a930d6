//! The statements of an import ([`ImportStore`]). Issues are inserted slice by slice; the index and
//! the clock's row are written once, when the chunk ends. A thread of its own computes the changes
//! of the index while the writer inserts the next issues.

use std::ops::Range;

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::ids::DomainId;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{
    ImportContext, ImportPlan, IssueBody, IssueColumns, IssueFragments, StoredIssue, TimeWindow,
};
use caseload_model::time::UnixMillis;
use caseload_store::checksum;
use caseload_store::issues::{FRAGMENTS, FreeRows, ImportStore, stored_issue, taken_instants};
use caseload_store::profiles::add_app_profile;
use caseload_store::sql::Sql;
use caseload_store::{ApplyChunk, ChunkEntries, StoreError, values};
use rusqlite::{CachedStatement, Connection, params};

use super::index;
use super::index_thread::{IndexThread, Slice};
use crate::engine::WorkLimit;
use crate::tx::DomainTx;
use crate::{Fault, clock};

/// The import of one chunk.
#[derive(Debug)]
pub(crate) struct Import<'c> {
    tx: DomainTx<'c>,
    now: UnixMillis,
    indexing: IndexThread,
    changed_at: Option<UnixMillis>,
    /// The records that were created by their names.
    created: Vec<Effect>,
}

impl<'c> ImportStore for Import<'c> {
    type Domain = DomainTx<'c>;

    fn domain(&self) -> DomainTx<'c> {
        self.tx
    }

    fn clock(&mut self) -> Result<(u64, u64), StoreError> {
        let select =
            "SELECT last_issue_id, last_app_number FROM domain_clocks WHERE domain_id = ?1";
        let found =
            self.tx.find(select, values![self.tx.domain], |row| Ok((row.get(0)?, row.get(1)?)));
        found?.ok_or(StoreError::LeaseLost)
    }

    fn stored(&mut self, ids: &[i64]) -> Result<Vec<(u64, StoredIssue)>, StoreError> {
        let select = format!(
            "SELECT {FRAGMENTS}, id, created_at, original_created_at FROM rarray(?2) named
             CROSS JOIN issues ON domain_id = ?1 AND id = named.value
             JOIN issue_bodies b USING (row)"
        );
        self.tx.list(&select, values![self.tx.domain, ids], stored_issue)
    }

    fn taken(&mut self, windows: &[TimeWindow]) -> Result<Vec<Vec<UnixMillis>>, StoreError> {
        windows.iter().map(|window| taken_instants(&self.tx, *window)).collect()
    }

    fn unindex(&mut self, removed: Vec<(u32, IssueRecord)>) -> Result<(), StoreError> {
        Ok(self.indexing.remove(removed)?)
    }

    fn take_created(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.created)
    }

    fn insert(
        &mut self,
        part: &ChunkEntries,
        slice: Range<usize>,
        plan: &mut ImportPlan,
        rows: FreeRows,
    ) -> Result<(), StoreError> {
        self.keep_names(self.tx.conn, plan)?;
        let mut issues = std::mem::take(&mut plan.issues);
        if !issues.is_empty() {
            self.changed_at(self.tx.conn)?;
        }
        // Those with a row of their own come first: SQLite would give that row to another one.
        issues.sort_by_key(|issue| !rows.contains_key(&issue.columns.id));
        let slice = Slice { work: part.work.clone(), entries: slice, issues };
        let rows = insert_issues(self.tx.conn, self.tx.domain, &slice, &rows)?;
        self.indexing.add(slice, rows)?;
        Ok(())
    }
}

impl<'c> Import<'c> {
    pub(crate) fn new(tx: DomainTx<'c>, command: &ApplyChunk) -> Self {
        let (now, indexing) = (command.clock.now(), IndexThread::default());
        Self { tx, now, indexing, changed_at: None, created: Vec::new() }
    }

    /// Writes the index and the clock's numbers.
    pub(crate) fn finish(&mut self, imported: &ImportContext) -> Result<(), Fault> {
        let indexing = std::mem::take(&mut self.indexing);
        index::update(self.tx.conn, self.tx.domain, &indexing.end()?)?;
        clock::advance_for_import(
            self.tx.conn,
            self.tx.domain,
            imported.last_issue_id,
            imported.taken_timestamps.max_created_at(),
            imported.next_publish_number,
        )
    }

    /// Creates apps, queues, agents and app profiles whose ids are free.
    fn keep_names(&mut self, conn: &Connection, plan: &ImportPlan) -> Result<(), Fault> {
        for app in &plan.apps {
            // Each app gets a time of its own: apps are listed oldest first.
            let at = clock::change_time(conn, self.tx.domain, self.now)?.0;
            let id = &app.app_id;
            self.tx.change(
                "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
                 VALUES (?1, ?2, ?3, ?2, ?4)",
                values![self.tx.domain, id, app.publish_id, at],
            )?;
            self.created(Resource::App, id);
        }
        if plan.queues.is_empty() && plan.agents.is_empty() && plan.app_profiles.is_empty() {
            return Ok(());
        }
        let now = self.changed_at(conn)?.0;
        for queue in &plan.queues {
            let added = self.tx.change(
                "INSERT INTO queues (domain_id, id, name, created_at)
                 VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                values![self.tx.domain, queue.id, queue.name, now],
            )?;
            if added > 0 {
                self.created(Resource::Queue, &queue.id);
            }
        }
        for agent in &plan.agents {
            let email = agent.email.as_deref().unwrap_or_default();
            let added = self.tx.change(
                "INSERT INTO agents (domain_id, id, name, email, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                values![self.tx.domain, agent.id, agent.name, email, now],
            )?;
            if added > 0 {
                self.created(Resource::Agent, &agent.id);
            }
        }
        for profile in &plan.app_profiles {
            if add_app_profile(&self.tx, profile, UnixMillis(now))? {
                self.created(Resource::AppProfile, &profile.pid);
            }
        }
        Ok(())
    }

    fn created(&mut self, resource: Resource, id: &str) {
        self.created.push(Effect::new(resource, id, ChangeAction::Created));
    }

    fn changed_at(&mut self, conn: &Connection) -> Result<UnixMillis, Fault> {
        if let Some(at) = self.changed_at {
            return Ok(at);
        }
        let at = clock::change_time(conn, self.tx.domain, self.now)?;
        self.changed_at = Some(at);
        Ok(at)
    }
}

/// Inserts the issues and returns their rows.
fn insert_issues(
    conn: &Connection,
    domain: DomainId,
    slice: &Slice,
    free: &FreeRows,
) -> Result<Vec<i64>, Fault> {
    let mut columns = insert_columns_statement(conn)?;
    let mut fragments = insert_fragments_statement(conn)?;
    let mut rows = Vec::with_capacity(slice.issues.len());
    for (issue, body) in slice.bodies()? {
        WorkLimit::check()?;
        insert_columns(&mut columns, domain, &issue.columns, free.get(&issue.columns.id).copied())?;
        let row = conn.last_insert_rowid();
        insert_fragments(&mut fragments, row, &issue.head, body)?;
        rows.push(row);
    }
    Ok(rows)
}

/// The statement of [`insert_columns`].
pub(super) fn insert_columns_statement(conn: &Connection) -> Result<CachedStatement<'_>, Fault> {
    Ok(conn.prepare_cached(
        "INSERT INTO issues (domain_id, id, created_at, updated_at, changed_at, state, redacted,
         rating, original_created_at, app_id, platform_type, queue_id, hs_user_id, assignee_id,
         language, issue_mode, author_email, row)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?)
}

/// Inserts the columns of an issue, in a row of the table's choice without `row`.
pub(super) fn insert_columns(
    insert: &mut CachedStatement<'_>,
    domain: DomainId,
    columns: &IssueColumns,
    row: Option<u32>,
) -> Result<(), Fault> {
    let facts = &columns.facts;
    insert.execute(params![
        domain.0,
        columns.id as i64,
        columns.created_at.0,
        facts.updated_at.0,
        facts.changed_at.0,
        facts.state.code(),
        facts.redacted,
        facts.rating,
        columns.original_created_at.map(|at| at.0),
        columns.app_id,
        facts.platform_type,
        facts.queue.as_ref().map(|queue| &queue.id),
        facts.hs_user_id,
        facts.assignee_id,
        facts.language,
        facts.issue_mode,
        facts.author_email,
        row,
    ])?;
    Ok(())
}

/// The statement of [`insert_fragments`].
pub(super) fn insert_fragments_statement(conn: &Connection) -> Result<CachedStatement<'_>, Fault> {
    Ok(conn.prepare_cached(
        "INSERT INTO issue_bodies (row, head, messages, meta, custom_fields, feedback, queue,
         private_notes, predict_labels, sentiment_analysis, smart_intents, checksums)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?)
}

/// Inserts the fragments of the issue in `row`.
pub(super) fn insert_fragments(
    insert: &mut CachedStatement<'_>,
    row: i64,
    head: &[u8],
    body: &IssueBody,
) -> Result<(), Fault> {
    insert.execute(params![
        row,
        head,
        body.messages,
        body.meta,
        body.custom_fields,
        body.feedback,
        body.queue,
        body.private_notes,
        body.predict_labels,
        body.sentiment_analysis,
        body.smart_intents,
        checksum::of_fragments(&IssueFragments::new(head, body)),
    ])?;
    Ok(())
}
