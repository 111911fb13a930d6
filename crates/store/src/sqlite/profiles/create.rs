//! Creating core profiles. Nearly always every identity is free, so the plan is made without
//! looking and the table's key tells: the first identity that is taken undoes the slice, and it is
//! planned again with all owners looked up. From then on the rest of the chunk is looked up first.

use std::collections::HashMap;

use caseload_model::profile::{CreatePlan, NewCoreProfile, plan_creates};
use caseload_model::record::{ChunkRecords, Prepared};
use rusqlite::{Connection, params};

use super::{Change, owners};
use crate::StoreError;

pub(in crate::sqlite) fn create(
    conn: &Connection,
    change: &mut Change,
    payload: &[u8],
    entries: &[Prepared<NewCoreProfile>],
) -> Result<ChunkRecords, StoreError> {
    let first_id = change.next_id(conn)?;
    if !change.conflicts && change.dry_run.is_none() {
        let plan = plan_creates(payload, entries, &HashMap::new(), first_id, None);
        if insert_unless_taken(conn, change, entries, &plan)? {
            change.next_id = Some(plan.next_id);
            return Ok(plan.records);
        }
        change.conflicts = true;
    }
    let named = entries.iter().filter_map(|entry| entry.item.as_ref().ok());
    let owners = owners(conn, change.domain, named.flat_map(|profile| &profile.identities))?;
    let earlier = change.dry_run.as_mut().map(|dry_run| &mut dry_run.owners);
    let plan = plan_creates(payload, entries, &owners, first_id, earlier);
    if change.dry_run.is_none() && !insert(conn, change, entries, &plan)? {
        return Err(StoreError::Corrupt("an identity is taken and has no owner".to_owned()));
    }
    change.next_id = Some(plan.next_id);
    Ok(plan.records)
}

/// Inserts all of the plan, or nothing where an identity is taken.
fn insert_unless_taken(
    conn: &Connection,
    change: &mut Change,
    entries: &[Prepared<NewCoreProfile>],
    plan: &CreatePlan,
) -> Result<bool, StoreError> {
    conn.prepare_cached("SAVEPOINT creations")?.execute([])?;
    let inserted = insert(conn, change, entries, plan)?;
    if !inserted {
        conn.prepare_cached("ROLLBACK TO creations")?.execute([])?;
        // The clock's row was rolled back with the rest.
        change.changed_at = None;
    }
    conn.prepare_cached("RELEASE creations")?.execute([])?;
    Ok(inserted)
}

/// False as soon as an identity is taken.
fn insert(
    conn: &Connection,
    change: &mut Change,
    entries: &[Prepared<NewCoreProfile>],
    plan: &CreatePlan,
) -> Result<bool, StoreError> {
    if plan.inserts.is_empty() {
        return Ok(true);
    }
    let domain = change.domain.0;
    let mut profiles = Vec::with_capacity(plan.inserts.len());
    for (id, at) in &plan.inserts {
        let profile = entries[*at]
            .item
            .as_ref()
            .map_err(|_| StoreError::Corrupt("a refused entry was planned".to_owned()))?;
        profiles.push((id.0 as i64, profile));
    }
    // In key order neighbouring identities share a page.
    let mut keys: Vec<_> = profiles
        .iter()
        .flat_map(|(id, profile)| profile.identities.iter().map(|key| (key.as_bytes(), *id)))
        .collect();
    keys.sort_unstable();
    let mut insert = conn.prepare_cached(
        "INSERT INTO identities (domain_id, key, core_profile_id) VALUES (?1, ?2, ?3)
         ON CONFLICT DO NOTHING",
    )?;
    for (key, id) in keys {
        if insert.execute(params![domain, key, id])? == 0 {
            return Ok(false);
        }
    }
    let now = change.changed_at(conn)?.0;
    let mut insert = conn.prepare_cached(
        "INSERT INTO core_profiles (domain_id, id, created_at, updated_at, fields)
         VALUES (?1, ?2, ?3, ?3, ?4)",
    )?;
    for (id, profile) in profiles {
        insert.execute(params![domain, id, now, profile.fields])?;
    }
    Ok(true)
}
