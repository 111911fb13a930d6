//! Writes the changes of a chunk to the rows of the sets. A row that grows too long is split: if
//! all new members come after the old ones, as those of new profiles do, into full rows, else into
//! equal ones. A row without members is deleted. Adding a member that is there, or removing one
//! that is not, is reported as damage.

use std::collections::BTreeMap;

use caseload_model::profile_query::ProfileSet;

use super::changes::{SetChanges, Steps};
use super::encoding::{Moment, is_order};
use super::rows::{Member, SetKey, SetRow, Span, members, row};
use super::store::SetStore;
use crate::StoreError;

/// Most members of a row.
pub(super) const ROW_MEMBERS_MAX: usize = 4096;
/// Changes of a set that are looked up one by one; of more, everything in between is read.
const SPANS_MAX: usize = 8;

/// Writes the changes.
pub(crate) fn apply(store: &impl SetStore, changes: &SetChanges) -> Result<(), StoreError> {
    let orders = changes.of_orders();
    let sets: Vec<(ProfileSet, Steps<i64>)> =
        changes.of_ids().filter(|(_, steps)| !steps.is_empty()).collect();
    let mut spans = Vec::new();
    for (set, steps) in &sets {
        for (from, until) in spread(steps, |id| *id) {
            spans.push(Span::Ids { set: set.clone(), from, until });
        }
    }
    for (kind, steps) in &orders {
        for (from, until) in spread(steps, |moment| moment.0) {
            spans.push(Span::Instants { kind: *kind, from, until });
        }
    }
    if spans.is_empty() {
        return Ok(());
    }
    let mut stored = BTreeMap::<(i64, Vec<u8>), Vec<SetRow>>::new();
    for row in store.set_rows(&spans)? {
        let (kind, value, _) = &row.key;
        let value = if is_order(*kind) { Vec::new() } else { value.clone() };
        stored.entry((kind.code(), value)).or_default().push(row);
    }
    let mut written = Written::default();
    let mut take = |set: &ProfileSet| stored.remove(&(set.0.code(), set.1.clone()));
    for (set, steps) in &sets {
        rewrite::<i64>(set, take(set).unwrap_or_default(), steps, &mut written)?;
    }
    for (kind, steps) in &orders {
        let set = (*kind, Vec::new());
        rewrite::<Moment>(&set, take(&set).unwrap_or_default(), steps, &mut written)?;
    }
    let Written { gone, rows } = written;
    if !gone.is_empty() && store.delete_set_rows(&gone)? < gone.len() as u64 {
        return Err(StoreError::Corrupt("a row of a set of profiles is gone".to_owned()));
    }
    if rows.is_empty() { Ok(()) } else { store.put_set_rows(&rows) }
}

/// The places of changes as spans. The steps are in the order of their members.
fn spread<M: Member>(steps: &Steps<M>, place_of: impl Fn(&M) -> i64) -> Vec<(i64, i64)> {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for (member, _) in steps {
        let place = place_of(member);
        if spans.last().is_some_and(|(last, _)| *last == place) {
            continue;
        }
        if spans.len() == SPANS_MAX {
            let last = steps.last().map_or(place, |(member, _)| place_of(member));
            return vec![(spans[0].0, last)];
        }
        spans.push((place, place));
    }
    spans
}

#[derive(Debug, Default)]
struct Written {
    gone: Vec<SetKey>,
    rows: Vec<SetRow>,
}

/// The rows of one set after the changes, which are in the order of their members. `stored` has the
/// rows that may have the members.
fn rewrite<M: Member>(
    set: &ProfileSet,
    stored: Vec<SetRow>,
    mut steps: &[(M, bool)],
    written: &mut Written,
) -> Result<(), StoreError> {
    let mut stored: Vec<(M, SetRow)> = stored
        .into_iter()
        .map(|row| Ok((M::first(&row)?, row)))
        .collect::<Result<_, StoreError>>()?;
    // Spans that are close together have found the same row.
    stored.sort_by_key(|(first, _)| *first);
    stored.dedup_by_key(|(first, _)| *first);
    // A row has its members up to the first one of the next row; the first row also takes those
    // before it.
    for (n, (_, row)) in stored.iter().enumerate() {
        let end = match stored.get(n + 1) {
            Some((next, _)) => steps.partition_point(|(member, _)| member < next),
            None => steps.len(),
        };
        let (of_row, after) = steps.split_at(end);
        steps = after;
        if !of_row.is_empty() {
            rewrite_row(set, Some(row), of_row, written)?;
        }
    }
    if steps.is_empty() { Ok(()) } else { rewrite_row(set, None, steps, written) }
}

/// The rows in place of one row, or of none.
fn rewrite_row<M: Member>(
    set: &ProfileSet,
    old: Option<&SetRow>,
    steps: &[(M, bool)],
    written: &mut Written,
) -> Result<(), StoreError> {
    let before = old.map_or(Ok(Vec::new()), members::<M>)?;
    let last = before.last().copied();
    let after = merged(before, steps)?;
    let appends = steps.iter().all(|(member, add)| *add && last.is_none_or(|last| *member > last));
    let parts = split(&after, appends);
    if let Some(SetRow { key, .. }) = old
        && parts.first().is_none_or(|part| M::key(set, part[0]) != *key)
    {
        written.gone.push(key.clone());
    }
    written.rows.extend(parts.iter().map(|part| row(set, part)));
    Ok(())
}

fn merged<M: Member>(before: Vec<M>, steps: &[(M, bool)]) -> Result<Vec<M>, StoreError> {
    let mut after = Vec::with_capacity(before.len() + steps.len());
    let mut before = before.into_iter().peekable();
    for (member, add) in steps {
        while let Some(kept) = before.next_if(|kept| kept < member) {
            after.push(kept);
        }
        let was_there = before.next_if_eq(member).is_some();
        if was_there == *add {
            let fault = if *add { "is in a set already" } else { "is not in one of its sets" };
            return Err(StoreError::Corrupt(format!("core profile {} {fault}", member.id())));
        }
        if *add {
            after.push(*member);
        }
    }
    after.extend(before);
    Ok(after)
}

/// The members in parts that are short enough for a row.
fn split<M>(members: &[M], appends: bool) -> Vec<&[M]> {
    let parts = members.len().div_ceil(ROW_MEMBERS_MAX);
    let most = if appends { ROW_MEMBERS_MAX } else { members.len().div_ceil(parts.max(1)) };
    members.chunks(most.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_grows_at_its_end_leaves_full_rows() {
        let members: Vec<i64> = (0..ROW_MEMBERS_MAX as i64 + 2).collect();
        let lens = |appends| -> Vec<usize> {
            split(&members, appends).iter().map(|part| part.len()).collect()
        };
        assert_eq!(lens(true), [ROW_MEMBERS_MAX, 2]);
        let half = members.len() / 2;
        assert_eq!(lens(false), [half, half]);
        assert!(split::<i64>(&[], true).is_empty() && split::<i64>(&[], false).is_empty());
    }
}
