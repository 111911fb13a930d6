//! How the sets of a query's terms are asked for: one after the other while they are cut, so that
//! nothing is read for a set that is empty already, or noted first and asked for all at once, where
//! each question is a round trip. Invariant: the query asks for the same terms in the same order,
//! whatever the answers are, but that it may stop early.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use caseload_model::issue::TermKind;
use roaring::RoaringBitmap;

use super::reads::{IssueReads, Wanted};
use crate::StoreError;

/// The questions about terms.
pub(super) trait Terms {
    fn any(&self, kind: TermKind, values: &[impl AsRef<[u8]>])
    -> Result<RoaringBitmap, StoreError>;

    fn between(
        &self,
        kind: TermKind,
        from: &[u8],
        until: &[u8],
    ) -> Result<RoaringBitmap, StoreError>;

    fn ids(&self, ids: &[u64]) -> Result<RoaringBitmap, StoreError>;

    fn agents(&self, visit: impl FnMut(&str, &str)) -> Result<(), StoreError>;

    fn term(&self, kind: TermKind, value: &[u8]) -> Result<RoaringBitmap, StoreError> {
        self.any(kind, &[value])
    }
}

/// Asks at once, about the blocks that are of interest.
pub(super) struct Direct<'r, R> {
    pub(super) reads: &'r R,
    pub(super) blocks: RangeInclusive<u32>,
}

impl<R: IssueReads> Terms for Direct<'_, R> {
    fn any(
        &self,
        kind: TermKind,
        values: &[impl AsRef<[u8]>],
    ) -> Result<RoaringBitmap, StoreError> {
        self.reads.any_in(kind, values, self.blocks.clone())
    }

    fn between(
        &self,
        kind: TermKind,
        from: &[u8],
        until: &[u8],
    ) -> Result<RoaringBitmap, StoreError> {
        self.reads.between(kind, from, until)
    }

    fn ids(&self, ids: &[u64]) -> Result<RoaringBitmap, StoreError> {
        self.reads.ids(ids)
    }

    fn agents(&self, visit: impl FnMut(&str, &str)) -> Result<(), StoreError> {
        self.reads.agents(visit)
    }
}

/// Notes which terms are asked for, and answers nothing.
pub(super) struct Noted<'r, R> {
    reads: &'r R,
    wanted: RefCell<Vec<Wanted>>,
}

impl<'r, R: IssueReads> Noted<'r, R> {
    pub(super) fn new(reads: &'r R) -> Self {
        Self { reads, wanted: RefCell::default() }
    }

    /// Asks for all that was noted.
    pub(super) fn ask(self) -> Result<Answers<'r, R>, StoreError> {
        let wanted = self.wanted.into_inner();
        let answers = if wanted.is_empty() { Vec::new() } else { self.reads.sets(&wanted)? };
        Ok(Answers { reads: self.reads, left: RefCell::new(answers.into_iter()) })
    }
}

impl<R: IssueReads> Terms for Noted<'_, R> {
    fn any(
        &self,
        kind: TermKind,
        values: &[impl AsRef<[u8]>],
    ) -> Result<RoaringBitmap, StoreError> {
        let values = values.iter().map(|value| value.as_ref().to_vec()).collect();
        self.wanted.borrow_mut().push(Wanted { kind, values });
        Ok(RoaringBitmap::new())
    }

    fn between(&self, _: TermKind, _: &[u8], _: &[u8]) -> Result<RoaringBitmap, StoreError> {
        Ok(RoaringBitmap::new())
    }

    fn ids(&self, _: &[u64]) -> Result<RoaringBitmap, StoreError> {
        Ok(RoaringBitmap::new())
    }

    fn agents(&self, visit: impl FnMut(&str, &str)) -> Result<(), StoreError> {
        self.reads.agents(visit)
    }
}

/// Answers what was noted, in its order; everything else is asked now.
pub(super) struct Answers<'r, R> {
    reads: &'r R,
    left: RefCell<std::vec::IntoIter<RoaringBitmap>>,
}

impl<R: IssueReads> Terms for Answers<'_, R> {
    fn any(
        &self,
        kind: TermKind,
        values: &[impl AsRef<[u8]>],
    ) -> Result<RoaringBitmap, StoreError> {
        match self.left.borrow_mut().next() {
            Some(rows) => Ok(rows),
            None => self.reads.any(kind, values),
        }
    }

    fn between(
        &self,
        kind: TermKind,
        from: &[u8],
        until: &[u8],
    ) -> Result<RoaringBitmap, StoreError> {
        self.reads.between(kind, from, until)
    }

    fn ids(&self, ids: &[u64]) -> Result<RoaringBitmap, StoreError> {
        self.reads.ids(ids)
    }

    fn agents(&self, visit: impl FnMut(&str, &str)) -> Result<(), StoreError> {
        self.reads.agents(visit)
    }
}
