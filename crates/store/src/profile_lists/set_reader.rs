//! Reads the sets of profiles for a list: which of some profiles fulfil a condition. Of each set
//! only the rows are read that may have one of the profiles asked for, and each row once.

use std::collections::BTreeMap;

use caseload_model::profile_query::{ProfileSet, SetCondition};

use super::id_words::IdWords;
use super::rows::ProfileSource;
use crate::profile_sets::{IdWord, SetRow, read_words};
use crate::{StoreError, values};

/// The rows of a set that may have ids from `?4` to `?5`.
const ROWS: &str = "SELECT s.kind, s.value, s.first_id, s.n, s.ids FROM profile_sets s
     WHERE s.domain_id = ?1 AND s.kind = ?2 AND s.value = ?3 AND s.first_id <= ?5
     AND s.first_id >= coalesce((SELECT max(b.first_id) FROM profile_sets b
         WHERE b.domain_id = ?1 AND b.kind = ?2 AND b.value = ?3 AND b.first_id <= ?4), ?4)";

/// One set, as far as it was read.
#[derive(Debug)]
pub(super) struct SetReader {
    set: Option<ProfileSet>,
    /// Ascending words by the first id of their row; two rows may have parts of one word.
    rows: BTreeMap<i64, Vec<IdWord>>,
    /// All ids from the first to the second number were read.
    loaded: Option<(i64, i64)>,
}

impl SetReader {
    fn of(set: ProfileSet) -> Self {
        Self { set: Some(set), rows: BTreeMap::new(), loaded: None }
    }

    /// A set of exactly these ids.
    fn of_ids(ids: IdWords) -> Self {
        let rows = [(ids.span().0, ids.words)].into();
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
            let mut words = Vec::new();
            read_words(row.key.2, &row.members, &mut words)?;
            self.rows.insert(row.key.2, words);
            Ok(())
        })?;
        self.loaded = Some(all);
        Ok(())
    }

    /// Adds to `marks` those ids of the `words` that are in the set.
    fn mark(&self, words: &IdWords, marks: &mut [u64]) {
        let (first, last) = words.span();
        let words = &words.words;
        let begin = self.rows.range(..=first).next_back().map_or(first, |(begin, _)| *begin);
        let mut at = 0;
        for (word, bits) in self.rows.range(begin..=last).flat_map(|(_, row)| row) {
            while words.get(at).is_some_and(|wanted| wanted.0 < *word) {
                at += 1;
            }
            match words.get(at) {
                // The next row may have further ids of the word.
                Some(wanted) if wanted.0 == *word => marks[at] |= bits,
                Some(_) => {}
                None => return,
            }
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

    /// The condition that a profile is one of these.
    pub(super) fn of_ids(ids: IdWords) -> Self {
        Self { readers: vec![SetReader::of_ids(ids)], negated: false }
    }

    /// Removes the ids that do not fulfil the condition.
    fn exclude<S: ProfileSource>(
        &mut self,
        source: &S,
        ids: &mut IdWords,
    ) -> Result<(), StoreError> {
        let (from, until) = ids.span();
        let mut marks = vec![0; ids.words.len()];
        for reader in &mut self.readers {
            reader.load(source, from, until)?;
            reader.mark(ids, &mut marks);
        }
        for ((_, bits), mark) in ids.words.iter_mut().zip(marks) {
            *bits &= if self.negated { !mark } else { mark };
        }
        ids.words.retain(|word| word.1 != 0);
        Ok(())
    }

    /// All ids that the sets have.
    pub(super) fn all<S: ProfileSource>(&mut self, source: &S) -> Result<IdWords, StoreError> {
        let mut words = Vec::new();
        for reader in &mut self.readers {
            reader.load(source, i64::MIN, i64::MAX)?;
            reader.rows.values().for_each(|row| words.extend_from_slice(row));
        }
        Ok(IdWords::of(words))
    }
}

/// Removes the ids whose profiles do not fulfil all conditions.
pub(super) fn fulfilling<'c, S: ProfileSource>(
    source: &S,
    conditions: impl Iterator<Item = &'c mut Members>,
    ids: &mut IdWords,
) -> Result<(), StoreError> {
    for condition in conditions {
        if ids.words.is_empty() {
            break;
        }
        condition.exclude(source, ids)?;
    }
    Ok(())
}
