//! What transactions add to what issues are found by: rows of the tables of deltas, which meet no
//! other writer's.

use caseload_model::ids::DomainId;
use tokio::try_join;
use tokio_postgres::types::ToSql;

use super::super::engine::{Client, CopyRows};
use crate::StoreError;
use crate::issues::{Changes, SetSteps, Settled, Step, encode_rows};

const COUNTS: &str = "issue_count_deltas (domain_id, facet, value, day, n)";
const SETS: &str = "issue_set_deltas (domain_id, kind, value, block, entered, gone)";
/// Changes up to which a statement is cheaper than a copy, which takes round trips of its own.
const STATEMENT_MAX: usize = 500;

/// Changes as they are stored.
pub(super) struct Deltas {
    settled: Settled,
    copied: Option<Copied>,
}

/// Changes in the form of copies.
struct Copied {
    counts: CopyRows,
    sets: CopyRows,
}

impl Deltas {
    pub(super) fn new(domain: DomainId, changes: Changes) -> Result<Self, StoreError> {
        let settled = changes.settle();
        let many = settled.terms().nth(STATEMENT_MAX).is_some();
        let copied = if many { Some(Copied::new(domain, &settled)?) } else { None };
        Ok(Self { settled, copied })
    }

    /// Keeps what the changes come to.
    pub(super) async fn keep(self, client: &Client, domain: DomainId) -> Result<(), StoreError> {
        let Some(Copied { counts, sets }) = self.copied else {
            return state(client, domain, &self.settled).await;
        };
        let of_counts = client.prepare_copy(COUNTS).await?;
        let of_sets = client.prepare_copy(SETS).await?;
        try_join!(client.copy_rows(&of_counts, counts), client.copy_rows(&of_sets, sets))?;
        Ok(())
    }
}

impl Copied {
    fn new(domain: DomainId, settled: &Settled) -> Result<Self, StoreError> {
        let (mut counts, mut sets) = (CopyRows::new(), CopyRows::new());
        for (facet, value, day, n) in settled.counters() {
            counts.row(5).int8(domain.0).int2(facet.into()).bytes(value).int8(day).int8(n);
        }
        for steps in settled.terms() {
            let [entered, gone] = both(&steps)?;
            sets.row(6)
                .int8(domain.0)
                .int2(steps.kind.code() as i16)
                .bytes(steps.value)
                .int8(steps.block.into())
                .optional(entered.as_deref(), CopyRows::bytes)
                .optional(gone.as_deref(), CopyRows::bytes);
        }
        Ok(Self { counts, sets })
    }
}

/// The rows that enter a set and those that leave it.
fn both(changes: &SetSteps<'_>) -> Result<[Option<Vec<u8>>; 2], StoreError> {
    let rows = |which: Step| -> Result<Option<Vec<u8>>, StoreError> {
        let rows = changes.steps.iter().filter(|(_, step)| *step == which);
        let rows: Vec<u32> = rows.map(|(row, _)| *row).collect();
        if rows.is_empty() { Ok(None) } else { encode_rows(rows.into_iter()).map(Some) }
    };
    Ok([rows(Step::Enters)?, rows(Step::Leaves)?])
}

/// Keeps changes by statements.
async fn state(client: &Client, domain: DomainId, settled: &Settled) -> Result<(), StoreError> {
    let (mut facets, mut values, mut days, mut sums) = (vec![], vec![], vec![], vec![]);
    for (facet, value, day, n) in settled.counters() {
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
    for steps in settled.terms() {
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
