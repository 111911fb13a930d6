//! Keeping what issues are found by: counters and sets of rows per term, as the changes of a chunk
//! or command come to. What changes is decided in [`crate::issues`]. Invariant: a counter that
//! reaches zero and a set that becomes empty are no row.

use caseload_model::ids::DomainId;
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, params};

use crate::StoreError;
use crate::issues::{Changes, SetSteps, Settled, Step, decode, encode, left_nothing};

/// Writes what the changes come to.
pub(super) fn keep(
    conn: &Connection,
    domain: DomainId,
    changes: Changes,
) -> Result<(), StoreError> {
    let settled = changes.settle();
    keep_counters(conn, domain, &settled)?;
    for steps in settled.terms() {
        keep_set(conn, domain, &steps)?;
    }
    Ok(())
}

fn keep_counters(conn: &Connection, domain: DomainId, settled: &Settled) -> Result<(), StoreError> {
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
    for (facet, value, day, sum) in settled.counters() {
        let bound = params![domain.0, facet, value, day, sum];
        if sum > 0 {
            up.execute(bound)?;
        } else if empty.execute(bound)? == 0 && down.execute(bound)? == 0 {
            return Err(StoreError::Corrupt("an issue leaves a count that is not kept".to_owned()));
        }
    }
    Ok(())
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
fn keep_set(conn: &Connection, domain: DomainId, changes: &SetSteps<'_>) -> Result<(), StoreError> {
    let SetSteps { kind, value, block, steps } = *changes;
    let statements = if kind.is_sparse() { VALUES } else { SETS };
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
