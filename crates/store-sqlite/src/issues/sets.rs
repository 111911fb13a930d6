//! Reads sets of rows: by terms, ranges of terms, spans of time and ids. A set is in memory and at
//! most as large as the domain has issues (125 kB for a million).

use std::ops::RangeInclusive;

use caseload_model::ids::DomainId;
use caseload_model::issue::{TermKind, TermRange};
use caseload_model::issue_query::{SortKey, TimeRange};
use caseload_store::query::{DaySplit, Index};
use caseload_store::rowset::{RowSetBuilder, decode, row_number};
use roaring::RoaringBitmap;
use rusqlite::{Connection, Rows, params};

use super::sql::name_of;
use crate::Fault;

/// The issues in these blocks that have at least one of the terms.
pub(super) fn any(
    conn: &Connection,
    domain: DomainId,
    kind: TermKind,
    values: &[impl AsRef<[u8]>],
    blocks: &RangeInclusive<u32>,
) -> Result<RoaringBitmap, Fault> {
    let mut rows = RoaringBitmap::new();
    for value in values {
        add_term(conn, domain, kind, value.as_ref(), blocks, &mut rows)?;
    }
    Ok(rows)
}

fn add_term(
    conn: &Connection,
    domain: DomainId,
    kind: TermKind,
    value: &[u8],
    blocks: &RangeInclusive<u32>,
    into: &mut RoaringBitmap,
) -> Result<(), Fault> {
    if kind.is_sparse() {
        let mut select = conn.prepare_cached(
            "SELECT rows FROM issue_values
             WHERE domain_id = ?1 AND kind = ?2 AND block = ?3 AND value = ?4",
        )?;
        let held = blocks_of(conn, domain)?;
        for block in held.into_iter().filter(|block| blocks.contains(block)) {
            let mut found = select.query(params![domain.0, kind.code(), block, value])?;
            if let Some(row) = found.next()? {
                decode(block, blob(row, 0)?, into)?;
            }
        }
        return Ok(());
    }
    let mut select = conn.prepare_cached(
        "SELECT block, rows FROM issue_sets
         WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND block BETWEEN ?4 AND ?5",
    )?;
    let bound = params![domain.0, kind.code(), value, blocks.start(), blocks.end()];
    let mut rows = select.query(bound)?;
    while let Some(row) = rows.next()? {
        decode(row.get(0)?, blob(row, 1)?, into)?;
    }
    Ok(())
}

/// The issues with a term in one of these ranges.
pub(super) fn between(
    conn: &Connection,
    domain: DomainId,
    ranges: &[TermRange],
) -> Result<RoaringBitmap, Fault> {
    let mut rows = RowSetBuilder::default();
    for range in ranges {
        add_range(conn, domain, range, &mut rows)?;
    }
    Ok(rows.finish())
}

fn add_range(
    conn: &Connection,
    domain: DomainId,
    range: &TermRange,
    into: &mut RowSetBuilder,
) -> Result<(), Fault> {
    let TermRange { kind, from, until } = range;
    if !kind.is_sparse() {
        let mut select = conn.prepare_cached(
            "SELECT block, rows FROM issue_sets
             WHERE domain_id = ?1 AND kind = ?2 AND value >= ?3 AND value < ?4",
        )?;
        let mut found = select.query(params![domain.0, kind.code(), from, until])?;
        while let Some(row) = found.next()? {
            into.add(row.get(0)?, blob(row, 1)?)?;
        }
        return Ok(());
    }
    let mut select = conn.prepare_cached(
        "SELECT rows FROM issue_values WHERE domain_id = ?1 AND kind = ?2 AND block = ?3
         AND value >= ?4 AND value < ?5",
    )?;
    for block in blocks_of(conn, domain)? {
        let bound = params![domain.0, kind.code(), block, from, until];
        let mut found = select.query(bound)?;
        while let Some(row) = found.next()? {
            into.add(block, blob(row, 0)?)?;
        }
    }
    Ok(())
}

