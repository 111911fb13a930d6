//! What the bare insertion keeps to find issues by: as many counters and sets of rows as the server
//! keeps for the generated issues, added up in memory and written at the end of the transaction.
//! A set is a plain list of places here, which is appended to; the server's are compressed.

use std::collections::HashMap;

use anyhow::Result;
use rusqlite::Transaction;

const DAY_MS: i64 = 86_400_000;
/// Days of a span, which has a counter beside those of its days, and what its number begins at.
const SPAN_DAYS: i64 = 32;
const SPANS_FROM: i64 = 1 << 40;

/// Kinds below it have counters.
const FACETS_END: u8 = 10;

/// What one issue is found by: its values by kind, and its times.
pub(super) struct Found<'i> {
    pub(super) values: &'i [(u8, &'i str)],
    pub(super) state: &'i str,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) changed_at: i64,
}

/// Counters and sets of one transaction.
#[derive(Default)]
pub(super) struct FoundBy {
    counters: HashMap<(u8, Vec<u8>, i64), i64>,
    sets: HashMap<(u8, Vec<u8>, i64), Vec<u8>>,
}

impl FoundBy {
    pub(super) fn add(&mut self, row: i64, found: &Found<'_>) {
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

    fn count(&mut self, facet: u8, value: &[u8], day: i64) {
        for day in [day, SPANS_FROM + day / SPAN_DAYS] {
            *self.counters.entry((facet, value.to_vec(), day)).or_default() += 1;
        }
    }

    fn set(&mut self, kind: u8, value: &[u8], row: i64) {
        let places = self.sets.entry((kind, value.to_vec(), row >> 16)).or_default();
        places.extend_from_slice(&(row as u16).to_le_bytes());
    }

    /// Writes them in the order of their keys.
    pub(super) fn keep(self, tx: &Transaction<'_>) -> Result<()> {
        let mut counter = tx.prepare_cached(
            "INSERT INTO issue_counts (domain_id, facet, value, day, n) VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (domain_id, facet, value, day) DO UPDATE SET n = n + excluded.n",
        )?;
        let mut counters: Vec<_> = self.counters.into_iter().collect();
        counters.sort_unstable();
        for ((facet, value, day), n) in counters {
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
        for ((kind, value, block), rows) in sets {
            set.execute(rusqlite::params![kind, value, block, rows])?;
        }
        Ok(())
    }
}
