//! The core profiles of a domain as rows: sets of terms, and rows by their times. Instants are
//! terms of profiles, so the sets of instants are the index of both orders. Rows have the order of
//! ids.

use caseload_model::issue::{TermKind, TermRange, day_term, instant_term, term_day, term_instant};
use caseload_model::issue_query::{ListPosition, SortKey, SortOrder, TimeRange};
use caseload_model::profile_query::{ProfileId, ProfilePosition};
use caseload_model::time::UnixMillis;
use roaring::RoaringBitmap;

use super::rows::{ProfileSource, instants};
use crate::query::{DaySplit, Days, Leaf, Rows, Set, TimedRow, TimedRows};
use crate::rowset::{RowSetBuilder, decode, row_number};
use crate::{StoreError, values};

const OF_TERMS: &str = "SELECT block, rows FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND value = ANY (?3)";
const OF_RANGE: &str = "SELECT block, rows FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND value >= ?3 AND value < ?4";
const FORWARD: &str = "SELECT value, block, rows FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND (value, block) > (?3, ?4) AND value <= ?5
     ORDER BY value, block LIMIT ?6";
const BACKWARD: &str = "SELECT value, block, rows FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND (value, block) < (?3, ?4) AND value >= ?5
     ORDER BY value DESC, block DESC LIMIT ?6";
/// Blocks of sets that a walk reads at once, first and at most.
const BLOCKS_FIRST: i64 = 16;
const BLOCKS_MAX: i64 = 128;

/// The core profiles of the domain of a source.
pub(super) struct CoreRows<'s, S>(pub(super) &'s S);

/// A value with one block of its set.
type StoredBlock = (Vec<u8>, u32, RoaringBitmap);

impl<S: ProfileSource> CoreRows<'_, S> {
    /// The rows of a set.
    pub(super) fn of(&self, set: &Set) -> Result<RoaringBitmap, StoreError> {
        match set.eval(&mut |leaf: &Leaf| self.leaf(leaf))? {
            Rows::In(rows) => Ok(rows),
            Rows::NotIn(_) => Err(StoreError::Corrupt("a list without a bound".to_owned())),
        }
    }

    fn leaf(&self, leaf: &Leaf) -> Result<RoaringBitmap, StoreError> {
        match leaf {
            Leaf::Term { kind, values } => self.any(*kind, values),
            Leaf::Ranges(ranges) => self.between(ranges),
            Leaf::Ids(_) | Leaf::Text(_) => {
                Err(StoreError::Corrupt("no set of core profiles has this filter".to_owned()))
            }
        }
    }

    /// The rows that have at least one of the terms.
    fn any(&self, kind: TermKind, values: &[Vec<u8>]) -> Result<RoaringBitmap, StoreError> {
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let mut rows = RoaringBitmap::new();
        let (domain, code) = (self.0.domain(), kind.code());
        let bound = values![domain, code, values];
        self.0.each(OF_TERMS, bound, &mut |row| decode(row.get(0)?, row.get(1)?, &mut rows))?;
        Ok(rows)
    }

    fn between(&self, ranges: &[TermRange]) -> Result<RoaringBitmap, StoreError> {
        let mut rows = RowSetBuilder::default();
        for TermRange { kind, from, until } in ranges {
            let (domain, code) = (self.0.domain(), kind.code());
            let bound = values![domain, code, from, until];
            self.0.each(OF_RANGE, bound, &mut |row| rows.add(row.get(0)?, row.get(1)?))?;
        }
        Ok(rows.finish())
    }

    /// Visits the blocks of the sets of these values, in order, until `visit` returns false.
    fn walk(
        &self,
        kind: TermKind,
        order: SortOrder,
        [from, until]: [&[u8]; 2],
        mut visit: impl FnMut(&StoredBlock) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let is_ascending = order == SortOrder::Ascending;
        let (sql, begin, end) =
            if is_ascending { (FORWARD, from, until) } else { (BACKWARD, until, from) };
        // No block has this number.
        let mut after = (begin.to_vec(), if is_ascending { -1 } else { i64::MAX });
        let mut limit = BLOCKS_FIRST;
        let (domain, code) = (self.0.domain(), kind.code());
        loop {
            let bound = values![domain, code, after.0, after.1, end, limit];
            let blocks = self.0.list(sql, bound, |row| {
                let (block, mut rows) = (row.get(1)?, RoaringBitmap::new());
                decode(block, row.get(2)?, &mut rows)?;
                Ok((row.get(0)?, block, rows))
            })?;
            for block in &blocks {
                if !visit(block)? {
                    return Ok(());
                }
            }
            match blocks.into_iter().next_back() {
                Some((value, block, _)) => after = (value, block.into()),
                None => return Ok(()),
            }
            limit = (limit * 4).min(BLOCKS_MAX);
        }
    }

    /// A position as rows have it. Rows between two ids are those between the rows of these ids, so
    /// a profile that is gone may be replaced by its neighbour.
    pub(super) fn position(
        &self,
        after: &ProfilePosition,
        order: SortOrder,
    ) -> Result<ListPosition, StoreError> {
        let ProfileId::Core(id) = &after.id else {
            return Err(StoreError::Corrupt("a position of another list".to_owned()));
        };
        let before = |test: &str| -> Result<u64, StoreError> {
            let sql = format!(
                "SELECT row FROM core_profiles WHERE domain_id = ?1 AND id {test} ?2
                 ORDER BY id DESC LIMIT 1"
            );
            let row = self.0.find(&sql, values![self.0.domain(), id.0], |row| row.get(0))?;
            Ok(row.unwrap_or_default())
        };
        let row = match order {
            SortOrder::Ascending => before("<=")?,
            SortOrder::Descending => before("<")? + 1,
        };
        Ok(ListPosition { at: after.at, id: row })
    }
}

