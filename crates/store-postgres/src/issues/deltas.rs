//! What transactions add to what issues are found by: rows of the tables of deltas, which meet no
//! other writer's. What new issues bring that few others share is written to its place at once.

use caseload_model::ids::DomainId;
use caseload_model::issue::TermKind;
use tokio::try_join;
use tokio_postgres::types::ToSql;

use super::super::engine::{Client, Column, CopyRows, Params};
use crate::engine::store_error;
use caseload_store::StoreError;
use caseload_store::issues::{IndexChanges, IndexUpdate, Step, TermUpdate, not_in_term};
use caseload_store::rowset::{LIST, encode_rows, place_of};

const COUNTS: &str = "issue_count_deltas (domain_id, facet, value, day, n)";
const SETS: &str = "issue_set_deltas (domain_id, kind, value, block, entered, gone)";
const PARTS: &str = "issue_values (domain_id, kind, value, block, part, rows)";
/// IndexChanges up to which a statement is cheaper than a copy, which takes round trips of its own.
const STATEMENT_MAX: usize = 500;

/// Rows that terms of a kind have to have in a chunk, and how many of them share a term at most, in
/// parts of them, for the kind's entries to be added as parts: so few of them come to one set.
const PARTS_ROWS_MIN: usize = 1000;
const PARTS_SHARING: usize = 20;
/// Bytes of an entry's list of rows up to which an import continues it.
const LIST_BYTES_MAX: usize = 512;

/// IndexChanges as they are stored.
pub(super) struct Deltas {
    update: IndexUpdate,
    copied: Option<CopiedDeltas>,
    entries: Option<SparseEntries>,
}

/// IndexChanges in the form of copies.
struct CopiedDeltas {
    counts: CopyRows,
    sets: CopyRows,
}

impl Deltas {
    /// Of any changes.
    pub(super) fn new(domain: DomainId, changes: IndexChanges) -> Result<Self, StoreError> {
        Self::of(domain, changes.finish(), None)
    }

    /// Of issues that are new. Their sparse terms are written where they belong at once. Whoever
    /// keeps them has locked the domain's clock: their rows lie behind all others, and nobody else
    /// writes entries.
    pub(super) fn of_new(domain: DomainId, changes: IndexChanges) -> Result<Self, StoreError> {
        let update = changes.finish();
        let entries = SparseEntries::new(domain, &update)?;
        Self::of(domain, update, Some(entries))
    }

    fn of(
        domain: DomainId,
        update: IndexUpdate,
        entries: Option<SparseEntries>,
    ) -> Result<Self, StoreError> {
        let many = update.terms().nth(STATEMENT_MAX).is_some();
        let copied = if many || entries.is_some() {
            let is_delta = |kind: TermKind| entries.is_none() || !kind.is_sparse();
            Some(CopiedDeltas::new(domain, &update, is_delta)?)
        } else {
            None
        };
        Ok(Self { update, copied, entries })
    }

    /// Keeps what the changes come to.
    pub(super) async fn keep(self, client: &Client, domain: DomainId) -> Result<(), StoreError> {
        let Some(CopiedDeltas { counts, sets }) = self.copied else {
            return insert(client, domain, &self.update).await;
        };
        let of_counts = client.prepare_copy(COUNTS).await?;
        let of_sets = client.prepare_copy(SETS).await?;
        let SparseEntries { parts: in_parts, kinds, values, blocks, rows } =
            self.entries.unwrap_or_default();
        let (parts, keep_entries) =
            (client.prepare_copy(PARTS).await?, client.prepare(&keep_entries()).await?);
        try_join!(
            async { client.copy_rows(&of_counts, counts).await.map_err(store_error) },
            async { client.copy_rows(&of_sets, sets).await.map_err(store_error) },
            async {
                match in_parts {
                    Some(rows) => Ok(client.copy_rows(&parts, rows).await.map_err(store_error)?),
                    None => Ok(()),
                }
            },
            async {
                if rows.is_empty() {
                    return Ok(0);
                }
                let params: Params<'_> = &[&domain.0, &kinds, &values, &blocks, &rows];
                client.prepared_execute(&keep_entries, params).await
            },
        )?;
        Ok(())
    }
}

impl CopiedDeltas {
    fn new(
        domain: DomainId,
        update: &IndexUpdate,
        is_delta: impl Fn(TermKind) -> bool,
    ) -> Result<Self, StoreError> {
        let (mut counts, mut sets) = (CopyRows::new(), CopyRows::new());
        for (facet, value, day, n) in update.counters() {
            counts.row(5).add(domain.0).add(i16::from(facet)).add(value).add(day).add(n);
        }
        for steps in update.terms().filter(|steps| is_delta(steps.kind)) {
            let [entered, gone] = both(&steps)?;
            sets.row(6)
                .add(domain.0)
                .add(steps.kind.code() as i16)
                .add(steps.value)
                .add(i64::from(steps.block))
                .add(entered.as_deref())
                .add(gone.as_deref());
        }
        Ok(Self { counts, sets })
    }
}

/// SparseEntries of sparse terms: which rows enter each.
#[derive(Default)]
struct SparseEntries {
    /// Those that are added as parts.
    parts: Option<CopyRows>,
    /// The others.
    kinds: Column,
    values: Column,
    blocks: Column,
    rows: Column,
}

