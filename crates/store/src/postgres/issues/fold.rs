//! Folding deltas into the counters and sets they belong to, in small transactions, so that readers
//! have few of them to add up. One fold at a time works on a domain, whichever server's; it alone
//! writes the base, so that no writer ever waits for it. What is folded are exactly the deltas that
//! were read, by their keys: one that commits meanwhile stays for the next fold. Deltas of a key
//! are folded in their order, so that no counter falls below zero on the way.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::TermKind;
use roaring::RoaringBitmap;

use super::super::engine::Client;
use super::sets::{apply, block_number};
use crate::StoreError;
use crate::issues::encode;

/// Deltas that one step folds.
const FOLDED: i64 = 2000;
/// The first half of the lock's name: any number that nobody else in the database is likely to use.
const LOCK_CLASS: i32 = 0x6361_7365;

/// One step; false where nothing was left to do, or another server is at it.
pub(super) async fn step(client: &Client, domain: DomainId) -> Result<bool, StoreError> {
    let locked = client
        .row("SELECT pg_try_advisory_xact_lock($1, $2)", &[&LOCK_CLASS, &(domain.0 as i32)])
        .await?;
    if !locked.get::<_, bool>(0) {
        return Ok(false);
    }
    let counts = counts(client, domain).await?;
    let sets = sets(client, domain).await?;
    Ok(counts >= FOLDED || sets >= FOLDED)
}

/// Folds counters; how many deltas there were.
async fn counts(client: &Client, domain: DomainId) -> Result<i64, StoreError> {
    let found = client
        .rows(
            "SELECT facet, value, day, seq, n FROM issue_count_deltas WHERE domain_id = $1
             ORDER BY facet, value, day, seq LIMIT $2",
            &[&domain.0, &FOLDED],
        )
        .await?;
    if found.is_empty() {
        return Ok(0);
    }
    let mut sums: BTreeMap<(i16, &[u8], i64), i64> = BTreeMap::new();
    for row in &found {
        *sums.entry((row.get(0), row.get(1), row.get(2))).or_default() += row.get::<_, i64>(4);
    }
    sums.retain(|_, sum| *sum != 0);
    let facets: Vec<i16> = sums.keys().map(|key| key.0).collect();
    let values: Vec<&[u8]> = sums.keys().map(|key| key.1).collect();
    let days: Vec<i64> = sums.keys().map(|key| key.2).collect();
    let by: Vec<i64> = sums.values().copied().collect();
    for statement in FOLD_COUNTS {
        client.execute(statement, &[&domain.0, &facets, &values, &days, &by]).await?;
    }
    let facets: Vec<i16> = found.iter().map(|row| row.get(0)).collect();
    let values: Vec<&[u8]> = found.iter().map(|row| row.get(1)).collect();
    let days: Vec<i64> = found.iter().map(|row| row.get(2)).collect();
    let seqs: Vec<i64> = found.iter().map(|row| row.get(3)).collect();
    client
        .execute(
            "DELETE FROM issue_count_deltas d
             USING unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[])
             AS k(facet, value, day, seq)
             WHERE d.domain_id = $1 AND d.facet = k.facet AND d.value = k.value AND d.day = k.day
             AND d.seq = k.seq",
            &[&domain.0, &facets, &values, &days, &seqs],
        )
        .await?;
    Ok(found.len() as i64)
}

/// Counters that come to zero are no rows.
const FOLD_COUNTS: [&str; 3] = [
    "DELETE FROM issue_counts c
     USING unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[])
     AS k(facet, value, day, n)
     WHERE c.domain_id = $1 AND c.facet = k.facet AND c.value = k.value AND c.day = k.day
     AND c.n = -k.n",
    "UPDATE issue_counts c SET n = c.n + k.n
     FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[])
     AS k(facet, value, day, n)
     WHERE c.domain_id = $1 AND c.facet = k.facet AND c.value = k.value AND c.day = k.day
     AND k.n < 0",
    "INSERT INTO issue_counts AS c (domain_id, facet, value, day, n)
     SELECT $1, k.facet, k.value, k.day, k.n
     FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[])
     AS k(facet, value, day, n) WHERE k.n > 0
     ON CONFLICT (domain_id, facet, value, day) DO UPDATE SET n = c.n + excluded.n",
];

/// Kind, value and block of a set.
type Key<'r> = (i16, &'r [u8], i64);

