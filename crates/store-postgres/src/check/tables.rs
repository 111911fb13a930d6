//! Checks that every record belongs to a domain, and that every domain has a clock, a default app
//! and the name of its desk.

use crate::domains::domain_tables;
use crate::engine::Client;
use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::tables as rules;

/// Every record belongs to a domain that exists or is being removed, and every domain has a clock,
/// a default app and the name of its desk.
pub(super) async fn domains(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    for table in domain_tables(client).await? {
        let strays = format!(
            "SELECT count(*) FROM {table} WHERE domain_id NOT IN
             (SELECT id FROM domains UNION ALL SELECT removed_id FROM domain_removals)"
        );
        rules::without_domain(findings, &table, client.row(&strays, &[]).await?.get(0));
    }
    let domains = client
        .rows(
            "SELECT d.name, c.domain_id IS NOT NULL, a.id IS NOT NULL, d.desk_name <> ''::bytea
             FROM domains d
             LEFT JOIN domain_clocks c ON c.domain_id = d.id
             LEFT JOIN apps a ON a.domain_id = d.id AND a.id = d.default_app_id",
            &[],
        )
        .await?;
    for row in &domains {
        rules::domain(findings, row.get(0), [row.get(1), row.get(2), row.get(3)]);
    }
    findings.verified("domains", domains.len() as u64);
    Ok(())
}
