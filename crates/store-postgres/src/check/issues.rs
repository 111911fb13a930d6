//! Checks of issues: reads them with what they refer to, what they are found by, and attachments,
//! and asks the laws what is wrong with each. What issues are found by are bases and deltas
//! together.

use std::pin::pin;

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use caseload_model::issue::visit_terms;
use futures_util::TryStreamExt;
use roaring::RoaringBitmap;

use super::super::engine::Client;
use super::super::issues::{
    BEHIND, COLUMNS, FRAGMENTS, FRAGMENTS_COUNT, apply_delta, block_number, columns, fragments,
};
use super::super::rows::text;
use super::domains;
use crate::engine::store_error;
use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::issues as laws;
use caseload_store::check::terms::{Kinds, Values};
use caseload_store::issues::row_number;

/// What one issue says and what it refers to.
pub(super) async fn rows(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let select = format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, b.row IS NOT NULL,
         i.id <= c.last_issue_id OR i.id > {ISSUE_ID_COUNTED_MAX},
         i.created_at <= c.last_created_at,
         EXISTS (SELECT 1 FROM apps x WHERE x.domain_id = $1 AND x.id = i.app_id),
         EXISTS (SELECT 1 FROM app_profiles x WHERE x.domain_id = $1 AND x.pid = i.hs_user_id),
         i.queue_id IS NULL OR
         EXISTS (SELECT 1 FROM queues x WHERE x.domain_id = $1 AND x.id = i.queue_id),
         i.assignee_id IS NULL OR
         EXISTS (SELECT 1 FROM agents x WHERE x.domain_id = $1 AND x.id = i.assignee_id),
         i.row <= c.last_issue_row
         FROM issues i JOIN domain_clocks c ON c.domain_id = $1
         LEFT JOIN issue_bodies b ON b.domain_id = $1 AND b.row = i.row WHERE i.domain_id = $1"
    );
    let mut count = 0;
    for (domain, name) in domains(client).await? {
        let mut rows = pin!(client.stream(&select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            count += 1;
            let id: i64 = row.get(FRAGMENTS_COUNT);
            let mut broken = |law: &str| {
                findings.fault(format!("domain {name}, issue {id}: {law}"));
            };
            for (place, law) in laws::REFERENCES.iter().enumerate() {
                if !row.get::<_, bool>(BEHIND + 1 + place) {
                    broken(law);
                }
            }
            if !row.get::<_, bool>(BEHIND + 1 + laws::REFERENCES.len()) {
                broken("its row is beyond the domain's clock");
            }
            if !row.get::<_, bool>(BEHIND) {
                broken(laws::NO_FRAGMENTS);
                continue;
            }
            laws::disagreements(&columns(&row)?, &fragments(&row), &mut broken);
        }
        let strays = "SELECT count(*) FROM issue_bodies b WHERE b.domain_id = $1 AND NOT EXISTS
                 (SELECT 1 FROM issues i WHERE i.domain_id = $1 AND i.row = b.row)";
        strays_told(client, (domain, &name), strays, "fragments belong to no issue", findings)
            .await?;
    }
    findings.verified("issues", count);
    Ok(())
}

/// Tells of records whose owner is not there, as `select` counts them in the domain `$1`.
async fn strays_told(
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
fn select_issues() -> String {
    format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i
         JOIN issue_bodies b ON b.domain_id = $1 AND b.row = i.row WHERE i.domain_id = $1"
    )
}

/// Kept counts equal the issues counted anew.
pub(super) async fn counts(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut count = 0;
    for (domain, name) in domains(client).await? {
        let mut counted = laws::Counted::default();
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
            counted.kept(findings, (domain, &name), key, row.get(3));
        }
        counted.missing(findings, |_| Ok::<_, StoreError>(Some(name.clone())))?;
    }
    findings.verified("counts of issues", count);
    Ok(())
}

