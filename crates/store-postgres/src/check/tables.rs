//! Checks of tables as a whole: no record belongs to a domain that is not there, and every domain
//! has what it begins with.

use super::super::domains::domain_tables;
use super::super::engine::Client;
use caseload_store::StoreError;
use caseload_store::check::Findings;

/// Every record belongs to a domain that is there, or whose removal is under way; every domain has
/// its clock and its default app.
pub(super) async fn domains(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    for table in domain_tables(client).await? {
        let strays = format!(
            "SELECT count(*) FROM {table} WHERE domain_id NOT IN
             (SELECT id FROM domains UNION ALL SELECT removed_id FROM domain_removals)"
        );
        let strays: i64 = client.row(&strays, &[]).await?.get(0);
        if strays > 0 {
            findings.fault(format!("{strays} records of {table} belong to no domain"));
        }
    }
    let domains = client
        .rows(
            "SELECT d.name, c.domain_id IS NOT NULL, a.id IS NOT NULL FROM domains d
             LEFT JOIN domain_clocks c ON c.domain_id = d.id
             LEFT JOIN apps a ON a.domain_id = d.id AND a.id = d.default_app_id",
            &[],
        )
        .await?;
    for row in &domains {
        let name: &str = row.get(0);
        for (place, what) in [(1, "clock"), (2, "default app")] {
            if !row.get::<_, bool>(place) {
                findings.fault(format!("domain {name} has no {what}"));
            }
        }
    }
    findings.verified("domains", domains.len() as u64);
    Ok(())
}
