//! Reads the sets of profiles for a list: which of some profiles fulfil a condition. Of each set
//! only the rows are read that may have one of the profiles asked for, and each row once.

use std::collections::BTreeMap;

use caseload_model::profile_query::{ProfileSet, SetCondition};

use super::rows::ProfileSource;
use crate::profile_sets::{Moment, SetRow, read_ids};
use crate::{StoreError, values};

/// The rows of a set that may have ids from `?4` to `?5`.
const ROWS: &str = "SELECT s.kind, s.value, s.first_id, s.n, s.ids FROM profile_sets s
     WHERE s.domain_id = ?1 AND s.kind = ?2 AND s.value = ?3 AND s.first_id <= ?5
     AND s.first_id >= coalesce((SELECT max(b.first_id) FROM profile_sets b
         WHERE b.domain_id = ?1 AND b.kind = ?2 AND b.value = ?3 AND b.first_id <= ?4), ?4)";
/// Of a set so many ids are searched for one by one that take so many steps less than a merge.
const SEARCH_STEPS: usize = 12;

/// One set, as far as it was read.
#[derive(Debug)]
pub(super) struct SetReader {
    set: Option<ProfileSet>,
    /// Ascending ids by the first one of their row.
    rows: BTreeMap<i64, Vec<i64>>,
    /// All ids from the first to the second number were read.
    loaded: Option<(i64, i64)>,
}

impl SetReader {
    fn of(set: ProfileSet) -> Self {
        Self { set: Some(set), rows: BTreeMap::new(), loaded: None }
    }

    /// A set of exactly these ids, which are ascending.
    fn of_ids(ids: Vec<i64>) -> Self {
        let first = ids.first().copied();
        let rows = first.map(|first| (first, ids)).into_iter().collect();
        Self { set: None, rows, loaded: Some((i64::MIN, i64::MAX)) }
    }

    /// Reads all ids from `from` to `until`, if they were not read before.
    fn load<S: ProfileSource>(
        &mut self,
        source: &S,
        mut from: i64,
        mut until: i64,
    ) -> Result<(), StoreError> {
        let Some((kind, value)) = &self.set else { return Ok(()) };
        let mut all = (from, until);
        if let Some((first, last)) = self.loaded {
            if first <= from && until <= last {
                return Ok(());
            }
            // The gap between the parts is read, too, so that one range is enough to note.
            all = (from.min(first), until.max(last));
            if from >= first {
                from = last;
            } else if until <= last {
                until = first;
            }
        }
        let (domain, code) = (source.domain(), kind.code());
        source.each(ROWS, values![domain, code, value, from, until], &mut |row| {
            let row = SetRow::read_at(row, 0)?;
            let mut ids = Vec::with_capacity(row.count.unsigned_abs() as usize);
            read_ids(row.key.2, &row.members, &mut ids)?;
            self.rows.insert(row.key.2, ids);
            Ok(())
        })?;
        self.loaded = Some(all);
        Ok(())
    }

    /// Marks those of the ascending `ids` that are in the set.
    fn mark(&self, ids: &[i64], marks: &mut [bool]) {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return };
        let begin = self.rows.range(..=first).next_back().map_or(*first, |(begin, _)| *begin);
        let mut at = 0;
        for (_, row) in self.rows.range(begin..=*last) {
            let end = row.last().map_or(at, |end| at + ids[at..].partition_point(|id| id <= end));
            let wanted = &ids[at..end];
            if wanted.len() * SEARCH_STEPS < row.len() {
                for (id, mark) in wanted.iter().zip(&mut marks[at..end]) {
                    *mark |= row.binary_search(id).is_ok();
                }
            } else {
                let mut own = row.iter().copied().peekable();
                for (id, mark) in wanted.iter().zip(&mut marks[at..end]) {
                    while own.next_if(|own| own < id).is_some() {}
                    *mark |= own.peek() == Some(id);
                }
            }
            at = end;
        }
    }
}

/// A condition and the sets that decide it.
#[derive(Debug)]
pub(super) struct Members {
    readers: Vec<SetReader>,
    pub(super) negated: bool,
}

impl Members {
    pub(super) fn of(condition: SetCondition) -> Self {
        let readers = condition.any.into_iter().map(SetReader::of).collect();
        Self { readers, negated: condition.negated }
    }

    /// The condition that a profile is one of these, which are ascending.
    pub(super) fn of_ids(ids: Vec<i64>) -> Self {
        Self { readers: vec![SetReader::of_ids(ids)], negated: false }
    }

    /// Notes in `kept` which of the ascending `ids` do not fulfil the condition. The ids of the
    /// `span` will be asked for, too.
    fn exclude<S: ProfileSource>(
        &mut self,
        source: &S,
        ids: &[i64],
        span: (i64, i64),
        kept: &mut [bool],
    ) -> Result<(), StoreError> {
        let mut marks = vec![false; ids.len()];
        for reader in &mut self.readers {
            reader.load(source, span.0, span.1)?;
            reader.mark(ids, &mut marks);
        }
        for (kept, mark) in kept.iter_mut().zip(marks) {
            *kept &= mark != self.negated;
        }
        Ok(())
    }

    /// All ids that the sets have, ascending.
    pub(super) fn all<S: ProfileSource>(&mut self, source: &S) -> Result<Vec<i64>, StoreError> {
        let mut ids = Vec::new();
        for reader in &mut self.readers {
            reader.load(source, i64::MIN, i64::MAX)?;
            reader.rows.values().for_each(|row| ids.extend_from_slice(row));
        }
        if self.readers.len() > 1 {
            ids.sort_unstable();
            ids.dedup();
        }
        Ok(ids)
    }
}

/// Those of the moments whose profiles fulfil all conditions, in the same order. Their ids are in
/// the `span`, which is read at once.
pub(super) fn fulfilling<'c, S: ProfileSource>(
    source: &S,
    conditions: impl Iterator<Item = &'c mut Members>,
    moments: &[Moment],
    span: (i64, i64),
) -> Result<Vec<Moment>, StoreError> {
    let mut by_id: Vec<(i64, usize)> =
        moments.iter().enumerate().map(|(n, moment)| (moment.1, n)).collect();
    if !by_id.is_sorted() {
        by_id.sort_unstable();
    }
    let ids: Vec<i64> = by_id.iter().map(|(id, _)| *id).collect();
    let mut kept = vec![true; ids.len()];
    for condition in conditions {
        if !kept.contains(&true) {
            return Ok(Vec::new());
        }
        condition.exclude(source, &ids, span, &mut kept)?;
    }
    let mut keep = vec![false; ids.len()];
    for ((_, n), kept) in by_id.into_iter().zip(kept) {
        keep[n] = kept;
    }
    Ok(moments.iter().zip(keep).filter(|(_, keep)| *keep).map(|(one, _)| *one).collect())
}
