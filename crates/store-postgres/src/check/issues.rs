//! Reads issues, the records that they refer to, counters and attachments for the check. Counters
//! are the sums of base rows and deltas.

use std::pin::pin;

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use futures_util::TryStreamExt;

use crate::domains::ids_and_names;
use crate::engine::Client;
use crate::engine::store_error;
use crate::issues::{COLUMNS, COLUMNS_END, FRAGMENTS, FRAGMENTS_COUNT, columns, fragments, sums};
use crate::rows::text;
use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::issues as rules;
use caseload_store::check::tables as table_rules;

/// Each issue, its fragments and its references.
pub(super) async fn rows(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let select = format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, b.row IS NOT NULL,
         i.id <= c.last_issue_id OR i.id > {ISSUE_ID_COUNTED_MAX},
         i.created_at <= c.last_created_at,
         EXISTS (SELECT 1 FROM apps x WHERE x.domain_id = $1 AND x.id = i.app_id),
         i.queue_id IS NULL OR
         EXISTS (SELECT 1 FROM queues x WHERE x.domain_id = $1 AND x.id = i.queue_id),
         i.assignee_id IS NULL OR
         EXISTS (SELECT 1 FROM agents x WHERE x.domain_id = $1 AND x.id = i.assignee_id),
         i.row <= c.last_issue_row
         FROM issues i JOIN domain_clocks c ON c.domain_id = $1
         LEFT JOIN issue_bodies b ON b.domain_id = $1 AND b.row = i.row WHERE i.domain_id = $1"
    );
    let mut count = 0;
    for (domain, name) in ids_and_names(client).await? {
        let mut rows = pin!(client.stream(&select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            count += 1;
            let id: i64 = row.get(FRAGMENTS_COUNT);
            let mut broken = |rule: &str| {
                findings.fault(format!("domain {name}, issue {id}: {rule}"));
            };
            for (place, rule) in rules::REFERENCES.iter().enumerate() {
                if !row.get::<_, bool>(COLUMNS_END + 1 + place) {
                    broken(rule);
                }
            }
            if !row.get::<_, bool>(COLUMNS_END + 1 + rules::REFERENCES.len()) {
                broken("its row is beyond the domain's clock");
            }
            if !row.get::<_, bool>(COLUMNS_END) {
                broken(rules::NO_FRAGMENTS);
                continue;
            }
            rules::disagreements(&columns(&row)?, &fragments(&row), sums(&row), &mut broken);
        }
        let strays = "SELECT count(*) FROM issue_bodies b WHERE b.domain_id = $1 AND NOT EXISTS
                 (SELECT 1 FROM issues i WHERE i.domain_id = $1 AND i.row = b.row)";
        report_strays(client, (domain, &name), strays, "fragments belong to no issue", findings)
            .await?;
    }
    findings.verified("issues", count);
    Ok(())
}

/// Reports records without an owner. `select` counts them in the domain `$1`.
async fn report_strays(
    client: &Client,
    (domain, name): (i64, &str),
    select: &str,
    what: &str,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let strays: i64 = client.row(select, &[&domain]).await?.get(0);
    if strays > 0 {
        findings.fault(format!("domain {name}: {strays} {what}"));
    }
    Ok(())
}

/// All issues of the domain `$1`, with their fragments.
pub(super) fn select_issues() -> String {
    format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i
         JOIN issue_bodies b ON b.domain_id = $1 AND b.row = i.row WHERE i.domain_id = $1"
    )
}

/// The stored counters equal the counted issues.
pub(super) async fn counts(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut count = 0;
    for (domain, name) in ids_and_names(client).await? {
        let mut counted = rules::ExpectedCounters::default();
        let mut rows = pin!(client.stream(&select_issues(), [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            counted.add(domain, &columns(&row)?);
        }
        let select = "SELECT facet, value, day, sum(n)::bigint FROM
             (SELECT facet, value, day, n FROM issue_counts WHERE domain_id = $1
              UNION ALL
              SELECT facet, value, day, n FROM issue_count_deltas WHERE domain_id = $1) c
             GROUP BY facet, value, day HAVING sum(n) <> 0";
        let mut rows = pin!(client.stream(select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            count += 1;
            let key = (i64::from(row.get::<_, i16>(0)), row.get(1), row.get(2));
            counted.compare(findings, (domain, &name), key, row.get(3));
        }
        counted.missing(findings, |_| Ok::<_, StoreError>(Some(name.clone())))?;
    }
    findings.verified("counts of issues", count);
    Ok(())
}

/// Attachments and their pieces.
pub(super) async fn files(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let select = "SELECT a.id, a.issue_id IS NULL OR i.id IS NOT NULL,
         a.size = coalesce(p.bytes, 0), coalesce(p.pieces = p.last + 1, false)
         FROM attachments a
         LEFT JOIN issues i ON i.domain_id = $1 AND i.id = a.issue_id
         LEFT JOIN LATERAL (SELECT sum(length(bytes)) AS bytes, count(*) AS pieces,
             max(number) AS last FROM attachment_pieces
             WHERE domain_id = $1 AND attachment_id = a.id) p ON true
         WHERE a.domain_id = $1";
    let mut count = 0;
    for (domain, name) in ids_and_names(client).await? {
        for row in client.rows(select, &[&domain]).await? {
            count += 1;
            let holds = [row.get(1), row.get(2), row.get(3)];
            table_rules::attachment(findings, &name, &text(&row, 0)?, holds);
        }
        let strays =
            "SELECT count(*) FROM attachment_pieces p WHERE p.domain_id = $1 AND NOT EXISTS
                 (SELECT 1 FROM attachments a WHERE a.domain_id = $1 AND a.id = p.attachment_id)";
        report_strays(client, (domain, &name), strays, "pieces belong to no attachment", findings)
            .await?;
    }
    findings.verified("attachments", count);
    Ok(())
}
