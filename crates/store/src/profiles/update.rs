//! Updating core and app profiles: reads the fields and the owners that the entries name, and
//! writes the net effect of the slice. A profile that does not change is not written.

use std::collections::HashMap;
use std::hash::Hash;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    AppPatch, CorePatch, CoreUpdatePlan, IdentityKey, IdentityRow, named_app_profile,
    plan_app_updates, plan_core_updates, rejected_core_profiles, rejected_identities,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};

use super::changes::ProfileChanges;
use super::statements::{ProfileStore, app_fields, owners, sound};
use crate::StoreError;

/// Updates the core profiles of some entries; their records.
pub fn update_core(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    payload: &[u8],
    entries: &[PreparedEntry<CorePatch>],
) -> Result<ChunkRecords, StoreError> {
    let ids = sound(entries).map(|patch| patch.id).chain(rejected_core_profiles(entries));
    let ids: Vec<_> = ids.collect();
    let mut fields = store.core_fields(&ids)?;
    let named = sound(entries).filter_map(|patch| patch.identities.as_ref()).flatten();
    let named: Vec<_> = named.chain(rejected_identities(entries)).collect();
    let mut owners = owners(store, &named)?;
    if let Some(earlier) = &changes.dry_run {
        earlier.lay_over_core(&named, &mut fields, &mut owners);
    }
    let mut plan = plan_core_updates(payload, entries, &fields, &owners);
    if let Some(dry_run) = &mut changes.dry_run {
        dry_run.note_core(&mut plan);
    } else {
        write_core(store, changes, &plan)?;
        store.store_bytes(more_bytes(&plan.changed, &fields))?;
    }
    Ok(plan.records)
}

fn write_core(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    plan: &CoreUpdatePlan,
) -> Result<(), StoreError> {
    if plan.changed.is_empty() {
        return Ok(());
    }
    changes.written = true;
    let updated = store.update_core_profiles(&plan.changed, changes.changed_at)?;
    assert_eq!(updated, plan.changed.len() as u64, "a profile that was read is there");
    let (removed, added) = (rows(&plan.identities_removed), rows(&plan.identities_added));
    if store.delete_identities(&removed)? < removed.len() as u64 {
        return Err(StoreError::Corrupt(
            "an identity of a core profile is not among its identities".to_owned(),
        ));
    }
    if store.insert_identities(&added)? < added.len() as u64 {
        return Err(StoreError::Corrupt("an identity is taken and has no owner".to_owned()));
    }
    Ok(())
}

/// By how many bytes new fields are longer than those before.
fn more_bytes<K: Eq + Hash>(changed: &[(K, Vec<u8>)], before: &HashMap<K, Vec<u8>>) -> i64 {
    let longer = |(key, fields): &(K, Vec<u8>)| {
        fields.len() as i64 - before.get(key).map_or(0, |before| before.len() as i64)
    };
    changed.iter().map(longer).sum()
}

fn rows(identities: &[(IdentityKey, CoreProfileId)]) -> Vec<IdentityRow<'_>> {
    identities.iter().map(|(key, id)| (key.as_bytes(), id.0 as i64)).collect()
}

/// Updates the app profiles of some entries; their records.
pub fn update_app(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    payload: &[u8],
    entries: &[PreparedEntry<AppPatch>],
) -> Result<ChunkRecords, StoreError> {
    let pids: Vec<_> = entries.iter().filter_map(named_app_profile).collect();
    let mut fields = app_fields(store, &pids, changes.dry_run.is_none())?;
    if let Some(earlier) = &changes.dry_run {
        earlier.lay_over_app(&mut fields);
    }
    let plan = plan_app_updates(payload, entries, &fields);
    if let Some(dry_run) = &mut changes.dry_run {
        dry_run.note_app(plan.changed);
    } else if !plan.changed.is_empty() {
        changes.written = true;
        store.store_bytes(more_bytes(&plan.changed, &fields))?;
        let updated = store.update_app_profiles(&plan.changed, changes.changed_at)?;
        assert_eq!(updated, plan.changed.len() as u64, "an app profile that was read is there");
    }
    Ok(plan.records)
}
