//! Checks of what issues are found by: the stored sets and values hold each issue under each of the
//! terms that the model names for it, and nothing else. Both sides are added up, in any order, as a
//! count and a sum of hashes per domain and kind, which takes no memory; only where they differ is
//! the same done for each value, to name the values.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use caseload_model::issue::{TermKind, visit_terms};
use roaring::RoaringBitmap;
use rusqlite::Connection;

use super::super::issues::{BEHIND, COLUMNS, FRAGMENTS, columns, fragments};
use super::Findings;
use crate::StoreError;
use crate::issues::decode;

/// Entries, added up in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hash: u64,
}

impl Sum {
    fn add(&mut self, value: &[u8], row: u32) {
        let mut hasher = DefaultHasher::new();
        (value, row).hash(&mut hasher);
        self.count += 1;
        self.hash = self.hash.wrapping_add(hasher.finish());
    }
}

/// Shows domain, kind, value and row of an entry.
type Visit<'v> = &'v mut dyn FnMut(i64, i64, &[u8], u32);

/// Stored terms are those of the stored issues.
pub(super) fn terms(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut count = 0;
    let mut expected: BTreeMap<(i64, i64), Sum> = BTreeMap::new();
    visit_expected(conn, &mut |domain, kind, value, row| {
        expected.entry((domain, kind)).or_default().add(value, row);
    })?;
    let mut stored: BTreeMap<(i64, i64), Sum> = BTreeMap::new();
    visit_stored(conn, &mut |domain, kind, value, row| {
        count += 1;
        stored.entry((domain, kind)).or_default().add(value, row);
    })?;
    let mut kinds: Vec<_> = expected.keys().chain(stored.keys()).copied().collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        if expected.get(&kind) != stored.get(&kind) {
            name_values(conn, kind, findings)?;
        }
    }
    findings.verified("terms of issues", count);
    Ok(())
}

/// Names the values of a kind whose issues are not those that are stored.
fn name_values(
    conn: &Connection,
    (domain, kind): (i64, i64),
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let known = "SELECT name FROM domains WHERE id = ?1";
    let names = conn.prepare(known)?.query_map([domain], |row| row.get(0))?.collect::<Vec<_>>();
    // Issues of a domain that is being removed are no longer anyone's.
    let Some(name) = names.into_iter().next().transpose()? else { return Ok(()) };
    let name: String = name;
    let Some(word) = TermKind::from_code(kind).map(TermKind::as_str) else {
        findings.fault(format!("domain {name}: a term of an unknown kind {kind}"));
        return Ok(());
    };
    let mut sums: HashMap<Vec<u8>, (Sum, Sum)> = HashMap::new();
    visit_expected(conn, &mut |of, other, value, row| {
        if (of, other) == (domain, kind) {
            sums.entry(value.to_vec()).or_default().0.add(value, row);
        }
    })?;
    visit_stored(conn, &mut |of, other, value, row| {
        if (of, other) == (domain, kind) {
            sums.entry(value.to_vec()).or_default().1.add(value, row);
        }
    })?;
    let mut wrong: Vec<_> = sums.into_iter().filter(|(_, (there, kept))| there != kept).collect();
    wrong.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (value, (there, kept)) in wrong {
        let value = value.escape_ascii();
        let (there, kept) = (there.count, kept.count);
        findings.fault(format!(
            "domain {name}: under {word} \"{value}\" {kept} issues are found that are not just the \
             {there} there are"
        ));
    }
    Ok(())
}

fn visit_expected(conn: &Connection, visit: Visit<'_>) -> Result<(), StoreError> {
    let mut statement = conn.prepare(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.domain_id, i.row
         FROM issues i JOIN issue_bodies b ON b.row = i.row"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (domain, number) = (row.get(BEHIND)?, row.get(BEHIND + 1)?);
        visit_terms(&columns(row)?, &fragments(row)?, &mut |kind, value| {
            visit(domain, kind.code(), value, number);
        });
    }
    Ok(())
}

fn visit_stored(conn: &Connection, visit: Visit<'_>) -> Result<(), StoreError> {
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