/// The kind of term for the days of a time.
const fn days_of(key: SortKey) -> TermKind {
    match key {
        SortKey::UpdateTime => TermKind::Updated,
        SortKey::CreationTime | SortKey::StateChangeTime => TermKind::Created,
    }
}

impl<S: ProfileSource> TimedRows for CoreRows<'_, S> {
    type Error = StoreError;

    const CREATED_ONE_BY_ONE: bool = false;

    fn span(&self, key: SortKey, split: &DaySplit) -> Result<RoaringBitmap, StoreError> {
        self.between(&split.terms(days_of(key)))
    }

    fn walk_days(
        &self,
        key: SortKey,
        order: SortOrder,
        days: Days,
        mut visit: impl FnMut(i64, &RoaringBitmap) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let bounds = [day_term(days.from), day_term(days.until)];
        let mut of_day: Option<(i64, RoaringBitmap)> = None;
        let mut goes_on = true;
        self.walk(days_of(key), order, [&bounds[0], &bounds[1]], |(value, _, rows)| {
            let day = term_day(value).ok_or_else(damaged)?;
            match &mut of_day {
                Some((known, all)) if *known == day => *all |= rows,
                other => {
                    if let Some((day, rows)) = other.replace((day, rows.clone())) {
                        goes_on = visit(day, &rows)?;
                    }
                }
            }
            Ok(goes_on)
        })?;
        if let (true, Some((day, rows))) = (goes_on, of_day) {
            visit(day, &rows)?;
        }
        Ok(())
    }

    fn walk_span(
        &self,
        key: SortKey,
        order: SortOrder,
        span: TimeRange,
        mut visit: impl FnMut(TimedRow) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(kind) = days_of(key).of_instants() else { return Ok(()) };
        let since = instant_term(span.since.unwrap_or(UnixMillis(i64::MIN)));
        let until = instant_term(span.until.unwrap_or(UnixMillis(i64::MAX)));
        self.walk(kind, order, [&since, &until], |(value, _, rows)| {
            let at = term_instant(value).ok_or_else(damaged)?;
            let mut show = |row: u32| visit(TimedRow { at, id: row.into(), row });
            let mut rows = rows.iter();
            loop {
                let next = match order {
                    SortOrder::Ascending => rows.next(),
                    SortOrder::Descending => rows.next_back(),
                };
                match next {
                    Some(row) if show(row)? => {}
                    next => return Ok(next.is_none()),
                }
            }
        })
    }

    fn instants(
        &self,
        key: SortKey,
        rows: &RoaringBitmap,
        mut visit: impl FnMut(TimedRow),
    ) -> Result<(), StoreError> {
        let column = instants(key)[0];
        let sql = format!("SELECT row, {column} FROM {}", S::CORE_ROWS);
        let wanted: Vec<i64> = rows.iter().map(i64::from).collect();
        let mut seen = 0;
        self.0.each(&sql, values![self.0.domain(), wanted], &mut |found| {
            seen += 1;
            let row = row_number(found.get(0)?)?;
            visit(TimedRow { at: found.get(1)?, id: row.into(), row });
            Ok(())
        })?;
        if seen < rows.len() { Err(gone()) } else { Ok(()) }
    }
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a set of profiles has a damaged value".to_owned())
}

/// The error for a row that only a set has.
pub(super) fn gone() -> StoreError {
    StoreError::Corrupt("a set has a profile that does not exist".to_owned())
}
