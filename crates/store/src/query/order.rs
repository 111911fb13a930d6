//! A part of a set of rows, of issues or of core profiles, in order. A small set is sorted. Of a
//! large set the days are walked from the beginning of the part: the set of a day says how many
//! matches the day has, so whole days are passed over by counting, and only rows of the part's own
//! days are looked at one by one. The cost depends on the days that are passed, not on the rows of
//! the domain.

use caseload_model::issue_query::{SortKey, SortOrder};
use roaring::RoaringBitmap;

use super::days::{DaySplit, Days, instants_of};
use super::plan::Part;
use super::source::TimedRows;
use super::stored_sets::TimedRow;
use super::thresholds::Thresholds;
use crate::StoreError;

/// Decides what no set decides, row by row.
pub trait RowTest {
    /// How many rows to test together next if only the first ones that pass are wanted.
    fn at_once(&self) -> usize;

    /// Reports of each row in turn whether it passes, until `report` returns false.
    fn test(
        &mut self,
        rows: &[u32],
        report: &mut dyn FnMut(u32, bool) -> bool,
    ) -> Result<(), StoreError>;
}

/// For a list that sets decide alone.
#[derive(Debug)]
pub enum NoTest {}

impl RowTest for NoTest {
    fn at_once(&self) -> usize {
        match *self {}
    }

    fn test(&mut self, _: &[u32], _: &mut dyn FnMut(u32, bool) -> bool) -> Result<(), StoreError> {
        match *self {}
    }
}

/// Entries of an index that are read in the time of looking up one row.
const ENTRIES_PER_LOOKUP: u64 = 8;

/// How a set is put in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ordering {
    Sort,
    WalkDays,
}

impl Ordering {
    /// The cheaper way, from the size of the set.
    pub(super) const fn of(rows: u64, thresholds: Thresholds) -> Self {
        if rows <= thresholds.sorted_max { Self::Sort } else { Self::WalkDays }
    }
}

/// The rows of a part of `found`. If there is a test, only rows that pass belong to the list.
pub fn rows<S: TimedRows, T: RowTest>(
    source: &S,
    found: &RoaringBitmap,
    part: Part,
    test: Option<&mut T>,
) -> Result<Vec<u32>, StoreError> {
    let mut page = PageRows {
        source,
        part,
        test,
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
struct PageRows<'r, 't, S, T> {
    source: &'r S,
    /// The part that remains to be passed over and to be taken.
    part: Part,
    test: Option<&'t mut T>,
    /// Rows that belong to the list if they pass, in order.
    untested: Vec<u32>,
    rows: Vec<u32>,
    batch: DayBatch,
}

/// Days whose matches are looked at together, in one question.
#[derive(Default)]
struct DayBatch {
    /// The first and the last day.
    days: Option<(i64, i64)>,
    /// Rows of these days.
    rows: u64,
    /// The matches among them.
    found: RoaringBitmap,
}

impl<S: TimedRows, T: RowTest> PageRows<'_, '_, S, T> {
    /// Takes the next row; returns false once the part is full.
    fn take(&mut self, row: TimedRow) -> Result<bool, StoreError> {
        let Self { part, .. } = self;
        let ascending = part.sort.order == SortOrder::Ascending;
        let follows = part.after.is_none_or(|after| {
            let has_ties = part.sort.key != SortKey::CreationTime || !S::CREATED_ONE_BY_ONE;
            let id = if has_ties { row.id } else { after.id };
            let (place, after) = ((row.at, id), (after.at, after.id));
            if ascending { place > after } else { place < after }
        });
        if !follows {
            return Ok(true);
        }
        if part.offset > 0 {
            part.offset -= 1;
            return Ok(true);
        }
        if let Some(test) = &self.test {
            self.untested.push(row.row);
            if self.untested.len() >= test.at_once() {
                self.test()?;
            }
        } else {
            part.limit -= 1;
            self.rows.push(row.row);
        }
        Ok(self.part.limit > 0)
    }

    /// Takes the untested rows that pass.
    fn test(&mut self) -> Result<(), StoreError> {
        let Self { part, test, untested, rows, .. } = self;
        let Some(test) = test.as_mut().filter(|_| part.limit > 0) else { return Ok(()) };
        test.test(untested, &mut |row, passes| {
            if passes {
                part.limit -= 1;
                rows.push(row);
            }
            part.limit > 0
        })?;
        untested.clear();
        Ok(())
    }

    /// Sorts the rows and takes them.
    fn sort(&mut self, found: &RoaringBitmap) -> Result<(), StoreError> {
        let sort = self.part.sort;
        let mut rows = Vec::with_capacity(found.len() as usize);
        self.source.sets().instants(sort.key, found, |row| rows.push(row))?;
        rows.sort_unstable();
        if sort.order == SortOrder::Descending {
            rows.reverse();
        }
        for row in rows {
            if !self.take(row)? {
                break;
            }
        }
        Ok(())
    }

    fn walk_days(&mut self, found: &RoaringBitmap) -> Result<(), StoreError> {
        let (source, Part { sort, range, .. }) = (self.source, self.part);
        let days = DaySplit::of(range).touched();
        source.sets().walk_days(sort.key, sort.order, days, |day, rows| {
            self.add_day(day, rows, found)?;
            Ok(self.part.limit > 0)
        })?;
        self.take_batch()
    }

    /// Passes over the matches of one day, which has these `rows`, or adds them to the batch. The
    /// batch is taken once it may have enough matches.
    fn add_day(
        &mut self,
        day: i64,
        rows: &RoaringBitmap,
        found: &RoaringBitmap,
    ) -> Result<(), StoreError> {
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
        batch.rows += rows.len();
        batch.found |= rows & found;
        if batch.found.len() < self.part.offset + self.part.limit {
            return Ok(());
        }
        self.take_batch()
    }

    /// Passes over or takes the matches of the batch.
    fn take_batch(&mut self) -> Result<(), StoreError> {
        let DayBatch { days, rows, found } = std::mem::take(&mut self.batch);
        let Some((from, until)) = days else { return Ok(()) };
        let (source, Part { sort, after, offset, limit, .. }) = (self.source, self.part);
        // A walk ends early if the days have more matches than the part takes.
        let taken = found.len().min(offset.saturating_add(limit));
        let walked = rows.saturating_mul(taken).checked_div(found.len()).unwrap_or_default();
        if found.len() * ENTRIES_PER_LOOKUP < walked {
            return self.sort(&found);
        }
        let mut span = instants_of(Days { from, until });
        let at = after.map(|position| position.at);
        match sort.order {
            SortOrder::Ascending => span.since = span.since.max(at),
            SortOrder::Descending => span.until = [span.until, at].into_iter().flatten().min(),
        }
        source.walk_span(sort.key, sort.order, span, |row| {
            Ok(!found.contains(row.row) || self.take(row)?)
        })
    }
}
