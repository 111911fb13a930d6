//! Updating core and app profiles: reads the records and owners that the entries name, and writes
//! the net effect of the part, each table with one statement. Profiles that do not change are not
//! written.

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::{
    AppPatch, CorePatch, CoreUpdatePlan, IdentityKey, plan_app_updates, plan_core_updates,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};

use super::super::engine::Client;
use super::super::rows::text;
use super::{Change, named, owners, profile_id, sound};
use caseload_store::StoreError;

pub(crate) async fn update_core(
    client: &Client,
    change: &mut Change,
    payload: &[u8],
    entries: &[PreparedEntry<CorePatch>],
) -> Result<ChunkRecords, StoreError> {
    let ids: Vec<i64> = sound(entries).map(|patch| patch.id.0 as i64).collect();
    let mut records = core_fields(client, change.domain, &ids).await?;
    let identities = named(sound(entries).filter_map(|patch| patch.identities.as_ref()).flatten());
    let mut owners = owners(client, change.domain, &identities).await?;
    if let Some(earlier) = &change.dry_run {
        earlier.lay_over_core(sound(entries), &mut records, &mut owners);
    }
    let mut plan = plan_core_updates(payload, entries, &records, &owners);
    match &mut change.dry_run {
        Some(dry_run) => dry_run.note_core(&mut plan),
        None => write_core(client, change, &plan).await?,
    }
    Ok(plan.records)
}

async fn core_fields(
    client: &Client,
    domain: DomainId,
    ids: &[i64],
) -> Result<HashMap<CoreProfileId, Vec<u8>>, StoreError> {
    let found = client
        .rows(
            "SELECT id, fields FROM core_profiles WHERE domain_id = $1 AND id = ANY ($2)",
            &[&domain.0, &ids],
        )
        .await?;
    Ok(found.iter().map(|row| (profile_id(row, 0), row.get(1))).collect())
}

async fn write_core(
    client: &Client,
    change: &mut Change,
    plan: &CoreUpdatePlan,
) -> Result<(), StoreError> {
    if plan.changed.is_empty() {
        return Ok(());
    }
    change.written = true;
    let ids: Vec<i64> = plan.changed.iter().map(|(id, _)| id.0 as i64).collect();
    let fields: Vec<&[u8]> = plan.changed.iter().map(|(_, fields)| fields.as_slice()).collect();
    let updated = client
        .execute(
            "UPDATE core_profiles p SET fields = n.fields, updated_at = $4
             FROM unnest($2::bigint[], $3::bytea[]) AS n (id, fields)
             WHERE p.domain_id = $1 AND p.id = n.id",
            &[&change.domain.0, &ids, &fields, &change.changed_at.0],
        )
        .await?;
    assert_eq!(updated, ids.len() as u64, "a profile that was read is there");
    let removed = move_identities(
        client,
        "DELETE FROM identities i USING unnest($2::bytea[], $3::bigint[]) AS n (key, id)
         WHERE i.domain_id = $1 AND i.key = n.key AND i.core_profile_id = n.id",
        change.domain,
        &plan.identities_removed,
    );
    if removed.await? != plan.identities_removed.len() as u64 {
        return Err(StoreError::Corrupt(
            "an identity of a core profile is not among its identities".to_owned(),
        ));
    }
    let added = move_identities(
        client,
        "INSERT INTO identities (domain_id, key, core_profile_id)
         SELECT $1, n.key, n.id FROM unnest($2::bytea[], $3::bigint[]) AS n (key, id)",
        change.domain,
        &plan.identities_added,
    );
    added.await.map(drop)
}

/// Runs a statement over identities, which are in key order; how many rows it changed.
async fn move_identities(
    client: &Client,
    statement: &str,
    domain: DomainId,
    identities: &[(IdentityKey, CoreProfileId)],
) -> Result<u64, StoreError> {
    if identities.is_empty() {
        return Ok(0);
    }
    let (keys, ids): (Vec<&[u8]>, Vec<i64>) =
        identities.iter().map(|(key, id)| (key.as_bytes(), id.0 as i64)).unzip();
    client.execute(statement, &[&domain.0, &keys, &ids]).await
}

pub(crate) async fn update_app(
    client: &Client,
    change: &mut Change,
    payload: &[u8],
    entries: &[PreparedEntry<AppPatch>],
) -> Result<ChunkRecords, StoreError> {
    let pids: Vec<&[u8]> = sound(entries).map(|patch| patch.pid.as_bytes()).collect();
    let select = "SELECT pid, fields FROM app_profiles WHERE domain_id = $1 AND pid = ANY ($2)";
    // Others may change an app profile beside a chunk: who writes an issue makes them.
    let locking = format!("{select} ORDER BY pid FOR UPDATE");
    let select = if change.dry_run.is_some() { select } else { &locking };
    let mut records: HashMap<String, Vec<u8>> = HashMap::new();
    for row in client.rows(select, &[&change.domain.0, &pids]).await? {
        records.insert(text(&row, 0)?, row.get(1));
    }
    if let Some(earlier) = &change.dry_run {
        earlier.lay_over_app(&mut records);
    }
    let plan = plan_app_updates(payload, entries, &records);
    if let Some(dry_run) = &mut change.dry_run {
        dry_run.note_app(plan.changed);
    } else if !plan.changed.is_empty() {
        change.written = true;
        write_app(client, change, &plan.changed).await?;
    }
    Ok(plan.records)
}

async fn write_app(
    client: &Client,
    change: &Change,
    changed: &[(String, Vec<u8>)],
) -> Result<(), StoreError> {
    let (pids, fields): (Vec<&[u8]>, Vec<&[u8]>) =
        changed.iter().map(|(pid, fields)| (pid.as_bytes(), fields.as_slice())).unzip();
    let updated = client
        .execute(
            "UPDATE app_profiles p SET fields = n.fields, updated_at = $4
             FROM unnest($2::bytea[], $3::bytea[]) AS n (pid, fields)
             WHERE p.domain_id = $1 AND p.pid = n.pid",
            &[&change.domain.0, &pids, &fields, &change.changed_at.0],
        )
        .await?;
    assert_eq!(updated, pids.len() as u64, "an app profile that was read is there");
    Ok(())
}
