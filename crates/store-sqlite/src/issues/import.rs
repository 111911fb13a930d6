//! Importing issues: reads what a plan of the model's needs, asks for the plan, writes what it
//! says. The slices of a chunk share what is known of the domain; the index and the clock's row are
//! written once, when the chunk ends; what it comes to is worked out beside the writer meanwhile. A
//! dry run is planned as one slice, because nothing of it is
//! stored for the next one to find.

use std::ops::Range;

use caseload_model::ids::DomainId;
use caseload_model::issue::{ImportPlan, IssueBody, IssueColumns, NewIssue, named_issue_ids};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use rusqlite::{CachedStatement, Connection, params};

use super::super::clock;
use super::index_thread::{IndexThread, Slice, entries_of};
use super::{import_state, index};
use crate::Fault;
use caseload_store::issues::{ImportPlanner, ImportState};
use caseload_store::{ApplyChunk, ChunkEntries};

/// What the slices of one chunk share.
#[derive(Debug)]
pub(crate) struct Import {
    domain: DomainId,
    now: UnixMillis,
    dry_run: bool,
    known: Option<ImportState>,
    indexing: IndexThread,
    changed_at: Option<UnixMillis>,
}

impl Import {
    pub(crate) fn new(command: &ApplyChunk) -> Self {
        Self {
            domain: command.domain,
            now: command.now,
            dry_run: command.dry_run,
            known: None,
            indexing: IndexThread::default(),
            changed_at: None,
        }
    }

    /// Imports those entries of a part and returns their records.
    pub(crate) fn import(
        &mut self,
        conn: &Connection,
        part: &ChunkEntries,
        slice: Range<usize>,
    ) -> Result<ChunkRecords, Fault> {
        let entries = entries_of(&part.work, &slice)?;
        let known = match self.known.take() {
            Some(known) => known,
            None => import_state::known(conn, self.domain)?,
        };
        let payload = &part.block.bytes;
        let (mut known, mut plan) = plan(conn, self.domain, known, payload, entries, self.dry_run)?;
        if !self.dry_run {
            self.keep_names(conn, &plan)?;
            let issues = std::mem::take(&mut plan.issues);
            let slice = Slice { work: part.work.clone(), entries: slice, issues };
            let rows = insert_issues(conn, self.domain, &slice)?;
            self.indexing.add(slice, rows)?;
            known.add(&mut plan);
        }
        self.known = Some(known);
        Ok(plan.records)
    }

    /// IssueStatements what the chunk comes to: the index and the clock's numbers.
    pub(crate) fn finish(self, conn: &Connection) -> Result<(), Fault> {
        let Some(known) = self.known.filter(|_| !self.dry_run) else { return Ok(()) };
        index::update(conn, self.domain, &self.indexing.end()?)?;
        clock::advance_for_import(
            conn,
            self.domain,
            known.last_issue_id,
            known.max_created_at,
            known.next_publish_number,
        )
    }

    /// Apps, queues, agents and app profiles: each is made where its id is free.
    fn keep_names(&mut self, conn: &Connection, plan: &ImportPlan) -> Result<(), Fault> {
        let domain = self.domain.0;
        for app in &plan.apps {
            // A time of its own each: apps are found oldest first.
            let at = clock::change_time(conn, self.domain, self.now)?.0;
            conn.prepare_cached(
                "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
                 VALUES (?1, ?2, ?3, ?2, ?4)",
            )?
            .execute(params![domain, app.app_id, app.publish_id, at])?;
        }
        if plan.queues.is_empty() && plan.agents.is_empty() && plan.app_profiles.is_empty() {
            return Ok(());
        }
        let now = self.changed_at(conn)?.0;
        for queue in &plan.queues {
            conn.prepare_cached(
                "INSERT INTO queues (domain_id, id, name, created_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![domain, queue.id, queue.name, now])?;
        }
        for agent in &plan.agents {
            let email = agent.email.as_deref().unwrap_or_default();
            conn.prepare_cached(
                "INSERT INTO agents (domain_id, id, name, email, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            )?
            .execute(params![domain, agent.id, agent.name, email, now])?;
        }
        let mut insert = conn.prepare_cached(
            "INSERT INTO app_profiles
             (domain_id, pid, app_id, name, emails, created_at, updated_at, fields)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, x'') ON CONFLICT DO NOTHING",
        )?;
        for profile in &plan.app_profiles {
            let (pid, app, name) = (&profile.pid, &profile.app_id, &profile.name);
            insert.execute(params![domain, pid, app, name, profile.emails, now])?;
        }
        Ok(())
    }

    fn changed_at(&mut self, conn: &Connection) -> Result<UnixMillis, Fault> {
        if let Some(at) = self.changed_at {
            return Ok(at);
        }
        let at = clock::change_time(conn, self.domain, self.now)?;
        self.changed_at = Some(at);
        Ok(at)
    }
}

/// Plans the entries, answering questions about taken milliseconds until none is left.
fn plan(
    conn: &Connection,
    domain: DomainId,
    known: ImportState,
    payload: &[u8],
    entries: &[PreparedEntry<NewIssue>],
    dry_run: bool,
) -> Result<(ImportState, ImportPlan), Fault> {
    let ids = named_issue_ids(entries);
    let stored = import_state::stored(conn, domain, known.maybe_taken(&ids))?;
    let mut planning = ImportPlanner::new(known, stored, payload, entries, dry_run);
    let plan = loop {
        match planning.plan() {
            Ok(plan) => break plan,
            Err(windows) => {
                for window in windows {
                    planning.note(window, import_state::taken(conn, domain, window)?);
                }
            }
        }
    };
    Ok((planning.end(), plan))
}

/// Inserts the issues; the rows they are in.
fn insert_issues(conn: &Connection, domain: DomainId, slice: &Slice) -> Result<Vec<i64>, Fault> {
    let mut columns = insert_columns_statement(conn)?;
    let mut fragments = insert_fragments_statement(conn)?;
    let mut rows = Vec::with_capacity(slice.issues.len());
    for (issue, body) in slice.bodies()? {
        insert_columns(&mut columns, domain, &issue.columns)?;
        let row = conn.last_insert_rowid();
        insert_fragments(&mut fragments, row, &issue.head, body)?;
        rows.push(row);
    }
    Ok(rows)
}

/// Inserts the columns of one issue; see [`insert_columns`].
pub(super) fn insert_columns_statement(conn: &Connection) -> Result<CachedStatement<'_>, Fault> {
    Ok(conn.prepare_cached(
        "INSERT INTO issues (domain_id, id, created_at, updated_at, changed_at, state, redacted,
         rating, original_created_at, app_id, platform_type, queue_id, hs_user_id, assignee_id,
         language, issue_mode, author_email)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?)
}

pub(super) fn insert_columns(
    insert: &mut CachedStatement<'_>,
    domain: DomainId,
    columns: &IssueColumns,
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
    ])?;
    Ok(())
}

/// Inserts the fragments of one issue; see [`insert_fragments`].
pub(super) fn insert_fragments_statement(conn: &Connection) -> Result<CachedStatement<'_>, Fault> {
    Ok(conn.prepare_cached(
        "INSERT INTO issue_bodies (row, head, messages, meta, custom_fields, feedback, queue,
         private_notes, predict_labels, sentiment_analysis, smart_intents)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
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
    ])?;
    Ok(())
}
