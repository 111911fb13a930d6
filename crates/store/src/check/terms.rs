//! The rule of term sets: each stored issue, and each core profile, is in the set of each of its
//! terms, and in no other set. Both sides are summed up in any order, as a count and a sum of
//! hashes per domain and kind, which needs little memory. Only if the sums differ are they compared
//! again per value, to name the wrong values.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use caseload_model::issue::TermKind;

use super::Findings;

/// Whose terms they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    Issues,
    Profiles,
}

impl Noun {
    const fn name(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::Profiles => "profiles",
        }
    }
}

/// A sum of entries that does not depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hash: u64,
}

impl Sum {
    fn add(&mut self, value: &[u8], row: u32) {
        let mut hasher = DefaultHasher::new();
        (value, row).hash(&mut hasher);
        self.count += 1;
        self.hash = self.hash.wrapping_add(hasher.finish());
    }
}

/// The id of a domain and the code of a term kind.
type Kind = (i64, i64);

/// Expected and stored entries, summed up by domain and kind.
#[derive(Debug, Default)]
pub struct KindSums {
    expected: BTreeMap<Kind, Sum>,
    stored: BTreeMap<Kind, Sum>,
    count: u64,
}

impl KindSums {
    pub fn expect(&mut self, kind: Kind, value: &[u8], row: u32) {
        self.expected.entry(kind).or_default().add(value, row);
    }

    pub fn store(&mut self, kind: Kind, value: &[u8], row: u32) {
        self.count += 1;
        self.stored.entry(kind).or_default().add(value, row);
    }

    /// The kinds whose stored entries are not the expected ones.
    pub fn end(self, findings: &mut Findings, of: Noun) -> Vec<Kind> {
        let what = match of {
            Noun::Issues => "terms of issues",
            Noun::Profiles => "terms of profiles",
        };
        findings.verified(what, self.count);
        let mut kinds: Vec<_> = self.expected.keys().chain(self.stored.keys()).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|kind| self.expected.get(kind) != self.stored.get(kind));
        kinds
    }
}

/// Expected and stored entries of one kind, summed up by value.
#[derive(Debug, Default)]
pub struct ValueSums(HashMap<Vec<u8>, (Sum, Sum)>);

impl ValueSums {
    pub fn expect(&mut self, value: &[u8], row: u32) {
        self.0.entry(value.to_vec()).or_default().0.add(value, row);
    }

    pub fn store(&mut self, value: &[u8], row: u32) {
        self.0.entry(value.to_vec()).or_default().1.add(value, row);
    }

    /// Reports the values of a kind whose stored entries are not the expected ones.
    pub fn end(self, findings: &mut Findings, of: Noun, name: &str, kind: i64) {
        let Some(word) = TermKind::from_code(kind).map(TermKind::as_str) else {
            findings.fault(format!("domain {name}: a term of an unknown kind {kind}"));
            return;
        };
        let mut wrong: Vec<_> =
            self.0.into_iter().filter(|(_, (expected, stored))| expected != stored).collect();
        wrong.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (value, (expected, stored)) in wrong {
            let value = value.escape_ascii();
            let (expected, stored, of) = (expected.count, stored.count, of.name());
            findings.fault(format!(
                "domain {name}: the term set of {word} \"{value}\" has {stored} {of}, but not \
                 the {expected} that have this term"
            ));
        }
    }
}
