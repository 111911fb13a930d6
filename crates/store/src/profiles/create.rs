//! Creating core profiles. Nearly always every identity is free, so the plan is made without a look
//! at the owners, and the key of the table decides: if an identity is taken, those of the slice are
//! taken back, and the slice is planned again with all owners read. From then on the owners of the
//! rest of the chunk are read first. The owners of identities of rejected entries are always read.

use caseload_model::profile::{
    CreatePlan, IdentityKey, NewCoreProfile, NewIds, plan_creates, plan_optimistic_creates,
    rejected_identities,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};

use super::changes::ProfileChanges;
use super::statements::{ProfileStore, owners, sound};
use crate::StoreError;

/// Creates the profiles of some entries; their records.
pub fn create(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    payload: &[u8],
    entries: &[PreparedEntry<NewCoreProfile>],
) -> Result<ChunkRecords, StoreError> {
    let mut named: Vec<&IdentityKey> = rejected_identities(entries).collect();
    if !changes.reads_owners && changes.dry_run.is_none() {
        let owners = owners(store, &named)?;
        let ids = NewIds::From(changes.next_id);
        let plan = plan_optimistic_creates(payload, entries, &owners, ids);
        if insert(store, changes, entries, &plan)? {
            changes.go_on(plan.ids);
            return Ok(plan.records);
        }
        changes.reads_owners = true;
    }
    named.extend(sound(entries).flat_map(|profile| &profile.identities));
    let mut owners = owners(store, &named)?;
    if let Some(earlier) = &mut changes.dry_run {
        earlier.lay_over_owners(store, &named, &mut owners)?;
        let plan = plan_creates(payload, entries, &owners, NewIds::DryRun);
        for (key, owner) in plan.taken(entries) {
            earlier.note_owner(key, owner);
        }
        return Ok(plan.records);
    }
    let plan = plan_creates(payload, entries, &owners, NewIds::From(changes.next_id));
    if !insert(store, changes, entries, &plan)? {
        return Err(StoreError::Corrupt("an identity is taken and has no owner".to_owned()));
    }
    changes.go_on(plan.ids);
    Ok(plan.records)
}

/// Inserts all of the plan, or nothing if an identity is taken.
fn insert(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    entries: &[PreparedEntry<NewCoreProfile>],
    plan: &CreatePlan,
) -> Result<bool, StoreError> {
    if plan.inserts.is_empty() {
        return Ok(true);
    }
    let (profiles, identities) = plan.rows(entries);
    if store.insert_identities(&identities)? < identities.len() as u64 {
        // Only those that were just inserted belong to these new ids. A savepoint would make SQLite
        // copy every page of the index that a slice changes.
        store.delete_identities(&identities)?;
        return Ok(false);
    }
    changes.insert(store, &profiles)?;
    store.store_bytes(profiles.iter().map(|(_, fields)| fields.len() as i64).sum())?;
    changes.written = true;
    Ok(true)
}
