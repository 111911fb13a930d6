//! A part of a set of issues, in order. A small set is sorted by itself. Of a large one the days
//! are walked, from where the list begins: the set of a day tells how many matches it has, so that
//! whole days are passed over by counting, and only the days of the part are looked at one issue at
//! a time. Neither depends on how many issues the domain has, but for the days.

use caseload_model::issue::{day_term, term_day};
use caseload_model::issue_query::{IssueQuery, Position, Sort, SortKey, SortOrder, TimeRange};
use caseload_model::time::{DAY_MS, UnixMillis};
use roaring::RoaringBitmap;
use rusqlite::params;

use super::rowset::{decode, row_number};
use super::sets::{Sets, blob, column_of, kind_of};
use super::sql::Index;
use super::tally::split;
use crate::StoreError;

/// Up to this many matches are sorted rather than looked for day by day.
const SORTED_MAX: u64 = if cfg!(test) { 3 } else { 1000 };
/// Entries of an index that are passed in the time of looking up one issue.
const ENTRIES_PER_LOOKUP: u64 = 8;

/// Where a part of a list begins and where it ends at the latest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Only what comes after it.
    pub(super) after: Option<Position>,
    /// Issues to be passed over; 0 where single issues are tested.
    pub(super) offset: u64,
    pub(super) limit: u64,
}

/// Whether the issue in a row belongs to the list, where its set does not tell.
pub(super) type Test<'t> = &'t mut dyn FnMut(u32) -> Result<bool, StoreError>;

/// The rows of a part of the set `found`, which holds what the query's own span of time holds.
pub(super) fn rows(
    sets: Sets<'_>,
    found: &RoaringBitmap,
    query: &IssueQuery,
    part: Part,
    test: Option<Test<'_>>,
) -> Result<Vec<i64>, StoreError> {
    let sort = query.sort;
    let mut walk = Walk { sets, sort, part, test, rows: Vec::new() };
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
    Ok(walk.rows)
}

struct Walk<'c, 't> {
    sets: Sets<'c>,
    sort: Sort,
    /// What is still to be passed over and to be taken.
    part: Part,
    test: Option<Test<'t>>,
    rows: Vec<i64>,
}

impl Walk<'_, '_> {
    /// Takes the next issue; false when the part is full.
    fn take(&mut self, row: u32, at: UnixMillis, id: i64) -> Result<bool, StoreError> {
        let ascending = self.sort.order == SortOrder::Ascending;
        let is_past = self.part.after.is_none_or(|after| {
            // Instants of creation are unique; their index does not hold the id.
            let has_ties = self.sort.key != SortKey::CreationTime;
            let id = if has_ties { id.unsigned_abs() } else { after.id };
            let (place, after) = ((at, id), (after.at, after.id));
            if ascending { place > after } else { place < after }
        });
        if !is_past {
            return Ok(true);
        }
        if self.part.offset > 0 {
            self.part.offset -= 1;
            return Ok(true);
        }
        let belongs = match &mut self.test {
            Some(test) => test(row)?,
            None => true,
        };
        if belongs {
            self.part.limit -= 1;
            self.rows.push(row.into());
        }
        Ok(self.part.limit > 0)
    }

    /// Sorts the issues and takes them.
    fn sorted(&mut self, found: &RoaringBitmap) -> Result<(), StoreError> {
        let mut keys = Vec::with_capacity(found.len() as usize);
        let sets = self.sets;
        let mut instants = sets.instants(self.sort.key)?;
        for row in found {
            let (at, id) = instants.of(row)?;
            keys.push((at, id, row));
        }
        keys.sort_unstable();
        if self.sort.order == SortOrder::Descending {
            keys.reverse();
        }
        for (at, id, row) in keys {
            if !self.take(row, at, id)? {
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
        match day {
            Some(day) => self.day(day, &rows, found),
            None => Ok(()),
        }
    }

    /// Passes over or takes the matches of one day, whose issues are `rows`.
    fn day(
        &mut self,
        day: i64,
        rows: &RoaringBitmap,
        found: &RoaringBitmap,
    ) -> Result<(), StoreError> {
        let matches = rows.intersection_len(found);
        if matches <= self.part.offset {
            self.part.offset -= matches;
            return Ok(());
        }
        let found = rows & found;
        if matches * ENTRIES_PER_LOOKUP < rows.len() {
            return self.sorted(&found);
        }
        let (index, column) = (Index::of_order(self.sort.key).name(), column_of(self.sort.key));
        let order = direction(self.sort.order);
        let (id, ties) = match self.sort.key {
            SortKey::CreationTime => ("0", String::new()),
            SortKey::UpdateTime | SortKey::StateChangeTime => ("id", format!(", id {order}")),
        };
        let mut select = self.sets.conn.prepare_cached(&format!(
            "SELECT row, {column}, {id} FROM issues INDEXED BY {index}
             WHERE domain_id = ?1 AND {column} BETWEEN ?2 AND ?3
             ORDER BY {column} {order}{ties}"
        ))?;
        let (since, until) = (day * DAY_MS, (day + 1) * DAY_MS - 1);
        let mut stored = select.query(params![self.sets.domain.0, since, until])?;
        while let Some(row) = stored.next()? {
            let number = row_number(row.get(0)?)?;
            let at = UnixMillis(row.get(1)?);
            if found.contains(number) && !self.take(number, at, row.get(2)?)? {
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
