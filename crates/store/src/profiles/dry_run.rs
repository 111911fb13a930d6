//! Profiles as the earlier entries of a dry run would have left them ([`crate::dry_run`]).
//! Invariant: as in a store, identities that an update frees are free before any is taken.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{CorePlan, IdentityKey};

use crate::StoreError;
use crate::dry_run::{Change, DryRunState, Part};
use crate::idempotency::CommandStore;

impl DryRunState {
    /// Lays earlier changes over the records that were read of the profiles with these ids.
    pub(super) fn lay_over_core(
        &mut self,
        store: &impl CommandStore,
        ids: &[CoreProfileId],
        records: &mut HashMap<CoreProfileId, Vec<u8>>,
    ) -> Result<(), StoreError> {
        self.read(store, Part::CoreProfile, ids.iter().copied().map(core_key))?;
        for id in ids {
            lay_over(self.get(Part::CoreProfile, &core_key(*id)), *id, records);
        }
        Ok(())
    }

    /// Lays earlier changes over the owners of these identities.
    pub(super) fn lay_over_owners(
        &mut self,
        store: &impl CommandStore,
        identities: &[&IdentityKey],
        owners: &mut HashMap<IdentityKey, CoreProfileId>,
    ) -> Result<(), StoreError> {
        self.read(store, Part::Identity, identities.iter().map(|key| key.as_bytes()))?;
        for key in identities.iter().copied() {
            match self.get(Part::Identity, key.as_bytes()) {
                Some(Change::To(owner)) => drop(owners.insert(key.clone(), owner_of(owner)?)),
                Some(Change::Gone) => drop(owners.remove(key)),
                None => {}
            }
        }
        Ok(())
    }

    /// Whether an earlier entry changed the profile with this id, which has been read.
    pub(super) fn has_core(&self, id: CoreProfileId) -> bool {
        self.get(Part::CoreProfile, &core_key(id)).is_some()
    }

    /// Notes the changes of a plan.
    pub(super) fn note_core(&mut self, plan: &mut CorePlan) {
        let written = [&mut plan.created, &mut plan.changed].map(std::mem::take);
        for (id, fields) in written.into_iter().flatten() {
            self.put(Part::CoreProfile, &core_key(id), Some(fields));
        }
        for id in std::mem::take(&mut plan.deleted) {
            self.put(Part::CoreProfile, &core_key(id), None);
        }
        for (key, _) in std::mem::take(&mut plan.identities_removed) {
            self.put(Part::Identity, key.as_bytes(), None);
        }
        for (key, id) in std::mem::take(&mut plan.identities_added) {
            self.note_owner(&key, id);
        }
    }

    /// Notes that a profile would take an identity.
    pub(super) fn note_owner(&mut self, key: &IdentityKey, owner: CoreProfileId) {
        self.put(Part::Identity, key.as_bytes(), Some(core_key(owner).to_vec()));
    }

    /// Lays earlier changes over the records that were read.
    pub(super) fn lay_over_app(
        &mut self,
        store: &impl CommandStore,
        records: &mut HashMap<String, Vec<u8>>,
    ) -> Result<(), StoreError> {
        let pids: Vec<String> = records.keys().cloned().collect();
        self.read(store, Part::AppProfile, &pids)?;
        for pid in pids {
            lay_over(self.get(Part::AppProfile, pid.as_bytes()), pid.clone(), records);
        }
        Ok(())
    }

    /// Whether an earlier entry changed the profile with this pid, which has been read.
    pub(super) fn has_app(&self, pid: &str) -> bool {
        self.get(Part::AppProfile, pid.as_bytes()).is_some()
    }

    /// Notes the changed fields of a plan.
    pub(super) fn note_app(&mut self, changed: impl IntoIterator<Item = (String, Vec<u8>)>) {
        for (pid, fields) in changed {
            self.put(Part::AppProfile, pid.as_bytes(), Some(fields));
        }
    }

    /// Notes the deletions of a plan.
    pub(super) fn note_app_deletes(&mut self, deleted: Vec<String>) {
        for pid in deleted {
            self.put(Part::AppProfile, pid.as_bytes(), None);
        }
    }
}

const fn core_key(id: CoreProfileId) -> [u8; 8] {
    id.0.to_be_bytes()
}

fn owner_of(value: &[u8]) -> Result<CoreProfileId, StoreError> {
    let id = value.try_into().map(u64::from_be_bytes);
    id.map(CoreProfileId)
        .map_err(|_| StoreError::Corrupt("an owner of a dry run cannot be read".to_owned()))
}

/// Lays the change of a record over it.
fn lay_over<K: Eq + std::hash::Hash>(
    change: Option<Change<'_>>,
    key: K,
    records: &mut HashMap<K, Vec<u8>>,
) {
    match change {
        Some(Change::To(fields)) => drop(records.insert(key, fields.to_vec())),
        Some(Change::Gone) => drop(records.remove(&key)),
        None => {}
    }
}
