//! The rules of the log of changes: every batch can be read, the first one follows those that were
//! dropped, the positions of a domain have no gap, its clock has the last one, and the index of
//! records is that of the batches.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;

use super::domains::{Domains, Scope};
use super::{CheckedStore, Findings};
use crate::StoreError;
use crate::changes::{BATCH_COLUMNS, index_rows, stored_batch};
use crate::checksum::{self, CHANGES};
use crate::sql::Value;

/// Reads all batches.
pub fn changes<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let mut logs: BTreeMap<String, Log> = BTreeMap::new();
        let clocks = format!(
            "SELECT t.domain_id, t.dropped_position, t.last_position FROM domain_clocks t
             WHERE t.domain_id = {d}"
        );
        scope.each(&clocks, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            logs.insert(name.to_owned(), Log { position: row.get(1)?, clock: row.get(2)? });
            Ok(())
        })?;
        let select = format!(
            "SELECT {}, {BATCH_COLUMNS} FROM changes t WHERE t.domain_id = {d}
             ORDER BY t.domain_id, t.last_position",
            CHANGES.select()
        );
        let mut indexes: BTreeMap<i64, Difference> = BTreeMap::new();
        scope.each(&select, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            let positions = CHANGES.width();
            let first: u64 = row.get(positions)?;
            let log = logs.entry(name.to_owned()).or_default();
            if log.position + 1 != first {
                findings.fault(format!(
                    "domain {name}: the change with position {first} follows position {}",
                    log.position
                ));
            }
            let index = indexes.entry(row.get(0)?).or_default();
            log.position = row.get(positions + 1)?;
            match stored_batch(row) {
                Ok(stored) => {
                    count += stored.batch.effects.len() as u64;
                    let (domain, last) = (DomainId(row.get(0)?), row.value(positions + 1)?);
                    for wanted in index_rows(&stored.batch.effects) {
                        index.wanted(&[&wanted.values(domain)[..], &[last]].concat());
                    }
                }
                Err(StoreError::Corrupt(fault)) => {
                    findings.fault(format!("domain {name}, changes from {first} on: {fault}"));
                    index.is_unknown = true;
                }
                Err(other) => return Err(other),
            }
            Ok(())
        })?;
        for (name, Log { position, clock }) in logs {
            if position != clock {
                findings.fault(format!(
                    "domain {name}: the last change has position {position}, and the domain's \
                     clock has {clock}"
                ));
            }
        }
        compare_index(&scope, &domains, indexes, findings)?;
    }
    findings.verified("changes", count);
    Ok(())
}

/// The rows of the index of a domain: those that its batches should have, less those that exist.
#[derive(Default)]
struct Difference {
    rows: i64,
    /// The sum of their checksums.
    sum: i64,
    /// Whether a batch is damaged, so that its rows are not known.
    is_unknown: bool,
}

impl Difference {
    fn wanted(&mut self, row: &[Value<'_>]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(checksum::of(row));
    }

    fn found(&mut self, row: &[Value<'_>]) {
        self.rows -= 1;
        self.sum = self.sum.wrapping_sub(checksum::of(row));
    }
}

/// Each batch has its rows in the index, and the index has no others.
fn compare_index<S: CheckedStore>(
    scope: &Scope<'_, S>,
    domains: &Domains,
    mut indexes: BTreeMap<i64, Difference>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let d = scope.domain_of("r");
    let select = format!(
        "SELECT r.domain_id, r.resource, r.id, r.lowest, r.highest, r.last_position
         FROM change_records r WHERE r.domain_id = {d}"
    );
    scope.each(&select, |row| {
        let values = (0..6).map(|column| row.value(column)).collect::<Result<Vec<_>, _>>()?;
        indexes.entry(row.get(0)?).or_default().found(&values);
        Ok(())
    })?;
    for (id, Difference { rows, sum, is_unknown }) in indexes {
        // Rows of a removed domain may be left.
        if let Some(name) = domains.name(id)
            && !is_unknown
            && (rows != 0 || sum != 0)
        {
            findings.fault(format!(
                "domain {name}: the index of the changes of each record is not that of the \
                 changes: it lacks {} rows, and has {} that it should not have, or others in place \
                 of right ones",
                rows.max(0),
                (-rows).max(0)
            ));
        }
    }
    Ok(())
}

/// The log of a domain.
#[derive(Default)]
struct Log {
    /// The last position so far, dropped ones included.
    position: u64,
    /// The last position that the clock gave out.
    clock: u64,
}
