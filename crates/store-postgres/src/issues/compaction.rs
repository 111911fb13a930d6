//! Compaction: merges deltas into their counters and sets, in small transactions, so that readers
//! have few deltas to add up. Only one compaction works on a domain at a time, on whatever server.
//! Only compaction writes counters and dense sets, so no writer waits for it. Imports also write
//! sparse terms, under the domain's clock lock; compaction takes the same lock for these, last and
//! for few at a time. It merges exactly the deltas that it deletes: a delta that commits later
//! waits for the next compaction. The deltas of a key are merged in their order, so no counter
//! falls below zero in between.

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::ids::DomainId;
use caseload_model::issue::TermKind;
use roaring::RoaringBitmap;
use tokio_postgres::Row;

use crate::domains::{LOCK_DOMAIN, ids_and_names};
use crate::engine::Client;
use caseload_store::StoreError;
use caseload_store::rowset::{apply_delta, encode};

/// Deltas that one step merges: of counters and dense sets, and of sparse terms, for which it holds
/// the clock's lock.
const STEP_DELTAS: i64 = 5000;
const STEP_SPARSE_DELTAS: i64 = 500;
/// The first half of the lock's number, which no other program is likely to use.
const LOCK_CLASS: i32 = 0x6361_7365;
const LOCK_CLOCK: &str = "SELECT 1 FROM domain_clocks WHERE domain_id = $1 FOR NO KEY UPDATE";
/// Each key is looked up in an index. The planner cannot know that the keys are few.
const LOOK_UP: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; \
     SET LOCAL enable_mergejoin = off; SET LOCAL jit = off";

async fn look_up(client: &Client) -> Result<(), StoreError> {
    client.batch_each(&format!("{}; {LOOK_UP}", client.nodes().settings())).await
}

/// One step. Returns false if no delta remains, or if another server compacts the domain.
pub(super) async fn step(client: &Client, domain: DomainId) -> Result<bool, StoreError> {
    let locked = client
        .row("SELECT pg_try_advisory_xact_lock($1, $2)", &[&LOCK_CLASS, &(domain.0 as i32)])
        .await?;
    if !locked.get::<_, bool>(0) || client.row_opt(LOCK_DOMAIN, &[&domain.0]).await?.is_none() {
        return Ok(false);
    }
    look_up(client).await?;
    let counts: i64 = client.row(COUNTS, &[&domain.0, &STEP_DELTAS]).await?.get(0);
    let dense = sets(client, domain, &DENSE).await?;
    let sparse = sets(client, domain, &SPARSE).await?;
    Ok(counts >= STEP_DELTAS || dense >= STEP_DELTAS || sparse >= STEP_SPARSE_DELTAS)
}

/// Merges counters and returns the number of deltas. A counter of zero has no row.
const COUNTS: &str = "WITH chosen AS (
         SELECT facet, value, day, seq FROM issue_count_deltas WHERE domain_id = $1
         ORDER BY facet, value, day, seq LIMIT $2),
     taken AS (
         DELETE FROM issue_count_deltas d USING chosen
         WHERE d.domain_id = $1 AND d.facet = chosen.facet AND d.value = chosen.value
         AND d.day = chosen.day AND d.seq = chosen.seq
         RETURNING d.facet, d.value, d.day, d.n),
     sums AS (
         SELECT facet, value, day, sum(n)::bigint AS n FROM taken GROUP BY facet, value, day
         ORDER BY facet, value, day),
     zero AS (
         DELETE FROM issue_counts c USING sums
         WHERE c.domain_id = $1 AND c.facet = sums.facet AND c.value = sums.value
         AND c.day = sums.day AND c.n = -sums.n),
     fewer AS (
         UPDATE issue_counts c SET n = c.n + sums.n FROM sums
         WHERE c.domain_id = $1 AND c.facet = sums.facet AND c.value = sums.value
         AND c.day = sums.day AND sums.n < 0 AND c.n <> -sums.n),
     more AS (
         INSERT INTO issue_counts AS c (domain_id, facet, value, day, n)
         SELECT $1, facet, value, day, n FROM sums WHERE n > 0
         ON CONFLICT (domain_id, facet, value, day) DO UPDATE SET n = c.n + excluded.n)
     SELECT count(*) FROM taken";

/// Kind, value and block of a set.
type Key<'r> = (i16, &'r [u8], i64);

