//! The rules of webhooks: a cursor is not after the end of the log, and each delivery belongs to
//! a webhook and is not numbered after its last one.

use super::domains::Domains;
use super::{CheckedStore, Findings};
use crate::StoreError;

pub fn webhooks<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("w");
        let all = format!(
            "SELECT w.domain_id, w.id, w.position >= 0 AND w.position <= c.last_position
             FROM webhooks w JOIN domain_clocks c ON c.domain_id = w.domain_id
             WHERE w.domain_id = {d}"
        );
        scope.each(&all, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            count += 1;
            if !row.get::<bool>(2)? {
                let id: String = row.get(1)?;
                findings.fault(format!(
                    "domain {name}, webhook {id}: its cursor is not a position of the log"
                ));
            }
            Ok(())
        })?;
        let strays = format!(
            "SELECT w.domain_id, count(*) FROM webhook_deliveries w WHERE w.domain_id = {d}
             AND NOT EXISTS (SELECT 1 FROM webhooks h WHERE h.domain_id = {d}
                 AND h.id = w.webhook_id AND h.attempts >= w.number) GROUP BY w.domain_id"
        );
        scope.counts(&domains, &strays, |name, strays| {
            findings.fault(format!("domain {name}: {strays} deliveries belong to no webhook"));
        })?;
    }
    findings.verified("webhooks", count);
    Ok(())
}
