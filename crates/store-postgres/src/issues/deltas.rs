//! Writes index updates as rows of the delta tables, and marks for the text index, so that no two
//! writers meet. Imports write the sparse terms of new issues directly to their table.

use caseload_model::ids::DomainId;
use caseload_model::issue::TermKind;
use tokio::join;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::engine::{Client, Column, CopyRows, Params, first_cause, store_error};
use caseload_store::StoreError;
use caseload_store::issues::{IndexChanges, IndexUpdate};
use caseload_store::rowset::{LIST, encode_rows, offset_of};
use caseload_store::term_changes::{TermStep, TermUpdate, not_in_term};
use caseload_store::text_index::TextMark;

const COUNTS: &str = "issue_count_deltas (domain_id, facet, value, day, n)";
const SETS: &str = "issue_set_deltas (domain_id, kind, value, block, entered, gone)";
const PARTS: &str = "issue_values (domain_id, kind, value, block, part, rows)";
/// Up to this number of changes, a statement is cheaper than a copy, which takes round trips of its
/// own.
const STATEMENT_MAX: usize = 500;

/// An import adds the sparse terms of a kind as parts, without reading, if it has at least this
/// many rows of the kind, and at most one row in so many shares its term: then few parts belong to
/// one set.
const PARTS_ROWS_MIN: usize = 1000;
const PARTS_SHARING: usize = 20;
/// An import appends to an entry up to this many bytes.
const LIST_BYTES_MAX: usize = 512;

/// An index update in the form in which it is stored.
pub(super) struct Deltas {
    update: IndexUpdate,
    copied: Option<CopiedDeltas>,
    entries: Option<SparseEntries>,
}

/// Deltas as rows to copy.
struct CopiedDeltas {
    counts: CopyRows,
    sets: CopyRows,
}

impl Deltas {
    /// Of any changes.
    pub(super) fn new(domain: DomainId, changes: IndexChanges) -> Result<Self, StoreError> {
        Self::of(domain, changes.finish(), None)
    }

    /// Of new issues. Their sparse terms go directly to their table. The caller has locked the
    /// domain's clock: no other transaction writes these entries, and the new rows follow all
    /// others.
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

    /// Writes the update.
    pub(super) async fn write(self, client: &Client, domain: DomainId) -> Result<(), StoreError> {
        let Some(CopiedDeltas { counts, sets }) = self.copied else {
            return insert(client, domain, &self.update).await;
        };
        let marks = Marks::prepare(client, &self.update.texts).await?;
        let of_counts = client.prepare_copy(COUNTS).await?;
        let of_sets = client.prepare_copy(SETS).await?;
        let SparseEntries { parts: in_parts, kinds, values, blocks, rows } =
            self.entries.unwrap_or_default();
        let (parts, write_entries) =
            (client.prepare_copy(PARTS).await?, client.prepare(&write_entries()).await?);
        let (counts, sets, parts, entries, marks) = join!(
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
                client.prepared_execute(&write_entries, params).await
            },
            marks.write(client, domain),
        );
        first_cause([counts, sets, parts, entries.map(drop), marks.map(drop)])
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

/// Entries of sparse terms: the rows that enter each.
#[derive(Default)]
struct SparseEntries {
    /// Entries that are added as parts.
    parts: Option<CopyRows>,
    /// The other entries.
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
                let first = steps.steps.first().map_or(0, |(row, _)| i32::from(offset_of(*row)));
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

/// The sparse kinds that have almost as many terms as rows.
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

/// Inserts entries, appends to short lists, and leaves the rest to compaction.
fn write_entries() -> String {
    format!(
        "WITH new AS (
             SELECT n.kind, n.value, n.block, n.rows
             FROM unnest($2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[])
             AS n(kind, value, block, rows)),
         stored AS (
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
         WHERE NOT EXISTS (SELECT 1 FROM stored WHERE stored.kind = new.kind
             AND stored.value = new.value AND stored.block = new.block)"
    )
}

/// The rows that enter a set and those that leave it.
fn both(changes: &TermUpdate<'_>) -> Result<[Option<Vec<u8>>; 2], StoreError> {
    let rows = |which: TermStep| -> Result<Option<Vec<u8>>, StoreError> {
        let rows = changes.steps.iter().filter(|(_, step)| *step == which);
        let rows: Vec<u32> = rows.map(|(row, _)| *row).collect();
        if rows.is_empty() { Ok(None) } else { encode_rows(rows.into_iter()).map(Some) }
    };
    Ok([rows(TermStep::Enters)?, rows(TermStep::Leaves)?])
}

/// Writes changes by statements.
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
    let marks = Marks::prepare(client, &update.texts).await?;
    let of_counts: [&(dyn ToSql + Sync); 5] = [&domain.0, &facets, &values, &days, &sums];
    let of_sets: [&(dyn ToSql + Sync); 6] = [&domain.0, &kinds, &terms, &blocks, &entered, &gone];
    let (counts, sets, marks) = join!(
        client.prepared_execute(&counts, &of_counts),
        client.prepared_execute(&insert, &of_sets),
        marks.write(client, domain),
    );
    first_cause([counts, sets, marks])
}

/// Marks for the text index.
struct Marks {
    insert: Option<Statement>,
    first: Vec<i64>,
    last: Vec<i64>,
    erased: Vec<bool>,
}

impl Marks {
    async fn prepare(client: &Client, marks: &[TextMark]) -> Result<Self, StoreError> {
        const INSERT: &str = "INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
             SELECT $1, m.first_row, m.last_row, m.erased
             FROM unnest($2::bigint[], $3::bigint[], $4::boolean[])
             AS m(first_row, last_row, erased)";
        let insert = if marks.is_empty() { None } else { Some(client.prepare(INSERT).await?) };
        Ok(Self {
            insert,
            first: marks.iter().map(|mark| mark.first.into()).collect(),
            last: marks.iter().map(|mark| mark.last.into()).collect(),
            erased: marks.iter().map(|mark| mark.erased).collect(),
        })
    }

    async fn write(&self, client: &Client, domain: DomainId) -> Result<u64, StoreError> {
        let Some(insert) = &self.insert else { return Ok(0) };
        let params: Params<'_> = &[&domain.0, &self.first, &self.last, &self.erased];
        client.prepared_execute(insert, params).await
    }
}
