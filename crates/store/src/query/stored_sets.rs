//! Reads the sets of terms, of issues or of core profiles: by values, ranges of values and spans of
//! time. A set has a base for each value and block, and in some backends deltas, which transactions
//! left since the base was written. Questions that do not depend on each other are
//! asked together, if that saves the backend round trips.

use std::ops::RangeInclusive;

use caseload_model::issue::{TermKind, TermRange, day_term, term_day};
use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::time::UnixMillis;
use roaring::RoaringBitmap;

use super::days::{DaySplit, Days};
use super::set::{Answers, Leaf, Rows, Set};
use crate::StoreError;
use crate::idempotency::CommandStore;
use crate::rowset::{RowSetBuilder, apply_delta, decode, row_number};
use crate::sql::{Row, ToValue as _, Value};
use crate::text_index::candidates;
use crate::values;

/// The blocks that a set may have rows in.
pub const BLOCKS_ALL: RangeInclusive<u32> = 0..=u16::MAX as u32;
/// A later portion of a walk has at most this many stored sets.
const PORTION_MAX: i64 = 256;

/// The resource that rows are numbers of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    Issue,
    CoreProfile,
}

/// Which stored sets of a kind a statement selects. The domain is `?1` and the kind `?2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Those of the value `?3`, in the blocks from `?4` to `?5`.
    Value,
    /// Those of the values `?3`, in these blocks.
    Values,
    /// Those of the values from `?3` on and before `?4`.
    Range,
    Every,
}

/// A row with its place in an order. Issues have unique instants of creation, so a backend may
/// leave out the id there. Of core profiles, rows have the order of ids, and `id` is the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimedRow {
    pub at: UnixMillis,
    pub id: u64,
    pub row: u32,
}

/// A statement with its values.
pub type Question<'q> = (String, Vec<Value<'q>>);

/// The statements on sets that differ between databases. They select value, block, rows, the rows
/// that a delta removes, and the number of the delta, which is 0 for a base.
pub trait SetStore: CommandStore {
    /// Whether all leaves of a set expression are asked for together. Otherwise one is asked for
    /// after the other, until the set is known to be empty.
    const LEAVES_TOGETHER: bool;
    /// Stored sets in the first portion of a walk.
    const PORTION_FIRST: i64;
    /// Selects the issues of the domain `?1` in the rows `?2`: the tables and the condition.
    const ISSUE_ROWS: &'static str;
    /// Selects its core profiles in the rows `?2`.
    const CORE_ROWS: &'static str;

    /// Whether sets have deltas.
    fn has_deltas(noun: Noun) -> bool;

    /// Selects stored sets. Those of one value are adjacent, and its deltas are in their order.
    fn select(noun: Noun, kind: TermKind, wanted: Wanted) -> String;

    /// Selects the first `?5` bases of the values from `?3` to `?4` in an order, and as many
    /// deltas.
    fn select_portion(noun: Noun, order: SortOrder) -> Vec<String>;

    /// Has `read` read each row of the answers, with the number of its question.
    fn each_of(
        &self,
        questions: &[Question<'_>],
        read: &mut dyn FnMut(usize, &dyn Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        questions.iter().enumerate().try_for_each(|(number, (sql, values))| {
            self.each(sql, values, &mut |row| read(number, row))
        })
    }
}

/// The sets of a domain, in one snapshot.
#[derive(Debug)]
pub struct StoredSets<'s, S> {
    pub store: &'s S,
    pub noun: Noun,
}

/// A part of a leaf, or of a span, that one statement answers.
enum Lookup<'l> {
    Values(TermKind, Vec<&'l [u8]>),
    Range(TermRange),
    Ids(Vec<i64>),
    /// Through the index of a time.
    Instants(SortKey, [i64; 2]),
}

impl<'l> Lookup<'l> {
    fn of(leaf: &'l Leaf) -> Vec<Self> {
        match leaf {
            Leaf::Term { kind, values } => {
                vec![Self::Values(*kind, values.iter().map(Vec::as_slice).collect())]
            }
            Leaf::Ranges(ranges) => ranges.iter().cloned().map(Self::Range).collect(),
            Leaf::Ids(ids) => {
                vec![Self::Ids(ids.iter().filter_map(|id| i64::try_from(*id).ok()).collect())]
            }
            Leaf::Text(_) => Vec::new(),
        }
    }

