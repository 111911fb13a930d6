//! What issues are found by, kept up to date: counters and sets of rows
//! per term. One entry point for imports and edits: an issue as it was and as it is. Changes add up
//! until the chunk or command ends and are then written once, in its transaction. Invariant: after
//! [`Changes::keep`], counters and terms are those that the model names for the stored rows.

use std::collections::HashMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::{
    Facet, IssueColumns, IssueFragments, TermKind, visit_counters, visit_terms,
};
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, params};

use super::rowset::{block_of, decode, encode, row_number};
use crate::StoreError;

/// An issue as far as it decides what it is found by.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Indexed<'i> {
    pub(in crate::sqlite) columns: &'i IssueColumns,
    pub(in crate::sqlite) fragments: &'i IssueFragments<'i>,
}

/// Whether a row enters or leaves a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Leaves,
    Enters,
}

/// Changes of one domain, added up.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Changes {
    /// By facet, value and day; see [`counter_key`].
    counters: HashMap<Box<[u8]>, i64>,
    /// By kind and value. A row may come several times; its first and last step count.
    terms: HashMap<Box<[u8]>, Vec<(u32, Step)>>,
    /// Where keys are put together.
    key: Vec<u8>,
}

impl Changes {
    /// Notes that the issue in `row` was `before` and is `after`: a new issue was nothing before.
    pub(in crate::sqlite) fn change(
        &mut self,
        row: i64,
        before: Option<Indexed<'_>>,
        after: Option<Indexed<'_>>,
    ) -> Result<(), StoreError> {
        let row = row_number(row)?;
        for (issue, step) in [(before, Step::Leaves), (after, Step::Enters)] {
            if let Some(issue) = issue {
                self.note(row, issue, step);
            }
        }
        Ok(())
    }

    fn note(&mut self, row: u32, issue: Indexed<'_>, step: Step) {
        let Self { counters, terms, key } = self;
        let by = if step == Step::Enters { 1 } else { -1 };
        visit_counters(issue.columns, &mut |facet, value, day| {
            counter_key(facet, value, day, key);
            match counters.get_mut(key.as_slice()) {
                Some(sum) => *sum += by,
                None => drop(counters.insert(key.as_slice().into(), by)),
            }
        });
        visit_terms(issue.columns, issue.fragments, &mut |kind, value| {
            key.clear();
            key.push(kind as u8);
            key.extend_from_slice(value);
            match terms.get_mut(key.as_slice()) {
                Some(steps) => steps.push((row, step)),
                None => drop(terms.insert(key.as_slice().into(), vec![(row, step)])),
            }
        });
    }

    /// Writes what the changes come to.
    pub(in crate::sqlite) fn keep(
        self,
        conn: &Connection,
        domain: DomainId,
    ) -> Result<(), StoreError> {
        keep_counters(conn, domain, self.counters)?;
        keep_terms(conn, domain, self.terms)
    }
}

/// The key of a counter: facet, value, day. Its order is that of the table.
fn counter_key(facet: Facet, value: &[u8], day: i64, key: &mut Vec<u8>) {
    key.clear();
    key.push(facet as u8);
    key.extend_from_slice(value);
    key.extend_from_slice(&(day.cast_unsigned() ^ 1 << 63).to_be_bytes());
}

fn counter_parts(key: &[u8]) -> Option<(u8, &[u8], i64)> {
    let (facet, rest) = key.split_first()?;
    let (value, day) = rest.split_last_chunk()?;
    Some((*facet, value, (u64::from_be_bytes(*day) ^ 1 << 63).cast_signed()))
}

fn keep_counters(
    conn: &Connection,
    domain: DomainId,
    sums: HashMap<Box<[u8]>, i64>,
) -> Result<(), StoreError> {
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, sum)| *sum != 0).collect();
    sums.sort_unstable();
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
    for (key, sum) in sums {
        let Some((facet, value, day)) = counter_parts(&key) else { continue };
        let bound = params![domain.0, facet, value, day, sum];
        if sum > 0 {
            up.execute(bound)?;
        } else if empty.execute(bound)? == 0 && down.execute(bound)? == 0 {
            return Err(StoreError::Corrupt("an issue leaves a count that is not kept".to_owned()));
        }
    }
    Ok(())
}

/// What the steps of one term come to: rows that leave it and rows that enter it.
fn net(mut steps: Vec<(u32, Step)>) -> Vec<(u32, Step)> {
    // Stable: the steps of a row stay in order.
    steps.sort_by_key(|(row, _)| *row);
    steps
        .chunk_by(|a, b| a.0 == b.0)
        // A row that first leaves was in the term, one that last enters is in it.
        .filter(|steps| steps[0].1 == steps[steps.len() - 1].1)
        .map(|steps| steps[0])
        .collect()
}

fn keep_terms(
    conn: &Connection,
    domain: DomainId,
    terms: HashMap<Box<[u8]>, Vec<(u32, Step)>>,
) -> Result<(), StoreError> {
    let mut terms: Vec<_> = terms.into_iter().collect();
    terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (key, steps) in terms {
        let Some((code, value)) = key.split_first() else { continue };
        let Some(kind) = TermKind::from_code((*code).into()) else { continue };
        for steps in net(steps).chunk_by(|a, b| block_of(a.0) == block_of(b.0)) {
            keep_set(conn, domain, kind, value, steps)?;
        }
    }
    Ok(())
}

fn left_nothing(kind: TermKind) -> StoreError {
    StoreError::Corrupt(format!("an issue leaves a term of kind {} it is not in", kind.as_str()))
}

/// The statements on the table of a kind.
struct Statements {
    select: &'static str,
    write: &'static str,
    delete: &'static str,
}

const SETS: Statements = Statements {
    select: "SELECT rows FROM issue_sets
        WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND block = ?4",
    write: "INSERT INTO issue_sets (domain_id, kind, value, block, rows)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (domain_id, kind, value, block) DO UPDATE SET rows = excluded.rows",
    delete: "DELETE FROM issue_sets
        WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND block = ?4",
};

const VALUES: Statements = Statements {
    select: "SELECT rows FROM issue_values
        WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND block = ?4",
    write: "INSERT INTO issue_values (domain_id, kind, value, block, rows)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (domain_id, kind, block, value) DO UPDATE SET rows = excluded.rows",
    delete: "DELETE FROM issue_values
        WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND block = ?4",
};

/// Applies steps of one block.
fn keep_set(
    conn: &Connection,
    domain: DomainId,
    kind: TermKind,
    value: &[u8],
    steps: &[(u32, Step)],
) -> Result<(), StoreError> {
    let Some((first, _)) = steps.first() else { return Ok(()) };
    let statements = if kind.is_sparse() { VALUES } else { SETS };
    let block = block_of(*first);
    let stored: Option<Vec<u8>> = conn
        .prepare_cached(statements.select)?
        .query_row(params![domain.0, kind.code(), value, block], |row| row.get(0))
        .optional()?;
    let mut rows = RoaringBitmap::new();
    if let Some(stored) = &stored {
        decode(block, stored, &mut rows)?;
    }
    for (row, step) in steps {
        let changed = if *step == Step::Enters { rows.insert(*row) } else { rows.remove(*row) };
        if !changed {
            return Err(left_nothing(kind));
        }
    }
    if rows.is_empty() {
        let mut delete = conn.prepare_cached(statements.delete)?;
        delete.execute(params![domain.0, kind.code(), value, block])?;
    } else {
        let mut write = conn.prepare_cached(statements.write)?;
        write.execute(params![domain.0, kind.code(), value, block, encode(&mut rows)?])?;
    }
    Ok(())
}