/// Merges the sets of one table and returns the number of deltas.
async fn sets(client: &Client, domain: DomainId, table: &Table) -> Result<i64, StoreError> {
    let sparse: Vec<i16> = TermKind::ALL
        .iter()
        .filter(|kind| kind.is_sparse())
        .map(|kind| kind.code() as i16)
        .collect();
    let found = client.rows(&table.take(), &[&domain.0, &sparse, &table.deltas]).await?;
    if found.is_empty() {
        return Ok(0);
    }
    if let Some(lock) = table.lock {
        client.execute(lock, &[&domain.0]).await?;
    }
    let mut deltas: Vec<_> = found.iter().collect();
    deltas.sort_unstable_by_key(|row| (key(row), row.get::<_, i64>(3)));
    merge(client, domain, table, found.iter().map(key).collect(), &deltas).await?;
    Ok(found.len() as i64)
}

/// Merges the stored sets and their deltas, each into one base.
async fn merge(
    client: &Client,
    domain: DomainId,
    table: &Table,
    keys: BTreeSet<Key<'_>>,
    deltas: &[&Row],
) -> Result<(), StoreError> {
    let keys: Vec<Key<'_>> = keys.into_iter().collect();
    let mut sets: BTreeMap<Key<'_>, RoaringBitmap> = BTreeMap::new();
    let (kinds, values, blocks) = columns(&keys);
    let base = client.rows(table.select, &[&domain.0, &kinds, &values, &blocks]).await?;
    for row in &base {
        let place: i64 = row.get(0);
        if let Some(key) = keys.get((place - 1) as usize) {
            apply_delta(block_number(key.2)?, row.get(1), None, sets.entry(*key).or_default())?;
        }
    }
    for row in deltas {
        let rows = sets.entry(key(row)).or_default();
        apply_delta(block_number(row.get(2))?, row.get(4), row.get(5), rows)?;
    }
    if let Some(parts) = table.parts {
        client.execute(parts, &[&domain.0, &kinds, &values, &blocks]).await?;
    }
    let (empty, full): (Vec<_>, Vec<_>) = sets.into_iter().partition(|(_, rows)| rows.is_empty());
    if !empty.is_empty() {
        let keys: Vec<Key<'_>> = empty.iter().map(|(key, _)| *key).collect();
        let (kinds, values, blocks) = columns(&keys);
        client.execute(table.delete, &[&domain.0, &kinds, &values, &blocks]).await?;
    }
    if !full.is_empty() {
        let keys: Vec<Key<'_>> = full.iter().map(|(key, _)| *key).collect();
        let (kinds, values, blocks) = columns(&keys);
        let blobs = full.into_iter().map(|(_, mut rows)| encode(&mut rows));
        let blobs = blobs.collect::<Result<Vec<_>, _>>()?;
        client.execute(table.write, &[&domain.0, &kinds, &values, &blocks, &blobs]).await?;
    }
    Ok(())
}

/// Sparse terms with several parts, in the order of the table, after a key.
const IN_PARTS: &str = "SELECT kind, value, block FROM issue_values
     WHERE domain_id = $1 AND (kind, block, value) > ($2, $3, $4)
     GROUP BY kind, block, value HAVING count(*) > 1 ORDER BY kind, block, value LIMIT $5";

/// The kind, block and value after which [`join_parts`] continues.
pub(super) type SetKey = (i16, i64, Vec<u8>);

/// Joins the parts of some sets after `behind` and returns where to continue. Only a reader of the
/// table itself needs this.
pub(super) async fn join_parts(
    client: &Client,
    domain: DomainId,
    behind: &SetKey,
) -> Result<Option<SetKey>, StoreError> {
    look_up(client).await?;
    client.execute(LOCK_CLOCK, &[&domain.0]).await?;
    let (kind, block, value) = behind;
    let found =
        client.rows(IN_PARTS, &[&domain.0, kind, block, value, &STEP_SPARSE_DELTAS]).await?;
    let last = found.last().map(key).map(|(kind, value, block)| (kind, block, value.to_vec()));
    if !found.is_empty() {
        merge(client, domain, &SPARSE, found.iter().map(key).collect(), &[]).await?;
    }
    Ok(last)
}

fn key(delta: &Row) -> Key<'_> {
    (delta.get(0), delta.get(1), delta.get(2))
}

fn columns<'r>(keys: &[Key<'r>]) -> (Vec<i16>, Vec<&'r [u8]>, Vec<i64>) {
    let kinds = keys.iter().map(|key| key.0).collect();
    let values = keys.iter().map(|key| key.1).collect();
    let blocks = keys.iter().map(|key| key.2).collect();
    (kinds, values, blocks)
}