    fn sql<S: SetStore>(&self, noun: Noun) -> String {
        match self {
            Self::Values(kind, values) if values.len() == 1 => {
                S::select(noun, *kind, Wanted::Value)
            }
            Self::Values(kind, _) => S::select(noun, *kind, Wanted::Values),
            Self::Range(range) => S::select(noun, range.kind, Wanted::Range),
            Self::Ids(_) => {
                "SELECT row FROM issues WHERE domain_id = ?1 AND id = ANY (?2)".to_owned()
            }
            Self::Instants(key, _) => {
                let column = column_of(*key);
                format!(
                    "SELECT row FROM issues WHERE domain_id = ?1 AND {column} BETWEEN ?2 AND ?3"
                )
            }
        }
    }

    /// The values of the statement, after the domain.
    fn values<'v>(&'v self, blocks: &'v RangeInclusive<u32>) -> Vec<Value<'v>> {
        match self {
            Self::Values(kind, values) => vec![
                Value::Int(kind.code()),
                match values.as_slice() {
                    [one] => one.to_value(),
                    _ => values.to_value(),
                },
                blocks.start().to_value(),
                blocks.end().to_value(),
            ],
            Self::Range(TermRange { kind, from, until }) => {
                vec![Value::Int(kind.code()), from.to_value(), until.to_value()]
            }
            Self::Ids(ids) => vec![ids.to_value()],
            Self::Instants(_, [since, until]) => vec![since.to_value(), until.to_value()],
        }
    }
}

/// The union of the sets of one lookup, while it is read.
#[derive(Default)]
struct Union {
    /// Of sets without deltas, or of single rows.
    rows: RowSetBuilder,
    /// Of few sets without deltas.
    few: RoaringBitmap,
    /// Of sets with deltas.
    merged: Merge,
    complete: RoaringBitmap,
}

impl Union {
    fn add(&mut self, lookup: &Lookup<'_>, deltas: bool, row: &dyn Row) -> Result<(), StoreError> {
        match lookup {
            Lookup::Ids(_) | Lookup::Instants(..) => self.rows.insert(row_number(row.get(0)?)?),
            _ if deltas => {
                let complete = &mut self.complete;
                self.merged.add(row, &mut |_, rows| {
                    *complete |= rows;
                    Ok(())
                })?;
            }
            Lookup::Values(..) => decode(row.get(1)?, row.get(2)?, &mut self.few)?,
            Lookup::Range(_) => self.rows.add(row.get(1)?, row.get(2)?)?,
        }
        Ok(())
    }

    fn finish(self) -> RoaringBitmap {
        self.rows.finish() | self.few | self.complete | self.merged.rows
    }
}

/// Puts the bases and deltas of each value together. Blocks have no row in common, so the order of
/// those of one block is enough.
#[derive(Default)]
struct Merge {
    value: Option<Vec<u8>>,
    rows: RoaringBitmap,
}

type OnSet<'v> = dyn FnMut(&[u8], &RoaringBitmap) -> Result<(), StoreError> + 'v;

impl Merge {
    /// Adds a stored set. `visit` gets the set of the value before it, if that one is complete.
    fn add(&mut self, row: &dyn Row, visit: &mut OnSet<'_>) -> Result<(), StoreError> {
        let value: &[u8] = row.get(0)?;
        if self.value.as_deref() != Some(value) {
            self.end(visit)?;
            self.value = Some(value.to_vec());
        }
        apply_delta(row.get(1)?, row.get(2)?, row.get(3)?, &mut self.rows)
    }

    fn end(&mut self, visit: &mut OnSet<'_>) -> Result<(), StoreError> {
        if let Some(value) = self.value.take()
            && !self.rows.is_empty()
        {
            visit(&value, &self.rows)?;
        }
        self.rows.clear();
        Ok(())
    }
}

/// A base or a delta.
struct StoredSet {
    value: Vec<u8>,
    block: u32,
    entered: Option<Vec<u8>>,
    gone: Option<Vec<u8>>,
    seq: i64,
}

impl StoredSet {
    fn read(row: &dyn Row) -> Result<Self, StoreError> {
        let (value, block, entered) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self { value, block, entered, gone: row.get(3)?, seq: row.get(4)? })
    }
}

