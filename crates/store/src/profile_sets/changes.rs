//! The changes of sets by one chunk, gathered while its slices are applied. A profile may change
//! several times in a chunk; only the net effect is written.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use caseload_model::profile_query::{ProfileSet, ProfileSetKind, visit_sets};

use super::encoding::Moment;
use super::rows::Member;

/// A member of a set with whether it is added or removed.
pub(super) type Step<M> = (M, bool);
/// Those of one set, in the order of the changes.
type Steps<M> = Vec<Step<M>>;

/// Sets that are found without a hash, because many profiles in a row have the same values.
const RECENT: usize = 64;

/// Members that a chunk adds to sets and removes from them.
#[derive(Debug)]
pub(crate) struct SetChanges {
    /// Each with its key: the code of the kind, and the value.
    sets: Vec<(Vec<u8>, Steps<i64>)>,
    /// Places in `sets`, by key.
    places: HashMap<Vec<u8>, usize>,
    /// Places in `sets` of the last keys, by few bytes of them.
    recent: [usize; RECENT],
    created: Steps<Moment>,
    updated: Steps<Moment>,
    key: Vec<u8>,
}

impl Default for SetChanges {
    fn default() -> Self {
        Self {
            sets: Vec::new(),
            places: HashMap::new(),
            recent: [0; RECENT],
            created: Vec::new(),
            updated: Vec::new(),
            key: Vec::new(),
        }
    }
}

/// The times of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileTimes {
    pub created_at: i64,
    pub updated_at: i64,
}

impl SetChanges {
    /// A new profile.
    pub(crate) fn created(&mut self, id: i64, times: ProfileTimes, fields: &[u8]) {
        self.created.push(((times.created_at, id), true));
        self.updated.push(((times.updated_at, id), true));
        // A value that comes twice is one step in the end.
        visit_sets(fields, &mut |kind, value| self.step(kind, value, id, true));
    }

    /// A profile that is gone.
    pub(crate) fn deleted(&mut self, id: i64, times: ProfileTimes, fields: &[u8]) {
        self.created.push(((times.created_at, id), false));
        self.updated.push(((times.updated_at, id), false));
        visit_sets(fields, &mut |kind, value| self.step(kind, value, id, false));
    }

    /// New fields.
    pub(crate) fn changed(
        &mut self,
        id: i64,
        [before, after]: [&[u8]; 2],
        [updated_before, updated_at]: [i64; 2],
    ) {
        self.updated.push(((updated_before, id), false));
        self.updated.push(((updated_at, id), true));
        let sets = |fields: &[u8]| {
            let mut found = BTreeSet::new();
            visit_sets(fields, &mut |kind, value| {
                found.insert((kind.code(), value.to_vec()));
            });
            found
        };
        let [before, after] = [before, after].map(sets);
        for ((code, value), add) in before
            .difference(&after)
            .map(|set| (set, false))
            .chain(after.difference(&before).map(|set| (set, true)))
        {
            if let Some(kind) = ProfileSetKind::from_code(*code) {
                self.step(kind, value, id, add);
            }
        }
    }

    fn step(&mut self, kind: ProfileSetKind, value: &[u8], id: i64, add: bool) {
        self.key.clear();
        self.key.push(kind.code() as u8);
        self.key.extend_from_slice(value);
        let place = self.place();
        self.sets[place].1.push((id, add));
    }

    /// The place of the set with the present key.
    fn place(&mut self) -> usize {
        let Self { sets, places, recent, key, .. } = self;
        let ends = usize::from(key[0]) * 7 + key.len() * 11 + usize::from(key[key.len() - 1]);
        let recent = &mut recent[(ends + usize::from(key[key.len() / 2]) * 5) % RECENT];
        if sets.get(*recent).is_some_and(|(recent, _)| recent == key) {
            return *recent;
        }
        *recent = if let Some(place) = places.get(key) {
            *place
        } else {
            sets.push((key.clone(), Vec::new()));
            places.insert(key.clone(), sets.len() - 1);
            sets.len() - 1
        };
        *recent
    }

    /// The changes of each set of ids.
    pub(super) fn of_ids(&self) -> impl Iterator<Item = (ProfileSet, Cow<'_, [Step<i64>]>)> {
        self.sets.iter().filter_map(|(key, steps)| {
            let (code, value) = key.split_first()?;
            let kind = ProfileSetKind::from_code(i64::from(*code))?;
            Some(((kind, value.to_vec()), net(steps)))
        })
    }

    /// The changes of both orders.
    pub(super) fn of_orders(&self) -> [(ProfileSetKind, Cow<'_, [Step<Moment>]>); 2] {
        [
            (ProfileSetKind::Created, net(&self.created)),
            (ProfileSetKind::Updated, net(&self.updated)),
        ]
    }
}

/// The net effect of steps, in the order of the members. A member that is added and removed again,
/// or the other way round, does not change.
fn net<M: Member>(steps: &Steps<M>) -> Cow<'_, [Step<M>]> {
    // New profiles come in the order of their ids.
    if steps.is_sorted_by(|a, b| a.0 < b.0) {
        return Cow::Borrowed(steps);
    }
    let mut steps = steps.clone();
    steps.sort_by_key(|step| step.0);
    let mut left = Vec::with_capacity(steps.len());
    for of_one in steps.chunk_by(|a, b| a.0 == b.0) {
        let (first, last) = (of_one[0], of_one[of_one.len() - 1]);
        if first.1 == last.1 {
            left.push(last);
        }
    }
    Cow::Owned(left)
}