/// Visits the whole set of each value until `visit` returns false. The rows have value, block and
/// set, and those of one value are adjacent.
pub(super) fn by_value(
    mut stored: Rows<'_>,
    mut visit: impl FnMut(&[u8], &RoaringBitmap) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    let mut value: Option<Vec<u8>> = None;
    let mut rows = RoaringBitmap::new();
    while let Some(row) = stored.next()? {
        let of = blob(row, 0)?;
        if value.as_deref() != Some(of) {
            if let Some(value) = &value
                && !visit(value, &rows)?
            {
                return Ok(());
            }
            rows.clear();
            value = Some(of.to_vec());
        }
        decode(row.get(1)?, blob(row, 2)?, &mut rows)?;
    }
    if let Some(value) = &value {
        visit(value, &rows)?;
    }
    Ok(())
}

/// The blocks in which the domain has issues.
fn blocks_of(conn: &Connection, domain: DomainId) -> Result<Vec<u32>, Fault> {
    let mut select = conn.prepare_cached(
        "SELECT block FROM issue_sets WHERE domain_id = ?1 AND kind = ?2 AND value = x''",
    )?;
    let blocks = select.query_map(params![domain.0, TermKind::All.code()], |row| row.get(0))?;
    Ok(blocks.collect::<Result<_, _>>()?)
}

/// The issues in a span of time: whole days from their sets and from those of 32 days, the ends
/// from the index.
pub(super) fn span(
    conn: &Connection,
    domain: DomainId,
    key: SortKey,
    split: &DaySplit,
) -> Result<RoaringBitmap, Fault> {
    let mut rows = RowSetBuilder::default();
    for range in split.days.iter().flat_map(|days| days.sets(kind_of(key))) {
        add_range(conn, domain, &range, &mut rows)?;
    }
    for end in [split.before, split.after].into_iter().flatten() {
        add_end(conn, domain, key, end, &mut rows)?;
    }
    Ok(rows.finish())
}

/// Adds the issues in a short span of time, from the index.
fn add_end(
    conn: &Connection,
    domain: DomainId,
    key: SortKey,
    range: TimeRange,
    into: &mut RowSetBuilder,
) -> Result<(), Fault> {
    let (index, column) = (name_of(Index::of_order(key)), column_of(key));
    let mut select = conn.prepare_cached(&format!(
        "SELECT row FROM issues INDEXED BY {index}
         WHERE domain_id = ?1 AND {column} BETWEEN ?2 AND ?3"
    ))?;
    let since = range.since.map_or(i64::MIN, |at| at.0);
    let until = range.until.map_or(i64::MAX, |at| at.0);
    let mut found = select.query(params![domain.0, since, until])?;
    while let Some(row) = found.next()? {
        into.insert(row_number(row.get(0)?)?);
    }
    Ok(())
}

/// The issues with these ids.
pub(super) fn ids(
    conn: &Connection,
    domain: DomainId,
    ids: &[u64],
) -> Result<RoaringBitmap, Fault> {
    let mut select =
        conn.prepare_cached("SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2")?;
    let mut rows = RoaringBitmap::new();
    for id in ids {
        let Ok(id) = i64::try_from(*id) else { continue };
        let mut found = select.query(params![domain.0, id])?;
        while let Some(row) = found.next()? {
            rows.insert(row_number(row.get(0)?)?);
        }
    }
    Ok(rows)
}

/// A blob of a row, borrowed.
pub(super) fn blob<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    row.get_ref(column)?.as_blob().map_err(rusqlite::types::FromSqlError::into)
}

/// The kind of term for the days of a time.
pub(super) const fn kind_of(key: SortKey) -> TermKind {
    match key {
        SortKey::CreationTime => TermKind::Created,
        SortKey::UpdateTime => TermKind::Updated,
        SortKey::StateChangeTime => TermKind::Changed,
    }
}

/// The column of a time.
pub(super) const fn column_of(key: SortKey) -> &'static str {
    match key {
        SortKey::CreationTime => "created_at",
        SortKey::UpdateTime => "updated_at",
        SortKey::StateChangeTime => "changed_at",
    }
}
