//! Writing the plan of a slice of core profiles. Here, and nowhere else, the record of a profile
//! before a change and the one after it are both known. Invariant: in one transaction, the rows of
//! `identities` follow the records, and the sets of terms follow them at the end of the chunk.

use std::collections::HashMap;
use std::hash::Hash;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{CorePlan, IdentityKey, IdentityRow, ProfileRow};

use super::changes::ProfileChanges;
use super::statements::{CoreProfiles, ProfileStore};
use crate::StoreError;

/// Writes a plan. `before` has the profiles that it changes.
pub(super) fn write_core(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    plan: &CorePlan,
    before: &CoreProfiles,
) -> Result<(), StoreError> {
    let CorePlan { created, changed, deleted, identities_removed, identities_added, .. } = plan;
    if created.is_empty() && changed.is_empty() && deleted.is_empty() {
        return Ok(());
    }
    changes.written = true;
    let (removed, added) = (rows(identities_removed), rows(identities_added));
    if !removed.is_empty() && store.delete_identities(&removed)? < removed.len() as u64 {
        return Err(StoreError::Corrupt(
            "an identity of a core profile is not among its identities".to_owned(),
        ));
    }
    if !added.is_empty() && store.insert_identities(&added)? < added.len() as u64 {
        return Err(StoreError::Corrupt("an identity is taken and has no owner".to_owned()));
    }
    if !created.is_empty() {
        let created: Vec<ProfileRow<'_>> =
            created.iter().map(|(id, fields)| (id.0 as i64, &fields[..])).collect();
        changes.insert(store, &created)?;
    }
    if !changed.is_empty() {
        let updated = store.update_core_profiles(changed, changes.changed_at)?;
        assert_eq!(updated, changed.len() as u64, "a profile that was read is there");
    }
    note_terms(changes, plan, before);
    let before = &before.fields;
    let mut more = more_bytes(created, before) + more_bytes(changed, before);
    if !deleted.is_empty() {
        let gone = store.delete_core_profiles(deleted)?;
        assert_eq!(gone, deleted.len() as u64, "a profile that was read is there");
        more -= deleted.iter().filter_map(|id| before.get(id)).map(Vec::len).sum::<usize>() as i64;
    }
    store.store_bytes(more)
}

/// Notes how the plan changes the terms of profiles that existed before.
fn note_terms(changes: &mut ProfileChanges, plan: &CorePlan, before: &CoreProfiles) {
    let stored = |id| before.fields.get(id).zip(before.indexed.get(id));
    for (id, fields) in &plan.changed {
        let Some((old, profile)) = stored(id) else { continue };
        changes.terms.changed(*profile, [old, fields], changes.changed_at);
    }
    for id in &plan.deleted {
        let Some((old, profile)) = stored(id) else { continue };
        changes.terms.deleted(*profile, old);
    }
}

/// By how many bytes new fields are longer than those before.
pub(super) fn more_bytes<K: Eq + Hash>(
    changed: &[(K, Vec<u8>)],
    before: &HashMap<K, Vec<u8>>,
) -> i64 {
    let longer = |(key, fields): &(K, Vec<u8>)| {
        fields.len() as i64 - before.get(key).map_or(0, |before| before.len() as i64)
    };
    changed.iter().map(longer).sum()
}

fn rows(identities: &[(IdentityKey, CoreProfileId)]) -> Vec<IdentityRow<'_>> {
    identities.iter().map(|(key, id)| (key.as_bytes(), id.0 as i64)).collect()
}
