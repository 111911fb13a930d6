//! The law of what issues are found by: stored sets hold each issue under each of the terms that
//! the model names for it, and nothing else. Both sides are added up, in any order, as a count and
//! a sum of hashes per domain and kind, which takes no memory; only where they differ is the same
//! done for each value, to name the values.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use caseload_model::issue::TermKind;

use super::Findings;

/// Entries, added up in any order.
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

/// A domain and the number of a kind.
type Kind = (i64, i64);

/// What there must be and what there is, added up by domain and kind.
#[derive(Debug, Default)]
pub struct Kinds {
    expected: BTreeMap<Kind, Sum>,
    stored: BTreeMap<Kind, Sum>,
    count: u64,
}

impl Kinds {
    pub fn expect(&mut self, kind: Kind, value: &[u8], row: u32) {
        self.expected.entry(kind).or_default().add(value, row);
    }

    pub fn store(&mut self, kind: Kind, value: &[u8], row: u32) {
        self.count += 1;
        self.stored.entry(kind).or_default().add(value, row);
    }

    /// The kinds that are not as they must be.
    pub fn end(self, findings: &mut Findings) -> Vec<Kind> {
        findings.verified("terms of issues", self.count);
        let mut kinds: Vec<_> = self.expected.keys().chain(self.stored.keys()).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|kind| self.expected.get(kind) != self.stored.get(kind));
        kinds
    }
}

/// The same of one kind, added up by value.
#[derive(Debug, Default)]
pub struct Values(HashMap<Vec<u8>, (Sum, Sum)>);

impl Values {
    pub fn expect(&mut self, value: &[u8], row: u32) {
        self.0.entry(value.to_vec()).or_default().0.add(value, row);
    }

    pub fn store(&mut self, value: &[u8], row: u32) {
        self.0.entry(value.to_vec()).or_default().1.add(value, row);
    }

    /// Names the values that are not as they must be, of a kind of the domain called `name`.
    pub fn end(self, findings: &mut Findings, name: &str, kind: i64) {
        let Some(word) = TermKind::from_code(kind).map(TermKind::as_str) else {
            findings.fault(format!("domain {name}: a term of an unknown kind {kind}"));
            return;
        };
        let mut wrong: Vec<_> =
            self.0.into_iter().filter(|(_, (there, kept))| there != kept).collect();
        wrong.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (value, (there, kept)) in wrong {
            let value = value.escape_ascii();
            let (there, kept) = (there.count, kept.count);
            findings.fault(format!(
                "domain {name}: under {word} \"{value}\" {kept} issues are found that are not \
                 just the {there} there are"
            ));
        }
    }
}
