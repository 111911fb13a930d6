//! Updating core and app profiles, and upserts: reads the fields and the owners that the entries
//! name, and writes the net effect of the slice. A profile that does not change is not written.

use std::collections::{BTreeSet, HashMap};

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    AppPatch, CorePatch, CorePlan, IdentityKey, NewIds, finding_identities, named_app_profile,
    plan_app_updates, plan_core_patches, rejected_core_profiles, rejected_identities,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::task::Action;

use super::changes::ProfileChanges;
use super::statements::{AppProfiles, CoreProfiles, ProfileStore, app_profiles, owners, sound};
use super::write::{more_bytes, write_core};
use crate::StoreError;

/// The owners of identities.
type IdentityOwners = HashMap<IdentityKey, CoreProfileId>;

/// Updates or creates the core profiles of some entries, as the action says; their records.
pub fn patch_core(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    (action, payload): (Action, &[u8]),
    entries: &[PreparedEntry<CorePatch>],
) -> Result<ChunkRecords, StoreError> {
    let (stored, owners) = read_of_patches(store, changes, entries)?;
    let is_dry = changes.dry_run.is_some();
    let mut ids = if is_dry { NewIds::DryRun } else { NewIds::From(changes.next_id) };
    let times = stored
        .fields
        .keys()
        .map(|id| (*id, stored.indexed.get(id).map(|profile| profile.updated_at)));
    let earlier = changes.changed_before(times, |state, id| state.has_core(*id));
    let plan = plan_core_patches(
        action,
        payload,
        entries,
        &stored.fields,
        &owners,
        earlier.as_ref(),
        &mut ids,
    );
    changes.go_on(ids);
    end(store, changes, plan, &stored)
}

/// Reads for a plan of these entries.
fn read_of_patches(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    entries: &[PreparedEntry<CorePatch>],
) -> Result<(CoreProfiles, IdentityOwners), StoreError> {
    let named = sound(entries).filter_map(|patch| patch.identities.as_ref()).flatten();
    let named: Vec<_> = named.chain(rejected_identities(entries)).collect();
    let ids = sound(entries).filter_map(|patch| patch.id).chain(rejected_core_profiles(entries));
    read_core(store, changes, ids, &named, finding_identities(entries))
}

/// The profiles with these ids and those that have any identity in `finding`, and
/// the owners of `named`; all as the earlier entries of a dry run would have left them.
pub(super) fn read_core<'k>(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    ids: impl Iterator<Item = CoreProfileId>,
    named: &[&IdentityKey],
    finding: impl Iterator<Item = &'k IdentityKey>,
) -> Result<(CoreProfiles, IdentityOwners), StoreError> {
    let mut owners = owners(store, named)?;
    if let Some(earlier) = &mut changes.dry_run {
        earlier.lay_over_owners(store, named, &mut owners)?;
    }
    let found: BTreeSet<_> = finding.filter_map(|key| owners.get(key)).collect();
    let ids: BTreeSet<_> = ids.chain(found.iter().copied().copied()).collect();
    let ids: Vec<_> = ids.into_iter().collect();
    let mut stored =
        if ids.is_empty() { CoreProfiles::default() } else { store.core_profiles(&ids)? };
    if let Some(earlier) = &mut changes.dry_run {
        earlier.lay_over_core(store, &ids, &mut stored.fields)?;
    }
    if found.iter().any(|id| !stored.fields.contains_key(id)) {
        return Err(StoreError::Corrupt("the owner of an identity is not there".to_owned()));
    }
    Ok((stored, owners))
}

/// Writes a plan, or notes it in a dry run; its records.
pub(super) fn end(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    mut plan: CorePlan,
    before: &CoreProfiles,
) -> Result<ChunkRecords, StoreError> {
    match &mut changes.dry_run {
        Some(dry_run) => dry_run.note_core(&mut plan),
        None => write_core(store, changes, &plan, before)?,
    }
    Ok(plan.records)
}

/// Updates the app profiles of some entries; their records.
pub fn update_app(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    payload: &[u8],
    entries: &[PreparedEntry<AppPatch>],
) -> Result<ChunkRecords, StoreError> {
    let pids: Vec<_> = entries.iter().filter_map(named_app_profile).collect();
    let AppProfiles { mut fields, updated_at } =
        app_profiles(store, &pids, changes.dry_run.is_none())?;
    if let Some(earlier) = &mut changes.dry_run {
        earlier.lay_over_app(store, &mut fields)?;
    }
    let times = fields.keys().map(|pid| (&**pid, updated_at.get(pid).copied()));
    let earlier = changes.changed_before(times, |state, pid| state.has_app(pid));
    let plan =
        plan_app_updates(payload, entries, &fields, earlier.as_ref(), changes.dry_run.is_some());
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
