//! The counters and sets that the bare insertion writes: as many as the server has for the
//! generated issues, added up in memory and written at the end of the transaction. A set is a plain
//! list of row numbers here, which grows by appending; the server compresses its sets.

use anyhow::Result;
use foldhash::{HashMap, HashMapExt as _};
use rusqlite::Transaction;

const DAY_MS: i64 = 86_400_000;
/// The length of a span in days, which has a counter in addition to those of its days, and the
/// offset of its number.
const SPAN_DAYS: i64 = 32;
const SPANS_FROM: i64 = 1 << 40;

/// Kinds below this one have counters.
const FACETS_END: u8 = 10;

/// The index entries of one issue: its values by kind, and its times.
pub(super) struct IndexEntries<'i> {
    pub(super) values: &'i [(u8, &'i str)],
    pub(super) state: &'i str,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) changed_at: i64,
}

/// The counters and sets of one transaction, by kind, value and number: of a day, or of a block of
/// rows.
#[derive(Default)]
pub(super) struct IndexWrites {
    counters: HashMap<Box<[u8]>, i64>,
    sets: HashMap<Box<[u8]>, Vec<u8>>,
    /// A buffer in which keys are put together.
    key: Vec<u8>,
}

impl IndexWrites {
    pub(super) fn add(&mut self, row: i64, found: &IndexEntries<'_>) {
        let created = found.created_at / DAY_MS;
        for (kind, value) in found.values {
            if *kind < FACETS_END {
                self.count(*kind, value.as_bytes(), created);
            }
            self.set(*kind, value.as_bytes(), row);
        }
        let (updated, changed) = (found.updated_at / DAY_MS, found.changed_at / DAY_MS);
        self.count(10, b"", updated);
        self.count(11, found.state.as_bytes(), changed);
        for (kind, day) in [(10, created), (11, updated), (12, changed)] {
            self.set(kind, &day.to_be_bytes(), row);
        }
    }

    fn put_together(&mut self, kind: u8, value: &[u8], number: i64) {
        self.key.clear();
        self.key.push(kind);
        self.key.extend_from_slice(value);
        self.key.extend_from_slice(&number.to_be_bytes());
    }

    fn count(&mut self, facet: u8, value: &[u8], day: i64) {
        self.put_together(facet, value, day);
        match self.counters.get_mut(self.key.as_slice()) {
            Some(n) => *n += 1,
            None => drop(self.counters.insert(self.key.as_slice().into(), 1)),
        }
    }

    fn set(&mut self, kind: u8, value: &[u8], row: i64) {
        self.put_together(kind, value, row >> 16);
        let place = (row as u16).to_le_bytes();
        match self.sets.get_mut(self.key.as_slice()) {
            Some(places) => places.extend_from_slice(&place),
            None => drop(self.sets.insert(self.key.as_slice().into(), place.to_vec())),
        }
    }

    /// The counters of days, and those of spans, which are their sums.
    fn counters(&mut self) -> Vec<(Box<[u8]>, i64)> {
        let days = std::mem::take(&mut self.counters);
        let mut spans: HashMap<Box<[u8]>, i64> = HashMap::new();
        for (key, n) in &days {
            let (kind, value, day) = parts(key);
            self.put_together(kind, value, SPANS_FROM + day / SPAN_DAYS);
            *spans.entry(self.key.as_slice().into()).or_default() += n;
        }
        let mut all: Vec<_> = days.into_iter().chain(spans).collect();
        all.sort_unstable();
        all
    }

    /// Writes the counters and sets in the order of their keys.
    pub(super) fn write(mut self, tx: &Transaction<'_>) -> Result<()> {
        let mut counter = tx.prepare_cached(
            "INSERT INTO issue_counts (domain_id, facet, value, day, n) VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (domain_id, facet, value, day) DO UPDATE SET n = n + excluded.n",
        )?;
        for (key, n) in self.counters() {
            let (facet, value, day) = parts(&key);
            counter.execute(rusqlite::params![facet, value, day, n])?;
        }
        let mut set = tx.prepare_cached(
            "INSERT INTO issue_sets (domain_id, kind, value, block, rows)
             VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (domain_id, kind, value, block)
             DO UPDATE SET rows = CAST(rows || excluded.rows AS BLOB)",
        )?;
        let mut sets: Vec<_> = self.sets.into_iter().collect();
        sets.sort_unstable();
        for (key, rows) in sets {
            let (kind, value, block) = parts(&key);
            set.execute(rusqlite::params![kind, value, block, rows])?;
        }
        Ok(())
    }
}

/// Takes a key apart into kind, value and number.
fn parts(key: &[u8]) -> (u8, &[u8], i64) {
    let (kind, rest) = key.split_first().unwrap_or((&0, &[]));
    let (value, number) = rest.split_at(rest.len().saturating_sub(size_of::<i64>()));
    (*kind, value, number.try_into().map(i64::from_be_bytes).unwrap_or_default())
}
