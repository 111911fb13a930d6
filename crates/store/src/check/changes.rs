//! The rules of the log of changes: every batch can be read, the positions of a domain have no gap,
//! and the clock of the domain has the last one.

use super::domains::Domains;
use super::{CheckedStore, Findings};
use crate::StoreError;
use crate::changes::{BATCH_COLUMNS, stored_batch};
use crate::checksum::CHANGES;

/// Reads all batches.
pub fn changes<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let select = format!(
            "SELECT {}, {BATCH_COLUMNS},
             (SELECT c.last_position FROM domain_clocks c
              WHERE c.domain_id = t.domain_id AND c.domain_id = {d})
             FROM changes t WHERE t.domain_id = {d} ORDER BY t.domain_id, t.last_position",
            CHANGES.select()
        );
        let mut last: Option<Last> = None;
        scope.each(&select, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            let positions = CHANGES.width();
            let first: u64 = row.get(positions)?;
            if last.as_ref().is_some_and(|last| last.domain != name) {
                end(findings, last.take());
            }
            if let Some(last) = &last
                && last.position + 1 != first
            {
                findings.fault(format!(
                    "domain {name}: the change with position {first} follows position {}",
                    last.position
                ));
            }
            match stored_batch(row) {
                Ok(stored) => count += stored.batch.effects.len() as u64,
                Err(StoreError::Corrupt(fault)) => {
                    findings.fault(format!("domain {name}, changes from {first} on: {fault}"));
                }
                Err(other) => return Err(other),
            }
            let (domain, position) = (name.to_owned(), row.get(positions + 1)?);
            last = Some(Last { domain, position, clock: row.get(positions + 2)? });
            Ok(())
        })?;
        end(findings, last);
    }
    findings.verified("changes", count);
    Ok(())
}

/// The last batch of a domain so far.
struct Last {
    domain: String,
    position: u64,
    /// The last position that the clock gave out; `None` without a clock.
    clock: Option<u64>,
}

/// The last change of a domain has the last position of its clock.
fn end(findings: &mut Findings, last: Option<Last>) {
    if let Some(Last { domain, position, clock }) = last
        && clock != Some(position)
    {
        findings.fault(format!(
            "domain {domain}: the last change has position {position}, which is not that of the \
             domain's clock"
        ));
    }
}
