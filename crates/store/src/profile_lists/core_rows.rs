//! The core profiles of a domain as rows: sets of terms, and rows by their times. Instants are
//! terms of profiles, so the sets of instants are the index of both orders. Rows have the order of
//! ids.

use caseload_model::issue::{instant_term, term_instant};
use caseload_model::issue_query::{ListPosition, SortKey, SortOrder, TimeRange};
use caseload_model::profile_query::{ProfileId, ProfilePosition};
use caseload_model::time::UnixMillis;
use roaring::RoaringBitmap;

use super::rows::ProfileSource;
use crate::query::stored_sets::{BLOCKS_ALL, Noun, StoredSets, days_of};
use crate::query::{Rows, Set, TimedRow, TimedRows};
use crate::{StoreError, values};

/// The core profiles of the domain of a source.
pub(super) struct CoreRows<'s, S>(pub(super) &'s S);

impl<S: ProfileSource> CoreRows<'_, S> {
    /// The rows of a set.
    pub(super) fn of(&self, set: &Set) -> Result<RoaringBitmap, StoreError> {
        match self.sets().rows(set, &BLOCKS_ALL)? {
            Rows::In(rows) => Ok(rows),
            Rows::NotIn(_) => Err(StoreError::Corrupt("a list without a bound".to_owned())),
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

impl<S: ProfileSource> TimedRows for CoreRows<'_, S> {
    const CREATED_ONE_BY_ONE: bool = false;

    type Store = S;

    fn sets(&self) -> StoredSets<'_, S> {
        StoredSets { store: self.0, noun: Noun::CoreProfile }
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
        self.sets().walk(kind, order, [since.to_vec(), until.to_vec()], |value, rows| {
            let at = term_instant(value).ok_or_else(|| {
                StoreError::Corrupt("a set of profiles has a damaged value".to_owned())
            })?;
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
}
