//! Reads the term sets of issues for the check. The rules that they have to obey are in
//! [`caseload_store::check::terms`].

use caseload_model::issue::visit_terms;
use roaring::RoaringBitmap;
use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::issues::{COLUMNS, COLUMNS_END, FRAGMENTS, columns, fragments};
use caseload_store::check::terms::{KindSums, ValueSums};
use caseload_store::rowset::decode;

/// Receives the domain, kind, value and row of an entry.
type Visit<'v> = &'v mut dyn FnMut(i64, i64, &[u8], u32);

/// The stored terms are the terms of the stored issues.
pub(super) fn terms(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut kinds = KindSums::default();
    visit_expected(conn, &mut |domain, kind, value, row| kinds.expect((domain, kind), value, row))?;
    visit_stored(conn, &mut |domain, kind, value, row| kinds.store((domain, kind), value, row))?;
    for kind in kinds.end(findings) {
        name_values(conn, kind, findings)?;
    }
    Ok(())
}

/// Names the values of a kind whose term sets differ from the stored issues.
fn name_values(
    conn: &Connection,
    (domain, kind): (i64, i64),
    findings: &mut Findings,
) -> Result<(), Fault> {
    let known = "SELECT name FROM domains WHERE id = ?1";
    let names = conn.prepare(known)?.query_map([domain], |row| row.get(0))?.collect::<Vec<_>>();
    // A domain without a name is being removed.
    let Some(name) = names.into_iter().next().transpose()? else { return Ok(()) };
    let name: String = name;
    let mut values = ValueSums::default();
    visit_expected(conn, &mut |of, other, value, row| {
        if (of, other) == (domain, kind) {
            values.expect(value, row);
        }
    })?;
    visit_stored(conn, &mut |of, other, value, row| {
        if (of, other) == (domain, kind) {
            values.store(value, row);
        }
    })?;
    values.end(findings, &name, kind);
    Ok(())
}

fn visit_expected(conn: &Connection, visit: Visit<'_>) -> Result<(), Fault> {
    let mut statement = conn.prepare(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.domain_id, i.row
         FROM issues i JOIN issue_bodies b ON b.row = i.row"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (domain, number) = (row.get(COLUMNS_END)?, row.get(COLUMNS_END + 1)?);
        visit_terms(&columns(row)?, &fragments(row)?, &mut |kind, value| {
            visit(domain, kind.code(), value, number);
        });
    }
    Ok(())
}

fn visit_stored(conn: &Connection, visit: Visit<'_>) -> Result<(), Fault> {
    let mut statement = conn.prepare(
        "SELECT domain_id, kind, value, block, rows FROM issue_sets
         UNION ALL SELECT domain_id, kind, value, block, rows FROM issue_values",
    )?;
    let mut rows = statement.query([])?;
    let mut set = RoaringBitmap::new();
    while let Some(row) = rows.next()? {
        let (domain, kind, value): (_, _, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        set.clear();
        decode(row.get(3)?, &row.get::<_, Vec<u8>>(4)?, &mut set)?;
        for number in &set {
            visit(domain, kind, &value, number);
        }
    }
    Ok(())
}
