//! Writes index updates: the counters, term sets and marks for the text index of a chunk or
//! command.
//! [`caseload_store::issues`] computes the update. Invariant: a counter of zero and an empty set
//! have no row.

use caseload_model::ids::DomainId;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::Fault;
use caseload_store::StoreError;
use caseload_store::issues::IndexUpdate;
use caseload_store::rowset::encode_rows;
use caseload_store::term_changes::TermUpdate;
use caseload_store::text_index::TextMark;

/// Writes an index update.
pub(super) fn update(
    conn: &Connection,
    domain: DomainId,
    update: &IndexUpdate,
) -> Result<(), Fault> {
    update_counters(conn, domain, update)?;
    let mut mark = conn.prepare_cached(
        "INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for TextMark { first, last, erased } in &update.texts {
        mark.execute(params![domain.0, first, last, erased])?;
    }
    let (mut sets, mut values) = (Statements::of(conn, SETS)?, Statements::of(conn, VALUES)?);
    for steps in update.terms() {
        let statements = if steps.kind.is_sparse() { &mut values } else { &mut sets };
        statements.apply(domain, &steps)?;
    }
    Ok(())
}

fn update_counters(conn: &Connection, domain: DomainId, update: &IndexUpdate) -> Result<(), Fault> {
    let mut up = conn.prepare_cached(
        "INSERT INTO issue_counts (domain_id, facet, value, day, n)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (domain_id, facet, value, day) DO UPDATE SET n = n + excluded.n",
    )?;
    let mut empty = conn.prepare_cached(
        "DELETE FROM issue_counts
         WHERE domain_id = ?1 AND facet = ?2 AND value = ?3 AND day = ?4 AND n = -?5",
    )?;
    let mut down = conn.prepare_cached(
        "UPDATE issue_counts SET n = n + ?5
         WHERE domain_id = ?1 AND facet = ?2 AND value = ?3 AND day = ?4",
    )?;
    for (facet, value, day, sum) in update.counters() {
        let bound = params![domain.0, facet, value, day, sum];
        if sum > 0 {
            up.execute(bound)?;
        } else if empty.execute(bound)? == 0 && down.execute(bound)? == 0 {
            return Err(StoreError::Corrupt(
                "an issue leaves a counter that does not exist".to_owned(),
            )
            .into());
        }
    }
    Ok(())
}

/// The table of dense terms, and the table of sparse terms.
const SETS: &str = "issue_sets";
const VALUES: &str = "issue_values";

/// The statements on one table of sets.
pub(crate) struct Statements<'c> {
    select: CachedStatement<'c>,
    insert: CachedStatement<'c>,
    update: CachedStatement<'c>,
    delete: CachedStatement<'c>,
}

impl<'c> Statements<'c> {
    pub(crate) fn of(conn: &'c Connection, table: &str) -> Result<Self, Fault> {
        const ONE: &str = "domain_id = ?1 AND kind = ?2 AND value = ?3 AND block = ?4";
        let prepare = |text: String| conn.prepare_cached(&text);
        Ok(Self {
            select: prepare(format!("SELECT rows FROM {table} WHERE {ONE}"))?,
            insert: prepare(format!(
                "INSERT INTO {table} (domain_id, kind, value, block, rows)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING"
            ))?,
            update: prepare(format!("UPDATE {table} SET rows = ?5 WHERE {ONE}"))?,
            delete: prepare(format!("DELETE FROM {table} WHERE {ONE}"))?,
        })
    }

    /// Applies the steps of one block.
    pub(crate) fn apply(
        &mut self,
        domain: DomainId,
        changes: &TermUpdate<'_>,
    ) -> Result<(), Fault> {
        let TermUpdate { kind, value, block, steps } = *changes;
        let (domain, code) = (domain.0, kind.code());
        // A sparse term is usually new to its block, so there is nothing to read.
        if kind.is_sparse() && changes.enters() {
            let rows = encode_rows(steps.iter().map(|(row, _)| *row))?;
            if self.insert.execute(params![domain, code, value, block, rows])? > 0 {
                return Ok(());
            }
        }
        let stored: Option<Vec<u8>> = self
            .select
            .query_row(params![domain, code, value, block], |row| row.get(0))
            .optional()?;
        if let Some(rows) = changes.applied_to(stored.as_deref())? {
            let write = if stored.is_some() { &mut self.update } else { &mut self.insert };
            write.execute(params![domain, code, value, block, rows])?;
        } else {
            self.delete.execute(params![domain, code, value, block])?;
        }
        Ok(())
    }
}