/// The statements on one of the two tables of sets.
struct Table {
    /// Deltas of a step.
    deltas: i64,
    /// How the kinds of the table compare with the sparse kinds.
    among: &'static str,
    /// Locks out the other writers of the table.
    lock: Option<&'static str>,
    select: &'static str,
    /// Deletes the parts that are not the base.
    parts: Option<&'static str>,
    write: &'static str,
    delete: &'static str,
}

impl Table {
    /// Deletes deltas, at most this many, and returns them.
    fn take(&self) -> String {
        let among = self.among;
        format!(
            "WITH chosen AS (
                SELECT kind, value, block, seq FROM issue_set_deltas
                WHERE domain_id = $1 AND kind {among}($2::smallint[])
                ORDER BY kind, value, block, seq LIMIT $3)
            DELETE FROM issue_set_deltas d USING chosen
            WHERE d.domain_id = $1 AND d.kind = chosen.kind AND d.value = chosen.value
            AND d.block = chosen.block AND d.seq = chosen.seq
            RETURNING d.kind, d.value, d.block, d.seq, d.entered, d.gone"
        )
    }
}

const DENSE: Table = Table {
    deltas: STEP_DELTAS,
    among: "<> ALL",
    lock: None,
    select: "SELECT k.n, s.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY
        AS k(kind, value, block, n)
        CROSS JOIN LATERAL (SELECT rows FROM issue_sets WHERE domain_id = $1 AND kind = k.kind
        AND value = k.value AND block = k.block OFFSET 0) s",
    parts: None,
    write: "INSERT INTO issue_sets (domain_id, kind, value, block, rows)
        SELECT $1, k.kind, k.value, k.block, k.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[])
        AS k(kind, value, block, rows)
        ON CONFLICT (domain_id, kind, value, block) DO UPDATE SET rows = excluded.rows",
    delete: "DELETE FROM issue_sets s
        USING unnest($2::smallint[], $3::bytea[], $4::bigint[]) AS k(kind, value, block)
        WHERE s.domain_id = $1 AND s.kind = k.kind AND s.value = k.value AND s.block = k.block",
};

const SPARSE: Table = Table {
    deltas: STEP_SPARSE_DELTAS,
    among: "= ANY",
    lock: Some(LOCK_CLOCK),
    select: "SELECT k.n, s.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY
        AS k(kind, value, block, n)
        CROSS JOIN LATERAL (SELECT rows FROM issue_values WHERE domain_id = $1 AND kind = k.kind
        AND value = k.value AND block = k.block OFFSET 0) s",
    parts: Some(
        "DELETE FROM issue_values s
        USING unnest($2::smallint[], $3::bytea[], $4::bigint[]) AS k(kind, value, block)
        WHERE s.domain_id = $1 AND s.kind = k.kind AND s.value = k.value AND s.block = k.block
        AND s.part >= 0",
    ),
    write: "INSERT INTO issue_values (domain_id, kind, value, block, part, rows)
        SELECT $1, k.kind, k.value, k.block, -1, k.rows
        FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[])
        AS k(kind, value, block, rows)
        ON CONFLICT (domain_id, kind, block, value, part) DO UPDATE SET rows = excluded.rows",
    delete: "DELETE FROM issue_values s
        USING unnest($2::smallint[], $3::bytea[], $4::bigint[]) AS k(kind, value, block)
        WHERE s.domain_id = $1 AND s.kind = k.kind AND s.value = k.value AND s.block = k.block",
};

/// Some domains that have deltas.
pub(super) async fn domains(client: &Client) -> Result<Vec<DomainId>, StoreError> {
    let there: BTreeSet<i64> =
        ids_and_names(client).await?.into_iter().map(|(domain, _)| domain).collect();
    let with_deltas = "SELECT domain_id FROM issue_set_deltas GROUP BY domain_id
         UNION SELECT domain_id FROM issue_count_deltas GROUP BY domain_id";
    let found = client.rows(with_deltas, &[]).await?;
    let found = found.iter().map(|row| row.get(0)).filter(|domain| there.contains(domain));
    Ok(found.map(DomainId).collect())
}

fn block_number(block: i64) -> Result<u32, StoreError> {
    u32::try_from(block).map_err(|_| StoreError::Corrupt("a block without a number".to_owned()))
}
