//! Creating core profiles. Nearly always every identity is free, so the plan is made without
//! looking and the table's key tells: at the first identity that is taken those of the slice are
//! taken back, and it is planned again with all owners looked up. From then on the rest of the
//! chunk is looked up first. Taking back is done by hand: a savepoint would have SQLite copy every
//! page of the index that a slice changes.

use caseload_model::profile::{CreatePlan, NewCoreProfile, plan_creates, plan_optimistic_creates};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use rusqlite::{Connection, ToSql, params};

use super::rows::insert_rows;
use super::{Change, owners};
use crate::Fault;
use caseload_store::StoreError;

const IDENTITIES: &str = "identities (domain_id, key, core_profile_id)";
const CORE_PROFILES: &str = "core_profiles (domain_id, seq, created_at, updated_at, fields)";

pub(crate) fn create(
    conn: &Connection,
    change: &mut Change,
    payload: &[u8],
    entries: &[PreparedEntry<NewCoreProfile>],
) -> Result<ChunkRecords, Fault> {
    let first_id = change.next_id(conn)?;
    if !change.conflicts && change.dry_run.is_none() {
        let plan = plan_optimistic_creates(payload, entries, first_id);
        if insert(conn, change, entries, &plan)? {
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
        return Err(StoreError::Corrupt("an identity is taken and has no owner".to_owned()).into());
    }
    change.next_id = Some(plan.next_id);
    Ok(plan.records)
}

/// Inserts all of the plan, or nothing where an identity is taken.
fn insert(
    conn: &Connection,
    change: &mut Change,
    entries: &[PreparedEntry<NewCoreProfile>],
    plan: &CreatePlan,
) -> Result<bool, Fault> {
    if plan.inserts.is_empty() {
        return Ok(true);
    }
    let domain = change.domain.0;
    let (profiles, keys) = plan.rows(entries);
    let rows: Vec<[&dyn ToSql; 3]> =
        keys.iter().map(|(key, id)| -> [&dyn ToSql; 3] { [&domain, key, id] }).collect();
    if insert_rows(conn, IDENTITIES, &rows)? < rows.len() {
        take_back(conn, domain, &keys)?;
        return Ok(false);
    }
    let now = change.changed_at(conn)?.0;
    let rows: Vec<[&dyn ToSql; 5]> = profiles
        .iter()
        .map(|(id, profile)| -> [&dyn ToSql; 5] { [&domain, id, &now, &now, &profile.fields] })
        .collect();
    if insert_rows(conn, CORE_PROFILES, &rows)? < rows.len() {
        return Err(
            StoreError::Corrupt("an id that was to be free is a profile's".to_owned()).into()
        );
    }
    Ok(true)
}

/// Removes those of the identities that were just inserted.
fn take_back(conn: &Connection, domain: i64, keys: &[(&[u8], i64)]) -> Result<(), Fault> {
    let mut delete = conn.prepare_cached(
        "DELETE FROM identities WHERE domain_id = ?1 AND key = ?2 AND core_profile_id = ?3",
    )?;
    for (key, id) in keys {
        delete.execute(params![domain, key, id])?;
    }
    Ok(())
}