impl<S: SetStore> StoredSets<'_, S> {
    /// The rows of a set expression. Only these blocks are read of the sets of terms.
    pub fn rows(&self, set: &Set, blocks: &RangeInclusive<u32>) -> Result<Rows, StoreError> {
        if !S::LEAVES_TOGETHER {
            return set
                .eval(&mut |leaf| Ok(self.answers(&[leaf], blocks)?.pop().unwrap_or_default()));
        }
        let leaves = set.leaves();
        let rows = self.answers(&leaves, blocks)?;
        let mut answers = Answers::new(leaves, rows);
        set.eval(&mut |leaf| Ok(answers.take(leaf)))
    }

    fn answers(
        &self,
        leaves: &[&Leaf],
        blocks: &RangeInclusive<u32>,
    ) -> Result<Vec<RoaringBitmap>, StoreError> {
        let mut numbers = Vec::new();
        let mut lookups = Vec::new();
        for (number, leaf) in leaves.iter().enumerate() {
            lookups.extend(Lookup::of(leaf));
            numbers.resize(lookups.len(), number);
        }
        let mut answers = vec![RoaringBitmap::new(); leaves.len()];
        for (number, rows) in numbers.into_iter().zip(self.look_up(&lookups, blocks)?) {
            answers[number] |= rows;
        }
        for (answer, leaf) in answers.iter_mut().zip(leaves) {
            if let Leaf::Text(text) = leaf {
                *answer = candidates(self.store, self.store.domain(), text)?;
            }
        }
        Ok(answers)
    }

    fn look_up(
        &self,
        lookups: &[Lookup<'_>],
        blocks: &RangeInclusive<u32>,
    ) -> Result<Vec<RoaringBitmap>, StoreError> {
        if lookups.is_empty() {
            return Ok(Vec::new());
        }
        let (domain, deltas) = (self.store.domain(), S::has_deltas(self.noun));
        let questions: Vec<Question<'_>> = lookups
            .iter()
            .map(|lookup| {
                let values = [domain.to_value()].into_iter().chain(lookup.values(blocks));
                (lookup.sql::<S>(self.noun), values.collect())
            })
            .collect();
        let mut unions: Vec<Union> = lookups.iter().map(|_| Union::default()).collect();
        self.store.each_of(&questions, &mut |number, row| {
            unions[number].add(&lookups[number], deltas, row)
        })?;
        Ok(unions.into_iter().map(Union::finish).collect())
    }

    /// The rows in a span of time: whole days from their sets. The ends come from the index of
    /// issues, or from the sets of instants of profiles.
    pub fn span(&self, key: SortKey, split: &DaySplit) -> Result<RoaringBitmap, StoreError> {
        let mut lookups = Vec::new();
        if self.noun == Noun::Issue {
            let days = split.days.iter().flat_map(|days| days.sets(days_of(key)));
            lookups.extend(days.map(Lookup::Range));
            let ends = split.ends().into_iter().flatten();
            lookups.extend(ends.map(|end| Lookup::Instants(key, bounds_of(end))));
        } else {
            lookups.extend(split.terms(days_of(key)).into_iter().map(Lookup::Range));
        }
        let mut rows = RoaringBitmap::new();
        for found in self.look_up(&lookups, &BLOCKS_ALL)? {
            rows |= found;
        }
        Ok(rows)
    }

    /// Visits the set of each value of a kind that is not sparse.
    pub fn each_value(&self, kind: TermKind, visit: &mut OnSet<'_>) -> Result<(), StoreError> {
        let sql = S::select(self.noun, kind, Wanted::Every);
        let mut sets = Merge::default();
        let (domain, code) = (self.store.domain(), kind.code());
        self.store.each(&sql, values![domain, code], &mut |row| sets.add(row, visit))?;
        sets.end(visit)
    }

    /// Visits the set of each day that has rows, in order, until `visit` returns false.
    pub fn walk_days(
        &self,
        key: SortKey,
        order: SortOrder,
        days: Days,
        mut visit: impl FnMut(i64, &RoaringBitmap) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let bounds = [day_term(days.from).to_vec(), day_term(days.until).to_vec()];
        self.walk(days_of(key), order, bounds, |value, rows| {
            let day = term_day(value)
                .ok_or_else(|| StoreError::Corrupt("a set of a day without a day".to_owned()))?;
            visit(day, rows)
        })
    }

    /// Visits the set of each of these values, in order, until `visit` returns false. The kind is
    /// not sparse. Stored sets are read in portions.
    pub fn walk(
        &self,
        kind: TermKind,
        order: SortOrder,
        [mut from, mut until]: [Vec<u8>; 2],
        mut visit: impl FnMut(&[u8], &RoaringBitmap) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let ascending = order == SortOrder::Ascending;
        let statements = S::select_portion(self.noun, order);
        let (domain, code) = (self.store.domain(), kind.code());
        let mut limit = S::PORTION_FIRST;
        loop {
            let bound = values![domain, code, from, until, limit];
            let questions: Vec<Question<'_>> =
                statements.iter().map(|sql| (sql.clone(), bound.to_vec())).collect();
            let mut portions: Vec<Vec<StoredSet>> = statements.iter().map(|_| vec![]).collect();
            self.store.each_of(&questions, &mut |number, row| {
                portions[number].push(StoredSet::read(row)?);
                Ok(())
            })?;
            // The last value of a full portion may have more sets.
            let full = portions.iter().filter(|sets| sets.len() as i64 == limit);
            let ends = full.filter_map(|sets| Some(sets.last()?.value.clone()));
            let end = if ascending { ends.min() } else { ends.max() };
            let mut sets: Vec<StoredSet> = portions.into_iter().flatten().collect();
            sets.sort_unstable_by(|a, b| (&a.value, a.seq).cmp(&(&b.value, b.seq)));
            let mut of_values: Vec<_> = sets.chunk_by(|a, b| a.value == b.value).collect();
            if !ascending {
                of_values.reverse();
            }
            let mut has_complete = false;
            for of_value in of_values {
                let value = &of_value[0].value;
                let is_complete = end
                    .as_ref()
                    .is_none_or(|end| if ascending { value < end } else { value > end });
                if !is_complete {
                    break;
                }
                has_complete = true;
                let mut rows = RoaringBitmap::new();
                for StoredSet { block, entered, gone, .. } in of_value {
                    apply_delta(*block, entered.as_deref(), gone.as_deref(), &mut rows)?;
                }
                if !rows.is_empty() && !visit(value, &rows)? {
                    return Ok(());
                }
            }
            let Some(end) = end else { return Ok(()) };
            *(if ascending { &mut from } else { &mut until }) = end;
            let longer = limit * 4;
            limit = if has_complete { longer.min(PORTION_MAX) } else { longer };
        }
    }

    /// Visits one of the times, and the id, of each of these rows, in any order.
    pub fn instants(
        &self,
        key: SortKey,
        rows: &RoaringBitmap,
        mut visit: impl FnMut(TimedRow),
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let (id, selected) = match self.noun {
            Noun::Issue => ("id", S::ISSUE_ROWS),
            Noun::CoreProfile => ("row", S::CORE_ROWS),
        };
        let sql = format!("SELECT row, {}, {id} FROM {selected}", column_of(key));
        let wanted: Vec<i64> = rows.iter().map(i64::from).collect();
        let mut seen = 0;
        self.store.each(&sql, values![self.store.domain(), wanted], &mut |found| {
            seen += 1;
            let row = row_number(found.get(0)?)?;
            visit(TimedRow { row, at: found.get(1)?, id: found.get(2)? });
            Ok(())
        })?;
        if seen < rows.len() { Err(gone()) } else { Ok(()) }
    }
}

/// The error for a row that only a set has.
pub(crate) fn gone() -> StoreError {
    StoreError::Corrupt("a set has a row that does not exist".to_owned())
}

/// The ends of a range, or those of time.
fn bounds_of(range: TimeRange) -> [i64; 2] {
    [range.since.map_or(i64::MIN, |at| at.0), range.until.map_or(i64::MAX, |at| at.0)]
}

/// The kind of term for the days of a time.
pub const fn days_of(key: SortKey) -> TermKind {
    match key {
        SortKey::CreationTime => TermKind::Created,
        SortKey::UpdateTime => TermKind::Updated,
        SortKey::StateChangeTime => TermKind::Changed,
    }
}

/// The column of a time.
pub const fn column_of(key: SortKey) -> &'static str {
    match key {
        SortKey::CreationTime => "created_at",
        SortKey::UpdateTime => "updated_at",
        SortKey::StateChangeTime => "changed_at",
    }
}

pub const fn direction(order: SortOrder) -> &'static str {
    match order {
        SortOrder::Ascending => "ASC",
        SortOrder::Descending => "DESC",
    }
}
