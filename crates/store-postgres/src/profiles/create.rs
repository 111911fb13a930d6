//! Creating core profiles. Nearly always every identity is free, so the plan is made without
//! looking and the table's key tells: where fewer identities went in than were planned, those of
//! the part are taken back, and it is planned again with all owners looked up; from then on so is
//! the rest of the chunk. Identities go in sorted, as one statement; profiles by binary COPY.

use caseload_model::profile::{CreatePlan, NewCoreProfile, plan_creates, plan_optimistic_creates};
use caseload_model::record::{ChunkRecords, PreparedEntry};

use super::super::engine::{Client, CopyRows};
use super::{Change, named, owners, sound};
use crate::engine::store_error;
use caseload_store::StoreError;

const PROFILES: &str = "core_profiles (domain_id, id, created_at, updated_at, fields)";

pub(crate) async fn create(
    client: &Client,
    change: &mut Change,
    payload: &[u8],
    entries: &[PreparedEntry<NewCoreProfile>],
) -> Result<ChunkRecords, StoreError> {
    if !change.conflicts && change.dry_run.is_none() {
        let plan = plan_optimistic_creates(payload, entries, change.next_id);
        if insert(client, change, entries, &plan).await? {
            change.next_id = plan.next_id;
            return Ok(plan.records);
        }
        change.conflicts = true;
    }
    let identities = named(sound(entries).flat_map(|profile| &profile.identities));
    let owners = owners(client, change.domain, &identities).await?;
    let earlier = change.dry_run.as_mut().map(|dry_run| &mut dry_run.owners);
    let plan = plan_creates(payload, entries, &owners, change.next_id, earlier);
    if change.dry_run.is_none() && !insert(client, change, entries, &plan).await? {
        return Err(StoreError::Corrupt("an identity is taken and has no owner".to_owned()));
    }
    change.next_id = plan.next_id;
    Ok(plan.records)
}

/// Inserts all of the plan, or nothing where an identity is taken.
async fn insert(
    client: &Client,
    change: &mut Change,
    entries: &[PreparedEntry<NewCoreProfile>],
    plan: &CreatePlan,
) -> Result<bool, StoreError> {
    if plan.inserts.is_empty() {
        return Ok(true);
    }
    let (profiles, keys) = plan.rows(entries);
    let (keys, ids): (Vec<&[u8]>, Vec<i64>) = keys.into_iter().unzip();
    let inserted = client
        .execute(
            "INSERT INTO identities (domain_id, key, core_profile_id)
             SELECT $1, i.key, i.id FROM unnest($2::bytea[], $3::bigint[]) AS i (key, id)
             ON CONFLICT (domain_id, key) DO NOTHING",
            &[&change.domain.0, &keys, &ids],
        )
        .await?;
    if inserted < keys.len() as u64 {
        take_back(client, change, &keys).await?;
        return Ok(false);
    }
    copy_profiles(client, change, &profiles).await?;
    change.written = true;
    Ok(true)
}

/// Removes those of the identities that were just inserted: no other profile has such an id.
async fn take_back(client: &Client, change: &Change, keys: &[&[u8]]) -> Result<(), StoreError> {
    client
        .execute(
            "DELETE FROM identities
             WHERE domain_id = $1 AND key = ANY ($2) AND core_profile_id >= $3",
            &[&change.domain.0, &keys, &(change.next_id as i64)],
        )
        .await?;
    Ok(())
}

async fn copy_profiles(
    client: &Client,
    change: &Change,
    profiles: &[(i64, &NewCoreProfile)],
) -> Result<(), StoreError> {
    let (domain, at) = (change.domain.0, change.changed_at.0);
    let mut rows = CopyRows::new();
    for (id, profile) in profiles {
        rows.row(5).add(domain).add(*id).add(at).add(at).add(&profile.fields[..]);
    }
    let copy = client.prepare_copy(PROFILES).await?;
    client.copy_rows(&copy, rows).await.map_err(store_error)?;
    Ok(())
}
