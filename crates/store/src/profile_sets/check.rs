//! Compares the sets of a domain with its profiles. Of each set only the number of members and a
//! sum of their hashes are held, so that a check needs little memory however many profiles there
//! are.

use std::collections::BTreeMap;

use caseload_model::profile_query::{ProfileSetKind, visit_sets};
use caseload_model::time::UnixMillis;

use super::encoding::{Moment, is_order};
use super::rows::{SetRow, members};
use crate::StoreError;
use crate::check::Findings;
use crate::sql::Row;

/// A core profile, as far as its sets depend on it.
#[derive(Debug)]
pub struct StoredProfile {
    id: i64,
    created_at: UnixMillis,
    updated_at: UnixMillis,
    fields: Vec<u8>,
}

impl StoredProfile {
    /// Reads `id`, `created_at`, `updated_at` and `fields` from the columns from `column` on.
    pub fn read_at(row: &dyn Row, column: usize) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get(column)?,
            created_at: row.get(column + 1)?,
            updated_at: row.get(column + 2)?,
            fields: row.get(column + 3)?,
        })
    }
}

/// The members of one set, summed up.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sum {
    members: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, (at, id): Moment) {
        self.members += 1;
        let both = (at.cast_unsigned() ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93)
            ^ id.cast_unsigned();
        // The finalizer of a 64-bit hash: all bits of the sum depend on all bits of the moment.
        let mixed = (both ^ both >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.hashes = self.hashes.wrapping_add(mixed ^ mixed >> 31);
    }
}

/// The sets of one domain, by kind and value.
#[derive(Debug, Default)]
pub struct SetSums {
    by_profiles: BTreeMap<(i64, Vec<u8>), Sum>,
    by_rows: BTreeMap<(i64, Vec<u8>), Sum>,
    /// The last member so far of each set, in the order of its rows.
    last: BTreeMap<(i64, Vec<u8>), Moment>,
}

impl SetSums {
    /// Adds a profile.
    pub fn add_profile(&mut self, profile: &StoredProfile) {
        let StoredProfile { id, created_at, updated_at, fields } = profile;
        let sums = &mut self.by_profiles;
        for (kind, at) in
            [(ProfileSetKind::Created, created_at.0), (ProfileSetKind::Updated, updated_at.0)]
        {
            sums.entry((kind.code(), Vec::new())).or_default().add((at, *id));
        }
        let mut seen = Vec::new();
        visit_sets(fields, &mut |kind, value| {
            let set = (kind.code(), value.to_vec());
            if !seen.contains(&set) {
                sums.entry(set.clone()).or_default().add((0, *id));
                seen.push(set);
            }
        });
    }

    /// Adds a row; rows come in the order of their keys.
    pub fn add_row(&mut self, findings: &mut Findings, domain: &str, row: &SetRow) {
        let (kind, value, _) = &row.key;
        let members: Result<Vec<Moment>, _> = if is_order(*kind) {
            members::<Moment>(row)
        } else {
            members::<i64>(row).map(|ids| ids.into_iter().map(|id| (0, id)).collect())
        };
        let set = (kind.code(), if is_order(*kind) { Vec::new() } else { value.clone() });
        let name = kind.as_str();
        let mut broken = |rule: &str| {
            findings.fault(format!("domain {domain}, set of profiles by {name}: {rule}"));
        };
        let Ok(members) = members else {
            broken("a row cannot be read");
            return;
        };
        if self.last.get(&set).is_some_and(|last| *last >= members[0]) {
            broken("two rows overlap");
        }
        if let Some(last) = members.last() {
            self.last.insert(set.clone(), *last);
        }
        let sum = self.by_rows.entry(set).or_default();
        for member in members {
            sum.add(member);
        }
    }

    /// Compares; the number of sets.
    pub fn compare(&self, findings: &mut Findings, domain: &str) -> u64 {
        let Self { by_profiles, by_rows, .. } = self;
        let sets: BTreeMap<_, _> = by_profiles.iter().chain(by_rows).collect();
        for set in sets.keys() {
            let [profiles, rows] =
                [by_profiles, by_rows].map(|sums| sums.get(*set).copied().unwrap_or_default());
            if profiles == rows {
                continue;
            }
            let kind = ProfileSetKind::from_code(set.0).map_or("?", ProfileSetKind::as_str);
            let value = String::from_utf8_lossy(&set.1);
            findings.fault(format!(
                "domain {domain}, set of profiles by {kind} {value:?}: it has {} members, but not \
                 the {} profiles that belong in it",
                rows.members, profiles.members
            ));
        }
        sets.len() as u64
    }
}
