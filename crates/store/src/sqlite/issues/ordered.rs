//! A page of a set of issues, in order. A small set is sorted by itself. Of a large one only the
//! days are walked, from the end at which the list begins: the set of a day tells how many matches
//! it has, so that whole days are passed over by counting, and only the days of the page are looked
//! at one issue at a time. Neither depends on how many issues the domain has, but for the days.

use caseload_model::issue::{day_term, term_day};
use caseload_model::issue_query::{Sort, SortKey, SortOrder, TimeRange};
use caseload_model::time::DAY_MS;
use roaring::RoaringBitmap;
use rusqlite::params;

use super::rowset::{decode, row_number};
use super::sets::{Sets, blob, column_of, kind_of};
use super::sql::Index;
use super::tally::split;
use crate::StoreError;

/// Up to this many matches are sorted rather than looked for day by day.
const SORTED_MAX: u64 = 1000;
/// Entries of an index that are passed in the time of looking up one issue.
const ENTRIES_PER_LOOKUP: u64 = 8;

/// A part of a list: `limit` issues from the `offset`th on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) limit: u64,
}

/// The rows of a part of the set `found`, in order. No issue of the set lies outside of `range` by
/// the time it is sorted by.
pub(super) fn rows(
    sets: Sets<'_>,
    found: &RoaringBitmap,
    sort: Sort,
    range: TimeRange,
    part: Part,
) -> Result<Vec<i64>, StoreError> {
    let mut page = Page { sets, sort, part, rows: Vec::new() };
    if found.len() <= SORTED_MAX {
        page.sorted(found)?;
    } else {
        page.day_by_day(found, range)?;
    }
    Ok(page.rows)
}

struct Page<'c> {
    sets: Sets<'c>,
    sort: Sort,
    /// What is still to be passed over and to be taken.
    part: Part,
    rows: Vec<i64>,
}

impl Page<'_> {
    /// Takes the next issue; false when the page is full.
    fn take(&mut self, row: u32) -> bool {
        if self.part.offset > 0 {
            self.part.offset -= 1;
        } else if self.part.limit > 0 {
            self.part.limit -= 1;
            self.rows.push(row.into());
        }
        self.part.limit > 0
    }

    /// Sorts the issues and takes them.
    fn sorted(&mut self, found: &RoaringBitmap) -> Result<(), StoreError> {
        let mut keys = Vec::with_capacity(found.len() as usize);
        let mut instants = self.sets.instants(self.sort.key)?;
        for row in found {
            let (at, id) = instants.of(row)?;
            keys.push((at, id, row));
        }
        keys.sort_unstable();
        if self.sort.order == SortOrder::Descending {
            keys.reverse();
        }
        for (_, _, row) in keys {
            if !self.take(row) {
                break;
            }
        }
        Ok(())
    }

    fn day_by_day(&mut self, found: &RoaringBitmap, range: TimeRange) -> Result<(), StoreError> {
        let order = direction(self.sort.order);
        let mut select = self.sets.conn.prepare_cached(&format!(
            "SELECT value, block, rows FROM issue_sets
             WHERE domain_id = ?1 AND kind = ?2 AND value BETWEEN ?3 AND ?4
             ORDER BY value {order}, block {order}"
        ))?;
        let days = split(range).touched();
        let (from, until) = (day_term(days.from), day_term(days.until));
        let kind = kind_of(self.sort.key).code();
        let mut stored = select.query(params![self.sets.domain.0, kind, from, until])?;
        let mut day: Option<i64> = None;
        let mut rows = RoaringBitmap::new();
        while let Some(row) = stored.next()? {
            let of = term_day(blob(row, 0)?)
                .ok_or_else(|| StoreError::Corrupt("a set of a day without a day".to_owned()))?;
            if let Some(day) = day.filter(|day| *day != of) {
                self.day(day, &rows, found)?;
                rows.clear();
                if self.part.limit == 0 {
                    return Ok(());
                }
            }
            day = Some(of);
            decode(row.get(1)?, blob(row, 2)?, &mut rows)?;
        }
        if let Some(day) = day {
            self.day(day, &rows, found)?;
        }
        Ok(())
    }

    /// Passes over or takes the matches of one day, whose issues are `rows`.
    fn day(
        &mut self,
        day: i64,
        rows: &RoaringBitmap,
        found: &RoaringBitmap,
    ) -> Result<(), StoreError> {
        let matches = rows.intersection_len(found);
        if matches == 0 || matches <= self.part.offset {
            self.part.offset -= matches;
            return Ok(());
        }
        let found = rows & found;
        if matches * ENTRIES_PER_LOOKUP < rows.len() {
            return self.sorted(&found);
        }
        let (index, column) = (Index::of_order(self.sort.key).name(), column_of(self.sort.key));
        let order = direction(self.sort.order);
        // Instants of creation are unique: there are no ties for the id to settle.
        let ties = match self.sort.key {
            SortKey::CreationTime => String::new(),
            SortKey::UpdateTime | SortKey::StateChangeTime => format!(", id {order}"),
        };
        let mut select = self.sets.conn.prepare_cached(&format!(
            "SELECT row FROM issues INDEXED BY {index}
             WHERE domain_id = ?1 AND {column} BETWEEN ?2 AND ?3
             ORDER BY {column} {order}{ties}"
        ))?;
        let (since, until) = (day * DAY_MS, (day + 1) * DAY_MS - 1);
        let mut stored = select.query(params![self.sets.domain.0, since, until])?;
        while let Some(row) = stored.next()? {
            let row = row_number(row.get(0)?)?;
            if found.contains(row) && !self.take(row) {
                break;
            }
        }
        Ok(())
    }
}

const fn direction(order: SortOrder) -> &'static str {
    match order {
        SortOrder::Ascending => "ASC",
        SortOrder::Descending => "DESC",
    }
}
