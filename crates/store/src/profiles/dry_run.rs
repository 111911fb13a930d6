//! The changes that earlier slices of a dry run planned for profiles, laid over the stored
//! profiles, so that each slice is planned on the state that the ones before it would have left.
//! None of them is written. Invariant: as in a store, identities that an update frees are free
//! before any is taken.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{CoreUpdatePlan, DryRunOwners, IdentityKey};

/// The changes of one dry run so far.
#[derive(Debug, Default)]
pub(crate) struct DryRun {
    /// Who took which identity, among creations.
    pub(super) owners: DryRunOwners,
    /// Fields of changed core profiles.
    core: HashMap<CoreProfileId, Vec<u8>>,
    /// Identities that updates moved; `None` if they are free.
    identities: HashMap<IdentityKey, Option<CoreProfileId>>,
    /// Fields of changed app profiles, by pid.
    app: HashMap<String, Vec<u8>>,
}

impl DryRun {
    /// Lays earlier changes over the records that were read, and over the owners of these
    /// identities.
    pub(super) fn lay_over_core(
        &self,
        identities: &[&IdentityKey],
        records: &mut HashMap<CoreProfileId, Vec<u8>>,
        owners: &mut HashMap<IdentityKey, CoreProfileId>,
    ) {
        for (id, fields) in records.iter_mut() {
            if let Some(changed) = self.core.get(id) {
                fields.clone_from(changed);
            }
        }
        for key in identities.iter().copied() {
            match self.identities.get(key) {
                Some(Some(owner)) => drop(owners.insert(key.clone(), *owner)),
                Some(None) => drop(owners.remove(key)),
                None => {}
            }
        }
    }

    /// Notes the changes of a plan.
    pub(super) fn note_core(&mut self, plan: &mut CoreUpdatePlan) {
        self.core.extend(std::mem::take(&mut plan.changed));
        let freed = std::mem::take(&mut plan.identities_removed);
        self.identities.extend(freed.into_iter().map(|(key, _)| (key, None)));
        let taken = std::mem::take(&mut plan.identities_added);
        self.identities.extend(taken.into_iter().map(|(key, id)| (key, Some(id))));
    }

    /// Lays earlier changes over the records that were read.
    pub(super) fn lay_over_app(&self, records: &mut HashMap<String, Vec<u8>>) {
        for (pid, fields) in records {
            if let Some(changed) = self.app.get(pid) {
                fields.clone_from(changed);
            }
        }
    }

    /// Notes the changed fields of a plan.
    pub(super) fn note_app(&mut self, changed: impl IntoIterator<Item = (String, Vec<u8>)>) {
        self.app.extend(changed);
    }
}
