//! Reads the term sets of issues and of core profiles for the check. The rules that they have to
//! obey are in [`caseload_store::check::terms`].

use caseload_model::issue::visit_terms;
use caseload_model::time::UnixMillis;
use caseload_store::check::terms::{KindSums, Noun, ValueSums};
use caseload_store::profiles::IndexedProfile;
use caseload_store::rowset::decode;
use roaring::RoaringBitmap;
use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::issues::{COLUMNS, COLUMNS_END, FRAGMENTS, columns, fragments};

/// Receives the domain, kind, value and row of an entry.
type Visit<'v> = &'v mut dyn FnMut(i64, i64, &[u8], u32);

/// The stored terms are the terms of the stored issues.
pub(super) fn of_issues(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    terms(conn, Noun::Issues, findings)
}

/// The stored terms are the terms of the stored core profiles.
pub(super) fn of_profiles(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    terms(conn, Noun::Profiles, findings)
}

fn terms(conn: &Connection, of: Noun, findings: &mut Findings) -> Result<(), Fault> {
    let mut kinds = KindSums::default();
    visit_expected(conn, of, &mut |domain, kind, value, row| {
        kinds.expect((domain, kind), value, row);
    })?;
    visit_stored(conn, of, &mut |domain, kind, value, row| {
        kinds.store((domain, kind), value, row);
    })?;
    for kind in kinds.end(findings, of) {
        name_values(conn, of, kind, findings)?;
    }
    Ok(())
}

/// Names the values of a kind whose term sets differ from the stored rows.
fn name_values(
    conn: &Connection,
    noun: Noun,
    (domain, kind): (i64, i64),
    findings: &mut Findings,
) -> Result<(), Fault> {
    let known = "SELECT name FROM domains WHERE id = ?1";
    let names = conn.prepare(known)?.query_map([domain], |row| row.get(0))?.collect::<Vec<_>>();
    // A domain without a name is being removed.
    let Some(name) = names.into_iter().next().transpose()? else { return Ok(()) };
    let name: String = name;
    let mut values = ValueSums::default();
    visit_expected(conn, noun, &mut |of, other, value, row| {
        if (of, other) == (domain, kind) {
            values.expect(value, row);
        }
    })?;
    visit_stored(conn, noun, &mut |of, other, value, row| {
        if (of, other) == (domain, kind) {
            values.store(value, row);
        }
    })?;
    values.end(findings, noun, &name, kind);
    Ok(())
}

fn visit_expected(conn: &Connection, of: Noun, visit: Visit<'_>) -> Result<(), Fault> {
    match of {
        Noun::Issues => visit_issues(conn, visit),
        Noun::Profiles => visit_profiles(conn, visit),
    }
}

fn visit_issues(conn: &Connection, visit: Visit<'_>) -> Result<(), Fault> {
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

fn visit_profiles(conn: &Connection, visit: Visit<'_>) -> Result<(), Fault> {
    let mut statement =
        conn.prepare("SELECT domain_id, row, created_at, updated_at, fields FROM core_profiles")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (domain, number): (i64, u32) = (row.get(0)?, row.get(1)?);
        let (created_at, updated_at) = (UnixMillis(row.get(2)?), UnixMillis(row.get(3)?));
        let profile = IndexedProfile { row: number, created_at, updated_at };
        let fields = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
        for (kind, value) in profile.terms(fields) {
            visit(domain, kind, &value, number);
        }
    }
    Ok(())
}

fn visit_stored(conn: &Connection, of: Noun, visit: Visit<'_>) -> Result<(), Fault> {
    let mut statement = conn.prepare(match of {
        Noun::Issues => {
            "SELECT domain_id, kind, value, block, rows FROM issue_sets
             UNION ALL SELECT domain_id, kind, value, block, rows FROM issue_values"
        }
        Noun::Profiles => "SELECT domain_id, kind, value, block, rows FROM profile_sets",
    })?;
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
