//! The rule of term sets: each stored issue, and each core profile, is in the set of each of its
//! terms, and in no other set. Both sides are summed up in any order, as a count and a sum of
//! hashes per domain and kind, which needs little memory. Only if the sums differ are they compared
//! again per value, to name the wrong values.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use caseload_model::issue::{TermKind, visit_terms};
use roaring::RoaringBitmap;

use super::domains::{Domains, Scope};
use super::issues::select;
use super::{CheckedStore, Findings};
use crate::StoreError;
use crate::issues::{COLUMNS_END, columns, fragments};
use crate::profiles::IndexedProfile;
use crate::rowset::decode;

/// Receives the domain, kind, value and row of an entry.
type Visit<'v> = &'v mut dyn FnMut(i64, i64, &[u8], u32);

/// The stored terms are the terms of the stored issues.
pub fn of_issues<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    terms(store, Noun::Issues, findings)
}

/// The stored terms are the terms of the stored core profiles.
pub fn of_profiles<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    terms(store, Noun::Profiles, findings)
}

fn terms<S: CheckedStore>(store: &S, of: Noun, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut kinds = KindSums::default();
    for scope in domains.scopes(store) {
        visit_expected(&scope, of, &mut |domain, kind, value, row| {
            kinds.expect((domain, kind), value, row);
        })?;
        visit_stored(&scope, of, &mut |domain, kind, value, row| {
            kinds.store((domain, kind), value, row);
        })?;
    }
    for (domain, kind) in kinds.end(findings, of) {
        let Some(name) = domains.name(domain) else { continue };
        let scope = Scope::with(store, domain);
        let mut values = ValueSums::default();
        visit_expected(&scope, of, &mut |other, of_kind, value, row| {
            if (other, of_kind) == (domain, kind) {
                values.expect(value, row);
            }
        })?;
        visit_stored(&scope, of, &mut |other, of_kind, value, row| {
            if (other, of_kind) == (domain, kind) {
                values.store(value, row);
            }
        })?;
        values.end(findings, of, name, kind);
    }
    Ok(())
}

fn visit_expected<S: CheckedStore>(
    scope: &Scope<'_, S>,
    of: Noun,
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    match of {
        Noun::Issues => scope.each(&select(scope), |row| {
            let (domain, number) = (row.get(COLUMNS_END)?, row.get(COLUMNS_END + 1)?);
            visit_terms(&columns(row)?, &fragments(row)?, &mut |kind, value| {
                visit(domain, kind.code(), value, number);
            });
            Ok(())
        }),
        Noun::Profiles => {
            let select = format!(
                "SELECT t.domain_id, t.row, t.created_at, t.updated_at, t.fields
                 FROM core_profiles t WHERE t.domain_id = {}",
                scope.domain_of("t")
            );
            scope.each(&select, |row| {
                let (domain, number) = (row.get(0)?, row.get(1)?);
                let (created_at, updated_at) = (row.get(2)?, row.get(3)?);
                let profile = IndexedProfile { row: number, created_at, updated_at };
                for (kind, value) in profile.terms(row.get(4)?) {
                    visit(domain, kind, &value, number);
                }
                Ok(())
            })
        }
    }
}

/// The domain, kind, value and block of a set.
type SetKey = (i64, i64, Vec<u8>, u32);

fn visit_stored<S: CheckedStore>(
    scope: &Scope<'_, S>,
    of: Noun,
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    let select = match of {
        Noun::Issues => S::ISSUE_SETS,
        Noun::Profiles => S::PROFILE_SETS,
    };
    let mut set: Option<(SetKey, RoaringBitmap)> = None;
    let mut show = |set: Option<(SetKey, RoaringBitmap)>| {
        let Some(((domain, kind, value, _), rows)) = set else { return };
        rows.iter().for_each(|row| visit(domain, kind, &value, row));
    };
    scope.each(select, |row| {
        let key = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        if set.as_ref().is_none_or(|(of, _)| *of != key) {
            show(set.replace((key, RoaringBitmap::new())));
        }
        let Some(((.., block), rows)) = &mut set else { return Ok(()) };
        if let Some(entered) = row.get(4)? {
            decode(*block, entered, rows)?;
        }
        if let Some(gone) = row.get(5)? {
            let mut leaving = RoaringBitmap::new();
            decode(*block, gone, &mut leaving)?;
            *rows -= leaving;
        }
        Ok(())
    })?;
    show(set);
    Ok(())
}

/// Whose terms they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noun {
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
struct KindSums {
    expected: BTreeMap<Kind, Sum>,
    stored: BTreeMap<Kind, Sum>,
    count: u64,
}

impl KindSums {
    fn expect(&mut self, kind: Kind, value: &[u8], row: u32) {
        self.expected.entry(kind).or_default().add(value, row);
    }

    fn store(&mut self, kind: Kind, value: &[u8], row: u32) {
        self.count += 1;
        self.stored.entry(kind).or_default().add(value, row);
    }

    /// The kinds whose stored entries are not the expected ones.
    fn end(self, findings: &mut Findings, of: Noun) -> Vec<Kind> {
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
struct ValueSums(HashMap<Vec<u8>, (Sum, Sum)>);

impl ValueSums {
    fn expect(&mut self, value: &[u8], row: u32) {
        self.0.entry(value.to_vec()).or_default().0.add(value, row);
    }

    fn store(&mut self, value: &[u8], row: u32) {
        self.0.entry(value.to_vec()).or_default().1.add(value, row);
    }

    /// Reports the values of a kind whose stored entries are not the expected ones.
    fn end(self, findings: &mut Findings, of: Noun, name: &str, kind: i64) {
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
