//! A part of a set of issues, in order. A small set is sorted. Of a large set the days are walked
//! from the beginning of the part: the set of a day says how many matches the day has, so whole
//! days are passed over by counting, and only issues of the part's own days are looked at one by
//! one. The cost depends on the days that are passed, not on the issues of the domain.

use caseload_model::issue_query::{SortKey, SortOrder};
use roaring::RoaringBitmap;

use super::days::{DaySplit, Days, instants_of};
use super::plan::Part;
use super::source::{Source, TimedRow};
use super::texts::TextTest;
use super::thresholds::Thresholds;

/// Entries of an index that are read in the time of looking up one issue.
const ENTRIES_PER_LOOKUP: u64 = 8;

/// How a set is put in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ordering {
    Sort,
    WalkDays,
}

impl Ordering {
    /// The cheaper way, from the size of the set.
    pub(super) const fn of(issues: u64, thresholds: Thresholds) -> Self {
        if issues <= thresholds.sorted_max { Self::Sort } else { Self::WalkDays }
    }
}

/// The rows of a part of `found`. If texts are tested, only issues that pass belong to the list.
pub(super) fn rows<S: Source>(
    source: &S,
    found: &RoaringBitmap,
    part: Part,
    texts: Option<&mut TextTest<'_>>,
) -> Result<Vec<u32>, S::Error> {
    let mut page = PageRows {
        source,
        part,
        texts,
        untested: Vec::new(),
        rows: Vec::new(),
        batch: DayBatch::default(),
    };
    if part.limit == 0 {
        return Ok(page.rows);
    }
    match Ordering::of(found.len(), source.thresholds()) {
        Ordering::Sort => page.sort(found)?,
        Ordering::WalkDays => page.walk_days(found)?,
    }
    page.test()?;
    Ok(page.rows)
}

/// The rows of a page while they are gathered.
struct PageRows<'r, 't, 'p, S> {
    source: &'r S,
    /// The part that remains to be passed over and to be taken.
    part: Part,
    texts: Option<&'t mut TextTest<'p>>,
    /// Issues that belong to the list if their texts pass, in order.
    untested: Vec<u32>,
    rows: Vec<u32>,
    batch: DayBatch,
}

/// Days whose matches are looked at together, in one question.
#[derive(Default)]
struct DayBatch {
    /// The first and the last day.
    days: Option<(i64, i64)>,
    /// Issues of these days.
    issues: u64,
    /// The matches among them.
    found: RoaringBitmap,
}

impl<S: Source> PageRows<'_, '_, '_, S> {
    /// Takes the next issue; returns false once the part is full.
    fn take(&mut self, issue: TimedRow) -> Result<bool, S::Error> {
        let Self { part, .. } = self;
        let ascending = part.sort.order == SortOrder::Ascending;
        let follows = part.after.is_none_or(|after| {
            // Instants of creation are unique; their index does not hold the id.
            let has_ties = part.sort.key != SortKey::CreationTime;
            let id = if has_ties { issue.id } else { after.id };
            let (place, after) = ((issue.at, id), (after.at, after.id));
            if ascending { place > after } else { place < after }
        });
        if !follows {
            return Ok(true);
        }
        if part.offset > 0 {
            part.offset -= 1;
            return Ok(true);
        }
        if self.texts.is_some() {
            self.untested.push(issue.row);
            if self.untested.len() >= S::TEXTS_PER_QUESTION {
                self.test()?;
            }
        } else {
            part.limit -= 1;
            self.rows.push(issue.row);
        }
        Ok(self.part.limit > 0)
    }

    /// Takes the untested issues whose texts pass.
    fn test(&mut self) -> Result<(), S::Error> {
        let Self { source, part, texts, untested, rows, .. } = self;
        let Some(texts) = texts.as_mut().filter(|_| part.limit > 0) else { return Ok(()) };
        texts.test(*source, untested, |row, passes| {
            if passes {
                part.limit -= 1;
                rows.push(row);
            }
            part.limit > 0
        })?;
        untested.clear();
        Ok(())
    }

    /// Sorts the issues and takes them.
    fn sort(&mut self, found: &RoaringBitmap) -> Result<(), S::Error> {
        let sort = self.part.sort;
        let mut issues = Vec::with_capacity(found.len() as usize);
        self.source.instants(sort.key, found, |issue| issues.push(issue))?;
        issues.sort_unstable();
        if sort.order == SortOrder::Descending {
            issues.reverse();
        }
        for issue in issues {
            if !self.take(issue)? {
                break;
            }
        }
        Ok(())
    }

    fn walk_days(&mut self, found: &RoaringBitmap) -> Result<(), S::Error> {
        let (source, Part { sort, range, .. }) = (self.source, self.part);
        let days = DaySplit::of(range).touched();
        source.walk_days(sort.key, sort.order, days, |day, rows| {
            self.add_day(day, rows, found)?;
            Ok(self.part.limit > 0)
        })?;
        self.take_batch()
    }

    /// Passes over the matches of one day, whose issues are `rows`, or adds them to the batch. The
    /// batch is taken once it may have enough matches.
    fn add_day(
        &mut self,
        day: i64,
        rows: &RoaringBitmap,
        found: &RoaringBitmap,
    ) -> Result<(), S::Error> {
        let batch = &mut self.batch;
        let matches = rows.intersection_len(found);
        if batch.days.is_none() && matches <= self.part.offset {
            self.part.offset -= matches;
            return Ok(());
        }
        batch.days = match batch.days {
            None => Some((day, day)),
            Some((first, last)) => Some((first.min(day), last.max(day))),
        };
        batch.issues += rows.len();
        batch.found |= rows & found;
        if batch.found.len() < self.part.offset + self.part.limit {
            return Ok(());
        }
        self.take_batch()
    }

    /// Passes over or takes the matches of the batch.
    fn take_batch(&mut self) -> Result<(), S::Error> {
        let DayBatch { days, issues, found } = std::mem::take(&mut self.batch);
        let Some((from, until)) = days else { return Ok(()) };
        if found.len() * ENTRIES_PER_LOOKUP < issues {
            return self.sort(&found);
        }
        let (source, sort) = (self.source, self.part.sort);
        source.walk_span(sort.key, sort.order, instants_of(Days { from, until }), |issue| {
            Ok(!found.contains(issue.row) || self.take(issue)?)
        })
    }
}
