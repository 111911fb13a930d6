//! A part of a set of issues, in order. A small set is sorted by itself. Of a large one the days
//! are walked, from where the list begins: the set of a day tells how many matches it has, so that
//! whole days are passed over by counting, and only the days of the part are looked at one issue at
//! a time. Neither depends on how many issues the domain has, but for the days.

use caseload_model::issue_query::{IssueQuery, ListPosition, Sort, SortKey, SortOrder, TimeRange};
use caseload_model::time::{DAY_MS, UnixMillis};
use roaring::RoaringBitmap;

use super::reads::{IssueReads, PlacedRow};
use super::tally::split;
use super::texts::Texts;
use crate::StoreError;

/// Up to this many matches are sorted rather than looked for day by day.
const SORTED_MAX: u64 = if cfg!(test) { 3 } else { 1000 };
/// Entries of an index that are passed in the time of looking up one issue.
const ENTRIES_PER_LOOKUP: u64 = 8;

/// Where a part of a list begins and where it ends at the latest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Only what comes after it.
    pub(super) after: Option<ListPosition>,
    /// Issues to be passed over; 0 where single issues are tested.
    pub(super) offset: u64,
    pub(super) limit: u64,
}

/// The rows of a part of the set `found`, which holds what the query's own span of time holds.
/// Where there are tests of texts, only issues that pass them belong to the list.
pub(super) fn rows<R: IssueReads>(
    reads: &R,
    found: &RoaringBitmap,
    query: &IssueQuery,
    part: Part,
    texts: Option<&mut Texts<'_>>,
) -> Result<Vec<u32>, StoreError> {
    let sort = query.sort;
    let mut walk = Walk {
        reads,
        sort,
        part,
        texts,
        untested: Vec::new(),
        rows: Vec::new(),
        gathered: Gathered::default(),
    };
    if part.limit == 0 {
        return Ok(walk.rows);
    }
    if found.len() <= SORTED_MAX {
        walk.sorted(found)?;
    } else {
        let mut range = match sort.key {
            SortKey::CreationTime => query.created,
            SortKey::UpdateTime => query.updated,
            SortKey::StateChangeTime => query.changed,
        };
        let after = part.after.map(|position| position.at);
        if sort.order == SortOrder::Ascending {
            range.since = range.since.max(after);
        } else {
            range.until = [range.until, after].into_iter().flatten().min();
        }
        walk.day_by_day(found, range)?;
    }
    walk.test()?;
    Ok(walk.rows)
}

struct Walk<'r, 't, 'p, R> {
    reads: &'r R,
    sort: Sort,
    /// What is still to be passed over and to be taken.
    part: Part,
    texts: Option<&'t mut Texts<'p>>,
    /// Issues of the list if their texts pass, in order.
    untested: Vec<u32>,
    rows: Vec<u32>,
    gathered: Gathered,
}

/// Days whose matches are looked at together, one question for all of them.
#[derive(Default)]
struct Gathered {
    /// The first and the last one.
    days: Option<(i64, i64)>,
    /// Issues of these days, and those that match.
    issues: u64,
    found: RoaringBitmap,
}

impl<R: IssueReads> Walk<'_, '_, '_, R> {
    /// Takes the next issue; false when the part is full.
    fn take(&mut self, issue: PlacedRow) -> Result<bool, StoreError> {
        let ascending = self.sort.order == SortOrder::Ascending;
        let is_past = self.part.after.is_none_or(|after| {
            // Instants of creation are unique; their index does not hold the id.
            let has_ties = self.sort.key != SortKey::CreationTime;
            let id = if has_ties { issue.id } else { after.id };
            let (place, after) = ((issue.at, id), (after.at, after.id));
            if ascending { place > after } else { place < after }
        });
        if !is_past {
            return Ok(true);
        }
        if self.part.offset > 0 {
            self.part.offset -= 1;
            return Ok(true);
        }
        if self.texts.is_some() {
            self.untested.push(issue.row);
            if self.untested.len() >= R::TEXTS_AT_ONCE {
                self.test()?;
            }
        } else {
            self.part.limit -= 1;
            self.rows.push(issue.row);
        }
        Ok(self.part.limit > 0)
    }

    /// Takes those issues whose texts pass.
    fn test(&mut self) -> Result<(), StoreError> {
        let Self { reads, part, texts, untested, rows, .. } = self;
        let Some(texts) = texts.as_mut().filter(|_| part.limit > 0) else { return Ok(()) };
        texts.test(*reads, untested, |row, holds| {
            if holds {
                part.limit -= 1;
                rows.push(row);
            }
            part.limit > 0
        })?;
        untested.clear();
        Ok(())
    }

    /// Sorts the issues and takes them.
    fn sorted(&mut self, found: &RoaringBitmap) -> Result<(), StoreError> {
        let mut issues = Vec::with_capacity(found.len() as usize);
        self.reads.instants(self.sort.key, found, |issue| issues.push(issue))?;
        issues.sort_unstable();
        if self.sort.order == SortOrder::Descending {
            issues.reverse();
        }
        for issue in issues {
            if !self.take(issue)? {
                break;
            }
        }
        Ok(())
    }

    fn day_by_day(&mut self, found: &RoaringBitmap, range: TimeRange) -> Result<(), StoreError> {
        let (reads, Sort { key, order }) = (self.reads, self.sort);
        reads.walk_days(key, order, split(range).touched(), |day, rows| {
            self.day(day, rows, found)?;
            Ok(self.part.limit > 0)
        })?;
        self.look()
    }

    /// Passes over the matches of one day, whose issues are `rows`, or gathers them until there may
    /// be enough.
    fn day(
        &mut self,
        day: i64,
        rows: &RoaringBitmap,
        found: &RoaringBitmap,
    ) -> Result<(), StoreError> {
        let gathered = &mut self.gathered;
        let matches = rows.intersection_len(found);
        if gathered.days.is_none() && matches <= self.part.offset {
            self.part.offset -= matches;
            return Ok(());
        }
        gathered.days = match gathered.days {
            None => Some((day, day)),
            Some((first, last)) => Some((first.min(day), last.max(day))),
        };
        gathered.issues += rows.len();
        gathered.found |= rows & found;
        if gathered.found.len() < self.part.offset + self.part.limit {
            return Ok(());
        }
        self.look()
    }

    /// Passes over or takes the matches of the days that were gathered.
    fn look(&mut self) -> Result<(), StoreError> {
        let Gathered { days, issues, found } = std::mem::take(&mut self.gathered);
        let Some((first, last)) = days else { return Ok(()) };
        if found.len() * ENTRIES_PER_LOOKUP < issues {
            return self.sorted(&found);
        }
        let at = |at| Some(UnixMillis(at));
        let span = TimeRange { since: at(first * DAY_MS), until: at((last + 1) * DAY_MS - 1) };
        let (reads, Sort { key, order }) = (self.reads, self.sort);
        reads.walk_span(key, order, span, |issue| {
            Ok(!found.contains(issue.row) || self.take(issue)?)
        })
    }
}
