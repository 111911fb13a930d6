//! Reads profiles and identities for the check. The rules that they have to obey are in
//! [`caseload_store::check::profiles`].

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::IdentityKey;
use futures_util::TryStreamExt;
use tokio_postgres::Row;

use crate::domains::ids_and_names;
use crate::engine::Client;
use crate::engine::store_error;
use crate::rows::text;
use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::profiles as rules;

/// Profiles whose identities are looked up in one query.
const PROFILES_MAX: i64 = 1000;

fn profile_id(row: &Row, column: usize) -> CoreProfileId {
    CoreProfileId(row.get::<_, i64>(column).unsigned_abs())
}

/// Each core profile, and the owners of its identities.
pub(super) async fn core(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let (mut count, mut keys_count) = (0, 0);
    for (domain, name) in ids_and_names(client).await? {
        let (mut after, mut last) = (i64::MIN, None);
        loop {
            let profiles = client
                .rows(
                    "SELECT p.id, p.fields, p.id > c.last_core_profile_id, p.row
                     FROM core_profiles p JOIN domain_clocks c ON c.domain_id = p.domain_id
                     WHERE p.domain_id = $1 AND p.row > $2 ORDER BY p.row LIMIT $3",
                    &[&domain, &after, &PROFILES_MAX],
                )
                .await?;
            let Some(end) = profiles.last() else { break };
            after = end.get(3);
            let owners = owners(client, domain, &profiles).await?;
            for row in &profiles {
                count += 1;
                let (id, fields) = (profile_id(row, 0), row.get(1));
                rules::order(findings, &name, last.replace(id), id);
                let Ok(keys) = rules::core(findings, &name, id, row.get(2), fields, |key| {
                    Ok::<_, Infallible>(owners.get(key.as_bytes()).copied())
                });
                keys_count += keys;
            }
        }
    }
    findings.verified("core profiles", count);
    findings.verified("identities of core profiles", keys_count);
    Ok(())
}

/// The owners of the identities of these profiles.
async fn owners(
    client: &Client,
    domain: i64,
    profiles: &[Row],
) -> Result<HashMap<Vec<u8>, CoreProfileId>, StoreError> {
    let named: Vec<_> = profiles.iter().flat_map(|row| rules::identities_of(row.get(1))).collect();
    let keys: Vec<&[u8]> = named.iter().map(IdentityKey::as_bytes).collect();
    let select = "SELECT key, core_profile_id FROM identities
                  WHERE domain_id = $1 AND key = ANY ($2)";
    let owners = client.rows(select, &[&domain, &keys]).await?;
    Ok(owners.iter().map(|row| (row.get(0), profile_id(row, 1))).collect())
}

/// Each identity, and the profile that it belongs to.
pub(super) async fn identities(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let select = "SELECT i.core_profile_id, i.key, p.fields FROM identities i
                  LEFT JOIN core_profiles p ON p.domain_id = $1 AND p.id = i.core_profile_id
                  WHERE i.domain_id = $1";
    let mut count = 0;
    for (domain, name) in ids_and_names(client).await? {
        let mut rows = pin!(client.stream(select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            count += 1;
            rules::identity(findings, &name, profile_id(&row, 0), row.get(1), row.get(2));
        }
    }
    findings.verified("identities", count);
    Ok(())
}

/// Each app profile.
pub(super) async fn app(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let select = "SELECT p.pid, p.fields, p.emails, a.id IS NOT NULL FROM app_profiles p
                  LEFT JOIN apps a ON a.domain_id = $1 AND a.id = p.app_id
                  WHERE p.domain_id = $1";
    let identities = "SELECT i.pid, i.key, i.kind, p.app_id, p.emails FROM app_profile_identities i
                      LEFT JOIN app_profiles p ON p.domain_id = $1 AND p.pid = i.pid
                      WHERE i.domain_id = $1";
    let (mut count, mut identities_count) = (0, 0);
    for (domain, name) in ids_and_names(client).await? {
        let (mut addresses, mut indexed) = (0, 0);
        let mut rows = pin!(client.stream(select, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            count += 1;
            let (pid, fields, emails) = (text(&row, 0)?, row.get(1), row.get(2));
            addresses += rules::app(findings, &name, &pid, fields, emails, row.get(3));
        }
        let mut rows = pin!(client.stream(identities, [domain]).await?);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            identities_count += 1;
            let is_there = row.get::<_, Option<&[u8]>>(3).is_some();
            let app = is_there.then(|| text(&row, 3)).transpose()?;
            let identity = rules::AppIdentity {
                domain: &name,
                pid: &text(&row, 0)?,
                key: row.get(1),
                kind: row.get(2),
                profile: app.as_deref().zip(row.get::<_, Option<&[u8]>>(4)),
            };
            indexed += u64::from(identity.check(findings));
        }
        rules::app_identities(findings, &name, addresses, indexed);
    }
    findings.verified("app profiles", count);
    findings.verified("identities of app profiles", identities_count);
    Ok(())
}