impl SparseEntries {
    fn new(domain: DomainId, update: &IndexUpdate) -> Result<Self, StoreError> {
        let mut entries = Self::default();
        let in_parts_kinds = kinds_in_parts(update);
        for steps in update.terms().filter(|steps| steps.kind.is_sparse()) {
            let [Some(entered), None] = both(&steps)? else {
                return Err(not_in_term(steps.kind));
            };
            let (kind, block) = (steps.kind.code() as i16, i64::from(steps.block));
            if in_parts_kinds.contains(&steps.kind) {
                let first = steps.steps.first().map_or(0, |(row, _)| i32::from(place_of(*row)));
                let parts = entries.parts.get_or_insert_with(CopyRows::new).row(6);
                parts.add(domain.0).add(kind).add(steps.value).add(block).add(first);
                parts.add(&entered[..]);
            } else {
                entries.kinds.add(kind);
                entries.values.add(steps.value);
                entries.blocks.add(block);
                entries.rows.add(&entered[..]);
            }
        }
        Ok(entries)
    }
}

/// The sparse kinds whose terms are nearly as many as their rows.
fn kinds_in_parts(update: &IndexUpdate) -> Vec<TermKind> {
    let mut kinds: Vec<(TermKind, usize, usize)> = Vec::new();
    for steps in update.terms().filter(|steps| steps.kind.is_sparse()) {
        let added = steps.steps.len();
        match kinds.iter_mut().find(|(kind, ..)| *kind == steps.kind) {
            Some((_, terms, rows)) => (*terms, *rows) = (*terms + 1, *rows + added),
            None => kinds.push((steps.kind, 1, added)),
        }
    }
    kinds.retain(|(_, terms, rows)| {
        *rows >= PARTS_ROWS_MIN && (rows - terms) * PARTS_SHARING <= *rows
    });
    kinds.into_iter().map(|(kind, ..)| kind).collect()
}

/// Adds entries, continues those that are short lists, and leaves the rest to the fold.
fn keep_entries() -> String {
    format!(
        "WITH new AS (
             SELECT n.kind, n.value, n.block, n.rows
             FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[])
             AS n(kind, value, block, rows)),
         kept AS (
             INSERT INTO issue_values AS v (domain_id, kind, value, block, part, rows)
             SELECT $1, new.kind, new.value, new.block, -1, new.rows FROM new
             ORDER BY new.kind, new.block, new.value
             ON CONFLICT (domain_id, kind, block, value, part) DO UPDATE
             SET rows = v.rows || substring(excluded.rows FROM 2)
             WHERE v.domain_id = $1 AND get_byte(v.rows, 0) = {LIST}
             AND get_byte(excluded.rows, 0) = {LIST}
             AND octet_length(v.rows) + octet_length(excluded.rows) <= {LIST_BYTES_MAX}
             RETURNING kind, value, block)
         INSERT INTO {SETS}
         SELECT $1, new.kind, new.value, new.block, new.rows, NULL FROM new
         WHERE NOT EXISTS (SELECT 1 FROM kept WHERE kept.kind = new.kind
             AND kept.value = new.value AND kept.block = new.block)"
    )
}

/// The rows that enter a set and those that leave it.
fn both(changes: &TermUpdate<'_>) -> Result<[Option<Vec<u8>>; 2], StoreError> {
    let rows = |which: Step| -> Result<Option<Vec<u8>>, StoreError> {
        let rows = changes.steps.iter().filter(|(_, step)| *step == which);
        let rows: Vec<u32> = rows.map(|(row, _)| *row).collect();
        if rows.is_empty() { Ok(None) } else { encode_rows(rows.into_iter()).map(Some) }
    };
    Ok([rows(Step::Enters)?, rows(Step::Leaves)?])
}

/// Keeps changes by statements.
async fn insert(client: &Client, domain: DomainId, update: &IndexUpdate) -> Result<(), StoreError> {
    let (mut facets, mut values, mut days, mut sums) = (vec![], vec![], vec![], vec![]);
    for (facet, value, day, n) in update.counters() {
        facets.push(i16::from(facet));
        values.push(value);
        days.push(day);
        sums.push(n);
    }
    let counts = client
        .prepare(&format!(
            "INSERT INTO {COUNTS} SELECT $1, d.facet, d.value, d.day, d.n
             FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bigint[])
             AS d(facet, value, day, n)"
        ))
        .await?;
    let insert = client
        .prepare(&format!(
            "INSERT INTO {SETS} SELECT $1, d.kind, d.value, d.block, d.entered, d.gone
             FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bytea[])
             AS d(kind, value, block, entered, gone)"
        ))
        .await?;
    let (mut kinds, mut terms, mut blocks) = (vec![], vec![], vec![]);
    let (mut entered, mut gone) = (vec![], vec![]);
    for steps in update.terms() {
        let [enter, leave] = both(&steps)?;
        kinds.push(steps.kind.code() as i16);
        terms.push(steps.value);
        blocks.push(i64::from(steps.block));
        entered.push(enter);
        gone.push(leave);
    }
    let of_counts: [&(dyn ToSql + Sync); 5] = [&domain.0, &facets, &values, &days, &sums];
    let of_sets: [&(dyn ToSql + Sync); 6] = [&domain.0, &kinds, &terms, &blocks, &entered, &gone];
    try_join!(
        client.prepared_execute(&counts, &of_counts),
        client.prepared_execute(&insert, &of_sets),
    )?;
    Ok(())
}
