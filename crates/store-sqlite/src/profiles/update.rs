//! Updating core and app profiles: reads the records and owners that the entries name, and writes
//! the net effect of the slice. Profiles that do not change are not written.

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::{
    AppPatch, CorePatch, CoreUpdatePlan, plan_app_updates, plan_core_updates,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use rusqlite::{Connection, OptionalExtension, params};

use super::by_id::{ById, MOVED, PLACED};
use super::{Change, owners};
use crate::Fault;
use caseload_store::StoreError;

pub(crate) fn update_core(
    conn: &Connection,
    change: &mut Change,
    payload: &[u8],
    entries: &[PreparedEntry<CorePatch>],
) -> Result<ChunkRecords, Fault> {
    let patches = || entries.iter().filter_map(|entry| entry.item.as_ref().ok());
    let mut records = core_fields(conn, change.domain, patches().map(|patch| patch.id))?;
    let named = || patches().filter_map(|patch| patch.identities.as_ref()).flatten();
    let mut owners = owners(conn, change.domain, named())?;
    if let Some(earlier) = &change.dry_run {
        earlier.lay_over_core(patches(), &mut records, &mut owners);
    }
    let mut plan = plan_core_updates(payload, entries, &records, &owners);
    match &mut change.dry_run {
        Some(dry_run) => dry_run.note_core(&mut plan),
        None => write_core(conn, change, &plan)?,
    }
    Ok(plan.records)
}

fn core_fields(
    conn: &Connection,
    domain: DomainId,
    ids: impl Iterator<Item = CoreProfileId> + Clone,
) -> Result<HashMap<CoreProfileId, Vec<u8>>, Fault> {
    let mut profiles = ById::of(conn, domain, "fields")?;
    let mut found = profiles.in_order(ids.clone())?;
    let mut records = HashMap::new();
    for id in ids {
        found.next(id, |row| {
            records.insert(id, row.get(0)?);
            Ok(())
        })?;
    }
    Ok(records)
}

fn write_core(conn: &Connection, change: &mut Change, plan: &CoreUpdatePlan) -> Result<(), Fault> {
    const UPDATE: &str = "UPDATE core_profiles SET fields = ?3, updated_at = ?4";
    if plan.changed.is_empty() {
        return Ok(());
    }
    let (domain, now) = (change.domain.0, change.changed_at(conn)?.0);
    let mut update = conn.prepare_cached(&format!("{UPDATE} WHERE {PLACED}"))?;
    let mut update_moved = conn.prepare_cached(&format!("{UPDATE} WHERE {MOVED}"))?;
    for (id, fields) in &plan.changed {
        let mut changed = update.execute(params![domain, id.0 as i64, fields, now])?;
        if changed == 0 {
            changed = update_moved.execute(params![domain, id.0 as i64, fields, now])?;
        }
        assert_eq!(changed, 1, "a profile that was read is there to be updated");
    }
    let mut delete = conn.prepare_cached(
        "DELETE FROM identities WHERE domain_id = ?1 AND key = ?2 AND core_profile_id = ?3",
    )?;
    for (key, id) in &plan.identities_removed {
        if delete.execute(params![domain, key.as_bytes(), id.0 as i64])? != 1 {
            return Err(StoreError::Corrupt(format!(
                "an identity of core profile {id} is not among its identities"
            ))
            .into());
        }
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO identities (domain_id, key, core_profile_id) VALUES (?1, ?2, ?3)",
    )?;
    for (key, id) in &plan.identities_added {
        insert.execute(params![domain, key.as_bytes(), id.0 as i64])?;
    }
    Ok(())
}

pub(crate) fn update_app(
    conn: &Connection,
    change: &mut Change,
    payload: &[u8],
    entries: &[PreparedEntry<AppPatch>],
) -> Result<ChunkRecords, Fault> {
    let domain = change.domain.0;
    let mut select =
        conn.prepare_cached("SELECT fields FROM app_profiles WHERE domain_id = ?1 AND pid = ?2")?;
    let mut records: HashMap<String, Vec<u8>> = HashMap::new();
    for patch in entries.iter().filter_map(|entry| entry.item.as_ref().ok()) {
        if records.contains_key(&patch.pid) {
            continue;
        }
        let fields = select.query_row(params![domain, patch.pid], |row| row.get(0)).optional()?;
        if let Some(fields) = fields {
            records.insert(patch.pid.clone(), fields);
        }
    }
    if let Some(earlier) = &change.dry_run {
        earlier.lay_over_app(&mut records);
    }
    let plan = plan_app_updates(payload, entries, &records);
    if let Some(dry_run) = &mut change.dry_run {
        dry_run.note_app(plan.changed);
    } else if !plan.changed.is_empty() {
        let now = change.changed_at(conn)?.0;
        let mut update = conn.prepare_cached(
            "UPDATE app_profiles SET fields = ?3, updated_at = ?4
             WHERE domain_id = ?1 AND pid = ?2",
        )?;
        for (pid, fields) in &plan.changed {
            let changed = update.execute(params![domain, pid, fields, now])?;
            assert_eq!(changed, 1, "an app profile that was read is there to be updated");
        }
    }
    Ok(plan.records)
}
