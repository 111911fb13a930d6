//! Reads the term sets of issues and of core profiles for the check. The rules that they have to
//! obey are in [`caseload_store::check::terms`].

use std::pin::pin;

use caseload_model::issue::visit_terms;
use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::terms::{KindSums, Noun, ValueSums};
use caseload_store::profiles::IndexedProfile;
use caseload_store::rowset::row_number;
use futures_util::TryStreamExt;
use roaring::RoaringBitmap;

use super::issues::select_issues;
use crate::domains::ids_and_names;
use crate::engine::{Client, store_error};
use crate::issues::{COLUMNS_END, apply_delta, block_number, columns, fragments};
use crate::rows::instant;

/// The stored terms are the terms of the stored issues.
pub(super) async fn of_issues(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    terms(client, Noun::Issues, findings).await
}

/// The stored terms are the terms of the stored core profiles.
pub(super) async fn of_profiles(
    client: &Client,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    terms(client, Noun::Profiles, findings).await
}

async fn terms(client: &Client, of: Noun, findings: &mut Findings) -> Result<(), StoreError> {
    let mut kinds = KindSums::default();
    let domains = ids_and_names(client).await?;
    for (domain, _) in &domains {
        let expect = &mut |kind: i64, value: &[u8], row| kinds.expect((*domain, kind), value, row);
        visit_expected(client, of, *domain, expect).await?;
        let store = &mut |kind: i64, value: &[u8], row| kinds.store((*domain, kind), value, row);
        visit_stored(client, of, *domain, store).await?;
    }
    for (domain, kind) in kinds.end(findings, of) {
        let Some((_, name)) = domains.iter().find(|(id, _)| *id == domain) else { continue };
        let mut values = ValueSums::default();
        visit_expected(client, of, domain, &mut |other, value, row| {
            if other == kind {
                values.expect(value, row);
            }
        })
        .await?;
        visit_stored(client, of, domain, &mut |other, value, row| {
            if other == kind {
                values.store(value, row);
            }
        })
        .await?;
        values.end(findings, of, name, kind);
    }
    Ok(())
}

/// Receives the kind, value and row of an entry.
type Visit<'v> = &'v mut (dyn FnMut(i64, &[u8], u32) + Send);

async fn visit_expected(
    client: &Client,
    of: Noun,
    domain: i64,
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    match of {
        Noun::Issues => visit_issues(client, domain, visit).await,
        Noun::Profiles => visit_profiles(client, domain, visit).await,
    }
}

async fn visit_profiles(client: &Client, domain: i64, visit: Visit<'_>) -> Result<(), StoreError> {
    let select = "SELECT row, created_at, updated_at, fields FROM core_profiles
                  WHERE domain_id = $1";
    let mut rows = pin!(client.stream(select, [domain]).await?);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        let number = row_number(row.get(0))?;
        let (created_at, updated_at) = (instant(&row, 1), instant(&row, 2));
        let profile = IndexedProfile { row: number, created_at, updated_at };
        for (kind, value) in profile.terms(row.get(3)) {
            visit(kind, &value, number);
        }
    }
    Ok(())
}

async fn visit_issues(client: &Client, domain: i64, visit: Visit<'_>) -> Result<(), StoreError> {
    let mut rows = pin!(client.stream(&select_issues(), [domain]).await?);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        let number = row_number(row.get(COLUMNS_END))?;
        visit_terms(&columns(&row)?, &fragments(&row), &mut |kind, value| {
            visit(kind.code(), value, number);
        });
    }
    Ok(())
}

/// Bases and deltas. The rows of one set are adjacent and in the order in which they take effect.
const STORED_OF_ISSUES: &str = "SELECT kind, value, block, 0::bigint AS seq, rows, NULL::bytea
         FROM issue_sets WHERE domain_id = $1
         UNION ALL SELECT kind, value, block, 0, rows, NULL FROM issue_values WHERE domain_id = $1
         UNION ALL SELECT kind, value, block, seq, entered, gone
         FROM issue_set_deltas WHERE domain_id = $1 ORDER BY 1, 2, 3, 4";
/// The same columns.
const STORED_OF_PROFILES: &str =
    "SELECT kind, value, block, 0::bigint, rows, NULL::bytea FROM profile_sets
         WHERE domain_id = $1 ORDER BY 1, 2, 3";

async fn visit_stored(
    client: &Client,
    of: Noun,
    domain: i64,
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    let select = match of {
        Noun::Profiles => STORED_OF_PROFILES,
        Noun::Issues => STORED_OF_ISSUES,
    };
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