/// Stored terms are those of the stored issues.
pub(super) async fn terms(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut kinds = Kinds::default();
    let domains = domains(client).await?;
    for (domain, _) in &domains {
        let expect = &mut |kind: i64, value: &[u8], row| kinds.expect((*domain, kind), value, row);
        visit_expected(client, *domain, expect).await?;
        let store = &mut |kind: i64, value: &[u8], row| kinds.store((*domain, kind), value, row);
        visit_stored(client, *domain, store).await?;
    }
    for (domain, kind) in kinds.end(findings) {
        let Some((_, name)) = domains.iter().find(|(id, _)| *id == domain) else { continue };
        let mut values = Values::default();
        visit_expected(client, domain, &mut |of, value, row| {
            if of == kind {
                values.expect(value, row);
            }
        })
        .await?;
        visit_stored(client, domain, &mut |of, value, row| {
            if of == kind {
                values.store(value, row);
            }
        })
        .await?;
        values.end(findings, name, kind);
    }
    Ok(())
}

/// Shows kind, value and row of an entry.
type Visit<'v> = &'v mut (dyn FnMut(i64, &[u8], u32) + Send);

async fn visit_expected(client: &Client, domain: i64, visit: Visit<'_>) -> Result<(), StoreError> {
    let mut rows = pin!(client.stream(&select_issues(), [domain]).await?);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        let number = row_number(row.get(BEHIND))?;
        visit_terms(&columns(&row)?, &fragments(&row), &mut |kind, value| {
            visit(kind.code(), value, number);
        });
    }
    Ok(())
}

async fn visit_stored(client: &Client, domain: i64, visit: Visit<'_>) -> Result<(), StoreError> {
    let select = "SELECT kind, value, block, 0::bigint AS seq, rows, NULL::bytea
         FROM issue_sets WHERE domain_id = $1
         UNION ALL SELECT kind, value, block, 0, rows, NULL FROM issue_values WHERE domain_id = $1
         UNION ALL SELECT kind, value, block, seq, entered, gone
         FROM issue_set_deltas WHERE domain_id = $1 ORDER BY 1, 2, 3, 4";
    let mut found = pin!(client.stream(select, [domain]).await?);
    let mut of: Option<(i16, Vec<u8>, i64)> = None;
    let mut rows = RoaringBitmap::new();
    let mut show = |of: &Option<(i16, Vec<u8>, i64)>, rows: &mut RoaringBitmap| {
        if let Some((kind, value, _)) = of {
            rows.iter().for_each(|row| visit((*kind).into(), value, row));
        }
        rows.clear();
    };
    while let Some(row) = found.try_next().await.map_err(store_error)? {
        let key: (i16, &[u8], i64) = (row.get(0), row.get(1), row.get(2));
        if of.as_ref().is_none_or(|of| (of.0, of.1.as_slice(), of.2) != key) {
            show(&of, &mut rows);
            of = Some((key.0, key.1.to_vec(), key.2));
        }
        apply_delta(block_number(key.2)?, row.get(4), row.get(5), &mut rows)?;
    }
    show(&of, &mut rows);
    Ok(())
}

/// Files of messages and their pieces.
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
    for (domain, name) in domains(client).await? {
        for row in client.rows(select, &[&domain]).await? {
            count += 1;
            let id = text(&row, 0)?;
            for (place, law) in [
                (1, "its issue is not there"),
                (2, "its bytes are not its size"),
                (3, "it has a gap"),
            ] {
                if !row.get::<_, Option<bool>>(place).unwrap_or_default() {
                    findings.fault(format!("domain {name}, attachment {id}: {law}"));
                }
            }
        }
        let strays =
            "SELECT count(*) FROM attachment_pieces p WHERE p.domain_id = $1 AND NOT EXISTS
                 (SELECT 1 FROM attachments a WHERE a.domain_id = $1 AND a.id = p.attachment_id)";
        strays_told(client, (domain, &name), strays, "pieces belong to no attachment", findings)
            .await?;
    }
    findings.verified("attachments", count);
    Ok(())
}
