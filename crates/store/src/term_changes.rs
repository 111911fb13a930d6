//! The changes of the term sets of one domain, of issues or of profiles: which rows enter and leave
//! the set of each term. They add up until a chunk or command ends; the backend then writes each
//! set once, block by block. Invariant: a row that enters a set is not in it, and one that leaves
//! is.

use caseload_model::issue::TermKind;
use foldhash::HashMap;
use roaring::RoaringBitmap;

use crate::StoreError;
use crate::rowset::{block_of, decode, encode};

/// Whether a row enters or leaves a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermStep {
    Leaves,
    Enters,
}

/// Rows with their steps.
type Steps = Vec<(u32, TermStep)>;

/// Steps of rows, added up by kind and value. A row may occur several times; its first and its last
/// step count.
#[derive(Debug, Default)]
pub struct TermChanges {
    /// Places in `steps`, by kind and value.
    places: HashMap<Box<[u8]>, usize>,
    steps: Vec<Steps>,
    /// A buffer for keys.
    key: Vec<u8>,
}

impl TermChanges {
    /// Notes the step of a row.
    pub fn step(&mut self, kind: TermKind, value: &[u8], row: u32, step: TermStep) {
        let steps = self.steps_of(kind, value);
        if step == TermStep::Enters && steps.last() == Some(&(row, TermStep::Leaves)) {
            // It stays.
            steps.pop();
        } else {
            steps.push((row, step));
        }
    }

    /// Notes that these rows enter a term.
    pub fn enter(&mut self, kind: TermKind, value: &[u8], rows: &[u32]) {
        self.steps_of(kind, value).extend(rows.iter().map(|row| (*row, TermStep::Enters)));
    }

    fn steps_of(&mut self, kind: TermKind, value: &[u8]) -> &mut Steps {
        let Self { places, steps, key } = self;
        key.clear();
        key.push(kind as u8);
        key.extend_from_slice(value);
        let place = places.get(key.as_slice()).copied().unwrap_or_else(|| {
            places.insert(key.as_slice().into(), steps.len());
            steps.push(Vec::new());
            steps.len() - 1
        });
        &mut steps[place]
    }

    /// The net changes, in the order of their keys.
    pub fn finish(self) -> TermUpdates {
        let Self { places, mut steps, .. } = self;
        let mut terms: Vec<_> = places
            .into_iter()
            .map(|(key, place)| (key, net(std::mem::take(&mut steps[place]))))
            .filter(|(_, steps)| !steps.is_empty())
            .collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        TermUpdates(terms)
    }
}

/// The net steps of one term: rows that leave it and rows that enter it.
fn net(mut steps: Steps) -> Steps {
    // The steps of new rows come in the order of the rows, one for each.
    if steps.is_sorted_by(|a, b| a.0 < b.0) {
        return steps;
    }
    // The sort is stable: the steps of a row stay in order.
    steps.sort_by_key(|(row, _)| *row);
    steps
        .chunk_by(|a, b| a.0 == b.0)
        // A row whose first step leaves was in the term. A row whose last step enters is in it.
        .filter(|steps| steps[0].1 == steps[steps.len() - 1].1)
        .map(|steps| steps[0])
        .collect()
}

/// Net changes: each row of a term at most once.
#[derive(Debug, Default)]
pub struct TermUpdates(Vec<(Box<[u8]>, Steps)>);

impl TermUpdates {
    /// The changes of each term, block by block.
    pub fn each(&self) -> impl Iterator<Item = TermUpdate<'_>> {
        self.0.iter().flat_map(|(key, steps)| {
            let (code, value) = key.split_first().unwrap_or((&0, &[]));
            let kind = TermKind::from_code((*code).into());
            let blocks = steps.chunk_by(|a, b| block_of(a.0) == block_of(b.0));
            blocks.filter_map(move |steps| {
                let block = block_of(steps.first()?.0);
                Some(TermUpdate { kind: kind?, value, block, steps })
            })
        })
    }
}

/// Rows of one block that enter or leave a term.
#[derive(Debug, Clone, Copy)]
pub struct TermUpdate<'s> {
    pub kind: TermKind,
    pub value: &'s [u8],
    pub block: u32,
    /// Ascending; each row once.
    pub steps: &'s [(u32, TermStep)],
}

impl TermUpdate<'_> {
    /// Whether all rows enter the term.
    pub fn enters(&self) -> bool {
        self.steps.iter().all(|(_, step)| *step == TermStep::Enters)
    }

    /// The set after the changes, from the stored one; `None` if it is empty.
    pub fn applied_to(&self, stored: Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
        let mut rows = RoaringBitmap::new();
        if let Some(stored) = stored {
            decode(self.block, stored, &mut rows)?;
        }
        for (row, step) in self.steps {
            let enters = *step == TermStep::Enters;
            if !if enters { rows.insert(*row) } else { rows.remove(*row) } {
                return Err(not_in_term(self.kind));
            }
        }
        if rows.is_empty() { Ok(None) } else { encode(&mut rows).map(Some) }
    }
}

/// The error for a row that leaves a term it is not in, or enters one it is in.
pub fn not_in_term(kind: TermKind) -> StoreError {
    let kind = kind.as_str();
    StoreError::Corrupt(format!("a row enters a term of kind {kind} twice, or leaves it twice"))
}