/// Folds sets; how many deltas there were.
async fn sets(client: &Client, domain: DomainId) -> Result<i64, StoreError> {
    let found = client
        .rows(
            "SELECT kind, value, block, seq, entered, gone FROM issue_set_deltas
             WHERE domain_id = $1 ORDER BY kind, value, block, seq LIMIT $2",
            &[&domain.0, &FOLDED],
        )
        .await?;
    if found.is_empty() {
        return Ok(0);
    }
    let mut sets: BTreeMap<Key<'_>, RoaringBitmap> = BTreeMap::new();
    for row in &found {
        sets.entry((row.get(0), row.get(1), row.get(2))).or_default();
    }
    for table in [&SETS, &VALUES] {
        let keys: Vec<Key<'_>> =
            sets.keys().copied().filter(|(kind, _, _)| table.holds(*kind)).collect();
        let (kinds, values, blocks) = columns(&keys);
        let base = client.rows(table.select, &[&domain.0, &kinds, &values, &blocks]).await?;
        for row in &base {
            let n: i64 = row.get(0);
            let Some(key) = keys.get((n - 1) as usize) else { continue };
            let block = block_number(key.2)?;
            apply(block, row.get(1), None, sets.entry(*key).or_default())?;
        }
    }
    for row in &found {
        let key: Key<'_> = (row.get(0), row.get(1), row.get(2));
        apply(block_number(key.2)?, row.get(4), row.get(5), sets.entry(key).or_default())?;
    }
    for table in [&SETS, &VALUES] {
        let of_table = || sets.iter().filter(|((kind, _, _), _)| table.holds(*kind));
        let empty: Vec<Key<'_>> =
            of_table().filter(|(_, rows)| rows.is_empty()).map(|(key, _)| *key).collect();
        let full: Vec<Key<'_>> =
            of_table().filter(|(_, rows)| !rows.is_empty()).map(|(key, _)| *key).collect();
        let blobs = full
            .iter()
            .filter_map(|key| sets.get(key))
            .map(|rows| encode(&mut rows.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        if !empty.is_empty() {
            let (kinds, values, blocks) = columns(&empty);
            client.execute(table.delete, &[&domain.0, &kinds, &values, &blocks]).await?;
        }
        if !full.is_empty() {
            let (kinds, values, blocks) = columns(&full);
            client.execute(table.write, &[&domain.0, &kinds, &values, &blocks, &blobs]).await?;
        }
    }
    let keys: Vec<Key<'_>> = found.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let (kinds, values, blocks) = columns(&keys);
    let seqs: Vec<i64> = found.iter().map(|row| row.get(3)).collect();
    client
        .execute(
            "DELETE FROM issue_set_deltas d
             USING unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[])
             AS k(kind, value, block, seq)
             WHERE d.domain_id = $1 AND d.kind = k.kind AND d.value = k.value
             AND d.block = k.block AND d.seq = k.seq",
            &[&domain.0, &kinds, &values, &blocks, &seqs],
        )
        .await?;
    Ok(found.len() as i64)
}

fn columns<'r>(keys: &[Key<'r>]) -> (Vec<i16>, Vec<&'r [u8]>, Vec<i64>) {
    let kinds = keys.iter().map(|key| key.0).collect();
    let values = keys.iter().map(|key| key.1).collect();
    let blocks = keys.iter().map(|key| key.2).collect();
    (kinds, values, blocks)
}

/// The statements on one of the two tables of sets.
struct Table {
    sparse: bool,
    select: &'static str,
    write: &'static str,
    delete: &'static str,
}

impl Table {
    /// Whether sets of a kind are in it.
    fn holds(&self, kind: i16) -> bool {
        TermKind::from_code(kind.into()).is_some_and(TermKind::is_sparse) == self.sparse
    }
}

const SETS: Table = Table {
    sparse: false,
    select: "SELECT k.n, s.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY
        AS k(kind, value, block, n)
        CROSS JOIN LATERAL (SELECT rows FROM issue_sets WHERE domain_id = $1 AND kind = k.kind
        AND value = k.value AND block = k.block OFFSET 0) s",
    write: "INSERT INTO issue_sets (domain_id, kind, value, block, rows)
        SELECT $1, k.kind, k.value, k.block, k.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[])
        AS k(kind, value, block, rows)
        ON CONFLICT (domain_id, kind, value, block) DO UPDATE SET rows = excluded.rows",
    delete: "DELETE FROM issue_sets s
        USING unnest($2::smallint[], $3::bytea[], $4::bigint[]) AS k(kind, value, block)
        WHERE s.domain_id = $1 AND s.kind = k.kind AND s.value = k.value AND s.block = k.block",
};

const VALUES: Table = Table {
    sparse: true,
    select: "SELECT k.n, s.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY
        AS k(kind, value, block, n)
        CROSS JOIN LATERAL (SELECT rows FROM issue_values WHERE domain_id = $1 AND kind = k.kind
        AND value = k.value AND block = k.block OFFSET 0) s",
    write: "INSERT INTO issue_values (domain_id, kind, value, block, rows)
        SELECT $1, k.kind, k.value, k.block, k.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[])
        AS k(kind, value, block, rows)
        ON CONFLICT (domain_id, kind, block, value) DO UPDATE SET rows = excluded.rows",
    delete: "DELETE FROM issue_values s
        USING unnest($2::smallint[], $3::bytea[], $4::bigint[]) AS k(kind, value, block)
        WHERE s.domain_id = $1 AND s.kind = k.kind AND s.value = k.value AND s.block = k.block",
};

/// The domains that have deltas, some of them at most.
pub(super) async fn domains(client: &Client) -> Result<Vec<DomainId>, StoreError> {
    let found = client
        .rows(
            "SELECT d.id FROM domains d
             WHERE EXISTS (SELECT 1 FROM issue_set_deltas s WHERE s.domain_id = d.id)
             OR EXISTS (SELECT 1 FROM issue_count_deltas c WHERE c.domain_id = d.id)",
            &[],
        )
        .await?;
    Ok(found.iter().map(|row| DomainId(row.get(0))).collect())
}
