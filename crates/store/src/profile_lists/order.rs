//! Walks along an order of the core profiles of a domain, creation or last update, row by row in
//! either direction, and counts the profiles of a range of instants.

use std::collections::VecDeque;

use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::profile_query::ProfileSetKind;

use super::rows::ProfileSource;
use crate::profile_sets::{Moment, SetRow, instant_key, instant_of, read_moments};
use crate::{StoreError, values};

/// Rows that are read at once, first and at most.
const ROWS_FIRST: i64 = 1;
const ROWS_MAX: i64 = 32;

const LAST_ROWS: &str = "SELECT kind, value, first_id, n, ids FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND (value, first_id) <= (?3, ?4)
     ORDER BY value DESC, first_id DESC LIMIT ?5";
const NEXT_ROWS: &str = "SELECT kind, value, first_id, n, ids FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND (value, first_id) >= (?3, ?4)
     ORDER BY value, first_id LIMIT ?5";
const ALL: &str = "SELECT coalesce(sum(n), 0) FROM profile_sets WHERE domain_id = ?1 AND kind = ?2";
const BETWEEN: &str = "SELECT coalesce(sum(n), 0) FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND value > ?3 AND value <= ?4";

/// The order that a list is sorted in.
pub(super) const fn order_of(key: SortKey) -> ProfileSetKind {
    match key {
        SortKey::UpdateTime => ProfileSetKind::Updated,
        SortKey::CreationTime | SortKey::StateChangeTime => ProfileSetKind::Created,
    }
}

/// A walk.
pub(super) struct OrderWalk {
    kind: ProfileSetKind,
    order: SortOrder,
    /// The first and the last moment that the walk shows.
    from: Moment,
    until: Moment,
    /// Where the rows begin that were not read yet; `None` at the end.
    next: Option<Moment>,
    begun: bool,
    rows: VecDeque<SetRow>,
    batch: i64,
}

impl OrderWalk {
    /// Along the moments in `range`, after the moment `after`.
    pub(super) fn new(
        kind: ProfileSetKind,
        order: SortOrder,
        range: TimeRange,
        after: Option<Moment>,
    ) -> Self {
        let mut from = (range.since.map_or(i64::MIN, |at| at.0), i64::MIN);
        let mut until = (range.until.map_or(i64::MAX, |at| at.0), i64::MAX);
        match (order, after) {
            (SortOrder::Ascending, Some((at, id))) => from = from.max((at, id.saturating_add(1))),
            (SortOrder::Descending, Some((at, id))) => {
                until = until.min((at, id.saturating_sub(1)));
            }
            (_, None) => {}
        }
        let next = if order == SortOrder::Ascending { from } else { until };
        let (rows, batch) = (VecDeque::new(), ROWS_FIRST);
        Self { kind, order, from, until, next: Some(next), begun: false, rows, batch }
    }

    /// The moments of the next row, in the order of the walk; `None` at the end.
    pub(super) fn next<S: ProfileSource>(
        &mut self,
        source: &S,
    ) -> Result<Option<Vec<Moment>>, StoreError> {
        if self.rows.is_empty() {
            self.read(source)?;
        }
        let Some(row) = self.rows.pop_front() else { return Ok(None) };
        let first = (instant_of(&row.key.1)?, row.key.2);
        let mut moments = Vec::with_capacity(row.count.unsigned_abs() as usize);
        read_moments(first, &row.members, &mut moments)?;
        let begin = moments.partition_point(|moment| *moment < self.from);
        let end = moments.partition_point(|moment| *moment <= self.until);
        moments.truncate(end);
        moments.drain(..begin.min(end));
        if self.order == SortOrder::Descending {
            moments.reverse();
        }
        Ok(Some(moments))
    }

    /// Reads further rows.
    fn read<S: ProfileSource>(&mut self, source: &S) -> Result<(), StoreError> {
        let Some(mut next) = self.next.filter(|_| self.from <= self.until) else { return Ok(()) };
        let is_ascending = self.order == SortOrder::Ascending;
        if is_ascending && !self.begun {
            // The first moments may be in a row that begins before them.
            if let Some(row) = last_rows(source, self.kind, next, 1)?.first() {
                next = (instant_of(&row.key.1)?, row.key.2);
            }
        }
        self.begun = true;
        let rows = if is_ascending {
            rows(source, NEXT_ROWS, self.kind, next, self.batch)?
        } else {
            last_rows(source, self.kind, next, self.batch)?
        };
        let is_last = (rows.len() as i64) < self.batch;
        self.batch = (self.batch * 4).min(ROWS_MAX);
        self.next = None;
        for row in rows {
            let first = (instant_of(&row.key.1)?, row.key.2);
            if is_ascending && first > self.until {
                return Ok(());
            }
            self.rows.push_back(row);
            if !is_ascending && first <= self.from {
                return Ok(());
            }
            let step = if is_ascending { 1 } else { -1 };
            self.next = (!is_last).then_some((first.0, first.1.saturating_add(step)));
        }
        Ok(())
    }
}

/// How many moments of the order are in the range.
pub(super) fn count<S: ProfileSource>(
    source: &S,
    kind: ProfileSetKind,
    range: TimeRange,
) -> Result<u64, StoreError> {
    let (domain, code) = (source.domain(), kind.code());
    let sum = |sql, values: &[_]| -> Result<i64, StoreError> {
        Ok(source.find(sql, values, |row| row.get(0))?.unwrap_or_default())
    };
    if range == TimeRange::default() {
        return Ok(sum(ALL, values![domain, code])?.unsigned_abs());
    }
    if range.is_empty() {
        return Ok(0);
    }
    let before = range.since.map_or(i64::MIN, |at| at.0.saturating_sub(1));
    let until = range.until.map_or(i64::MAX, |at| at.0);
    let whole = sum(BETWEEN, values![domain, code, instant_key(before), instant_key(until)])?;
    // The last row that begins before a bound may go on beyond it.
    let beyond = |bound: i64| -> Result<i64, StoreError> {
        if bound == i64::MIN || bound == i64::MAX {
            return Ok(0);
        }
        let row = last_rows(source, kind, (bound, i64::MAX), 1)?.pop();
        let Some(row) = row else { return Ok(0) };
        let mut moments = Vec::new();
        read_moments((instant_of(&row.key.1)?, row.key.2), &row.members, &mut moments)?;
        Ok(moments.iter().filter(|moment| moment.0 > bound).count() as i64)
    };
    Ok((whole + beyond(before)? - beyond(until)?).max(0).unsigned_abs())
}

/// The last rows that do not begin after the moment, the last one first.
fn last_rows<S: ProfileSource>(
    source: &S,
    kind: ProfileSetKind,
    moment: Moment,
    limit: i64,
) -> Result<Vec<SetRow>, StoreError> {
    rows(source, LAST_ROWS, kind, moment, limit)
}

fn rows<S: ProfileSource>(
    source: &S,
    sql: &str,
    kind: ProfileSetKind,
    (at, id): Moment,
    limit: i64,
) -> Result<Vec<SetRow>, StoreError> {
    let (domain, code, key) = (source.domain(), kind.code(), instant_key(at));
    source.list(sql, values![domain, code, key, id, limit], |row| SetRow::read_at(row, 0))
}
