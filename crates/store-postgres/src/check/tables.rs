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
    let select = "SELECT id, name, default_app_id, desk_name <> ''::bytea FROM domains ORDER BY id";
    let domains = client.rows(select, &[]).await?;
    for row in &domains {
        let (domain, default_app): (i64, &[u8]) = (row.get(0), row.get(2));
        let clock = "SELECT 1 FROM domain_clocks WHERE domain_id = $1";
        let clock = client.row_opt(clock, &[&domain]).await?;
        let app = "SELECT 1 FROM apps WHERE domain_id = $1 AND id = $2";
        let app = client.row_opt(app, &[&domain, &default_app]).await?;
        rules::domain(findings, row.get(1), [clock.is_some(), app.is_some(), row.get(3)]);
    }
    findings.verified("domains", domains.len() as u64);
    Ok(())
}
