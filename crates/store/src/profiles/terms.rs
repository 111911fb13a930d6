//! The changes of the terms of core profiles by one chunk, gathered while its slices are applied.
//! Invariant: a profile has the terms that its stored fields and times name, and no others.

use std::collections::BTreeSet;

use caseload_model::issue::{TermKind, visit_time};
use caseload_model::profile_query::visit_profile_terms;
use caseload_model::time::UnixMillis;

use super::times::ChangeTimes;
use crate::term_changes::{TermChanges, TermStep, TermUpdates};

/// The parts of a stored core profile, other than its fields, that its terms depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedProfile {
    pub row: u32,
    pub created_at: UnixMillis,
    pub updated_at: UnixMillis,
}

impl IndexedProfile {
    /// The code of the kind and the value of each term of the profile, once.
    pub fn terms(&self, fields: &[u8]) -> BTreeSet<(i64, Vec<u8>)> {
        let mut terms = BTreeSet::new();
        self.visit_terms(fields, &mut |kind, value| {
            terms.insert((kind.code(), value.to_vec()));
        });
        terms
    }

    /// Passes each term of the profile to `visit`; a term may come twice.
    fn visit_terms(&self, fields: &[u8], visit: &mut impl FnMut(TermKind, &[u8])) {
        visit(TermKind::All, b"");
        visit_time(TermKind::Created, self.created_at, visit);
        visit_time(TermKind::Updated, self.updated_at, visit);
        visit_profile_terms(fields, visit);
    }
}

/// The changes of a chunk.
#[derive(Debug, Default)]
pub(super) struct ProfileTerms {
    changes: TermChanges,
    /// New rows, which have the same times and do not have the terms of these yet.
    created: Vec<u32>,
    times: Option<ChangeTimes>,
}

impl ProfileTerms {
    /// A new profile. Those of a chunk have the same times.
    pub(super) fn created(&mut self, row: u32, times: ChangeTimes, fields: &[u8]) {
        self.created.push(row);
        self.times = Some(times);
        // A term that comes twice is one step in the end.
        let changes = &mut self.changes;
        visit_profile_terms(fields, &mut |kind, value| {
            changes.step(kind, value, row, TermStep::Enters);
        });
    }

    /// A profile that is deleted.
    pub(super) fn deleted(&mut self, profile: IndexedProfile, fields: &[u8]) {
        self.enter_times();
        profile.visit_terms(fields, &mut |kind, value| {
            self.changes.step(kind, value, profile.row, TermStep::Leaves);
        });
    }

    /// A profile that gets new fields.
    pub(super) fn changed(
        &mut self,
        profile: IndexedProfile,
        [before, after]: [&[u8]; 2],
        at: UnixMillis,
    ) {
        self.enter_times();
        for (updated_at, fields, step) in
            [(profile.updated_at, before, TermStep::Leaves), (at, after, TermStep::Enters)]
        {
            let mut note = |kind: TermKind, value: &[u8]| {
                self.changes.step(kind, value, profile.row, step);
            };
            visit_time(TermKind::Updated, updated_at, &mut note);
            visit_profile_terms(fields, &mut note);
        }
    }

    /// Notes the terms of the times of new profiles, before any of them changes again.
    fn enter_times(&mut self) {
        let Some(ChangeTimes { created_at, changed_at }) = self.times.take() else { return };
        let Self { changes, created, .. } = self;
        let mut enter = |kind: TermKind, value: &[u8]| changes.enter(kind, value, created);
        enter(TermKind::All, b"");
        visit_time(TermKind::Created, created_at, &mut enter);
        visit_time(TermKind::Updated, changed_at, &mut enter);
        created.clear();
    }

    /// The net changes.
    pub(super) fn finish(&mut self) -> TermUpdates {
        self.enter_times();
        std::mem::take(&mut self.changes).finish()
    }
}
