//! Writes the changes of a chunk to the rows of the sets. A row that grows too long is split: if
//! all new members come after the old ones, as those of new profiles do, into full rows, else into
//! halves. A row without members is deleted. Adding a member that is there, or removing one
//! that is not, is reported as damage.

use std::borrow::Cow;
use std::collections::BTreeMap;

use caseload_model::profile_query::ProfileSet;

use super::changes::{SetChanges, Step};
use super::encoding::{Moment, is_order};
use super::rows::{Member, SetKey, SetRow, Span, members, row};
use super::store::SetStore;
use crate::StoreError;

/// Most members of a row.
const ROW_MEMBERS_MAX: usize = 4096;
/// Most bytes of the value and the members of a row: so four rows fill a page of SQLite, without an
/// overflow page, and PostgreSQL stores a row in one piece.
const ROW_BYTES_MAX: usize = 1950;
/// Changes of a set that are looked up one by one; of more, everything in between is read.
const SPANS_MAX: usize = 8;

/// Writes the changes.
pub(crate) fn apply(store: &impl SetStore, changes: &SetChanges) -> Result<(), StoreError> {
    let orders = changes.of_orders();
    let sets: Vec<(ProfileSet, Cow<'_, [Step<i64>]>)> =
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
fn spread<M: Member>(steps: &[Step<M>], place_of: impl Fn(&M) -> i64) -> Vec<(i64, i64)> {
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
    mut steps: &[Step<M>],
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
    steps: &[Step<M>],
    written: &mut Written,
) -> Result<(), StoreError> {
    let before = old.map_or(Ok(Vec::new()), members::<M>)?;
    let last = before.last().copied();
    let after = merged(before, steps)?;
    let appends = steps.iter().all(|(member, add)| *add && last.is_none_or(|last| *member > last));
    let rows = split(set, &after, appends);
    if let Some(SetRow { key, .. }) = old
        && rows.first().is_none_or(|row| row.key != *key)
    {
        written.gone.push(key.clone());
    }
    written.rows.extend(rows);
    Ok(())
}

fn merged<M: Member>(before: Vec<M>, steps: &[Step<M>]) -> Result<Vec<M>, StoreError> {
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

/// The members in rows that are short enough.
fn split<M: Member>(set: &ProfileSet, members: &[M], appends: bool) -> Vec<SetRow> {
    let mut rows = Vec::new();
    if !appends {
        add_halves(set, members, &mut rows);
        return rows;
    }
    let mut left = members;
    while !left.is_empty() {
        let mut most = left.len().min(ROW_MEMBERS_MAX);
        let full = loop {
            let row = row(set, &left[..most]);
            if most == 1 || is_short(&row) {
                break row;
            }
            most = (most * ROW_BYTES_MAX / row_bytes(&row)).clamp(1, most - 1);
        };
        rows.push(full);
        left = &left[most..];
    }
    rows
}

/// Adds the members as one row, or their halves if it would be too long.
fn add_halves<M: Member>(set: &ProfileSet, members: &[M], rows: &mut Vec<SetRow>) {
    if members.is_empty() {
        return;
    }
    if members.len() <= ROW_MEMBERS_MAX {
        let row = row(set, members);
        if members.len() == 1 || is_short(&row) {
            rows.push(row);
            return;
        }
    }
    let (first, second) = members.split_at(members.len() / 2);
    add_halves(set, first, rows);
    add_halves(set, second, rows);
}

const fn row_bytes(row: &SetRow) -> usize {
    row.key.1.len() + row.members.len()
}

const fn is_short(row: &SetRow) -> bool {
    row_bytes(row) <= ROW_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use caseload_model::profile_query::ProfileSetKind;

    use super::*;

    fn counts(members: &[i64], value: &[u8], appends: bool) -> Vec<i64> {
        let rows = split(&(ProfileSetKind::Tag, value.to_vec()), members, appends);
        for row in &rows {
            assert!(is_short(row), "{row:?}");
        }
        rows.iter().map(|row| row.count).collect()
    }

    #[test]
    fn a_row_that_grows_at_its_end_leaves_full_rows() {
        let members: Vec<i64> = (0..ROW_MEMBERS_MAX as i64 + 2).collect();
        assert_eq!(counts(&members, b"", true), [ROW_MEMBERS_MAX as i64, 2]);
        let half = members.len() as i64 / 2;
        assert_eq!(counts(&members, b"", false), [half, half]);
        assert!(counts(&[], b"", true).is_empty() && counts(&[], b"", false).is_empty());
    }

    #[test]
    fn a_row_fits_into_a_quarter_of_a_page() {
        let members: Vec<i64> = (0..4000).map(|n| n * 17).collect();
        assert_eq!(counts(&members, b"", true), [1950, 1950, 100]);
        assert_eq!(counts(&members, b"", false), [1000; 4]);
        // With gaps of two bytes.
        let members: Vec<i64> = (0..1000).map(|n| n * 1000).collect();
        assert_eq!(counts(&members, &[b'x'; 1000], true), [476, 476, 48]);
    }
}
