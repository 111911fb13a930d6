//! The changes that earlier slices of a dry run planned for profiles, laid over the stored
//! profiles, so that each slice is planned on the state that the ones before it would have left.
//! None of them is written. Invariant: as in a store, identities that an update frees are free
//! before any is taken.

use std::collections::HashMap;
use std::hash::Hash;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{CorePlan, DryRunOwners, IdentityKey};

/// The changes of one dry run so far.
#[derive(Debug, Default)]
pub(crate) struct DryRun {
    /// Who took which identity, among creations.
    pub(super) owners: DryRunOwners,
    /// Fields of changed core profiles, and of those that upserts would have created.
    /// `None` if the profile is deleted.
    core: HashMap<CoreProfileId, Option<Vec<u8>>>,
    /// Identities that updates moved; `None` if they are free.
    identities: HashMap<IdentityKey, Option<CoreProfileId>>,
    /// Fields of changed app profiles, by pid; `None` if the profile is deleted.
    app: HashMap<String, Option<Vec<u8>>>,
}

impl DryRun {
    /// Lays earlier changes over the records that were read of the profiles with these ids.
    pub(super) fn lay_over_core(
        &self,
        ids: &[CoreProfileId],
        records: &mut HashMap<CoreProfileId, Vec<u8>>,
    ) {
        lay_over(&self.core, ids.iter().copied(), records);
    }

    /// Lays earlier changes over the owners of these identities.
    pub(super) fn lay_over_owners(
        &self,
        identities: &[&IdentityKey],
        owners: &mut HashMap<IdentityKey, CoreProfileId>,
    ) {
        for key in identities.iter().copied() {
            match self.identities.get(key) {
                Some(Some(owner)) => drop(owners.insert(key.clone(), *owner)),
                Some(None) => drop(owners.remove(key)),
                None => {}
            }
        }
    }

    /// Notes the changes of a plan.
    pub(super) fn note_core(&mut self, plan: &mut CorePlan) {
        let written = [&mut plan.created, &mut plan.changed].map(std::mem::take);
        self.core.extend(written.into_iter().flatten().map(|(id, fields)| (id, Some(fields))));
        self.core.extend(std::mem::take(&mut plan.deleted).into_iter().map(|id| (id, None)));
        let freed = std::mem::take(&mut plan.identities_removed);
        self.identities.extend(freed.into_iter().map(|(key, _)| (key, None)));
        let taken = std::mem::take(&mut plan.identities_added);
        self.identities.extend(taken.into_iter().map(|(key, id)| (key, Some(id))));
    }

    /// Lays earlier changes over the records that were read.
    pub(super) fn lay_over_app(&self, records: &mut HashMap<String, Vec<u8>>) {
        let pids: Vec<String> = records.keys().cloned().collect();
        lay_over(&self.app, pids.into_iter(), records);
    }

    /// Notes the changed fields of a plan.
    pub(super) fn note_app(&mut self, changed: impl IntoIterator<Item = (String, Vec<u8>)>) {
        self.app.extend(changed.into_iter().map(|(pid, fields)| (pid, Some(fields))));
    }

    /// Notes the deletions of a plan.
    pub(super) fn note_app_deletes(&mut self, deleted: Vec<String>) {
        self.app.extend(deleted.into_iter().map(|pid| (pid, None)));
    }
}

/// Lays changes of these records over them.
fn lay_over<K: Eq + Hash>(
    changes: &HashMap<K, Option<Vec<u8>>>,
    keys: impl Iterator<Item = K>,
    records: &mut HashMap<K, Vec<u8>>,
) {
    for key in keys {
        match changes.get(&key) {
            Some(Some(fields)) => drop(records.insert(key, fields.clone())),
            Some(None) => drop(records.remove(&key)),
            None => {}
        }
    }
}
