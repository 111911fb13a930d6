//! What transactions add to what issues are found by: rows of the tables of deltas, which meet no
//! other writer's.

use caseload_model::ids::DomainId;
use tokio_postgres::types::{ToSql, Type};

use super::super::engine::Client;
use crate::StoreError;
use crate::issues::{Changes, SetSteps, Settled, Step, encode_rows};

const COUNTS: &str = "issue_count_deltas (domain_id, facet, value, day, n)";
const SETS: &str = "issue_set_deltas (domain_id, kind, value, block, entered, gone)";
/// Changes up to which a statement is cheaper than a copy, which takes round trips of its own.
const STATEMENT_MAX: usize = 500;

/// A change of a set, as it is stored.
struct Delta<'s> {
    kind: i16,
    value: &'s [u8],
    block: i64,
    entered: Option<Vec<u8>>,
    gone: Option<Vec<u8>>,
}

impl<'s> Delta<'s> {
    fn new(changes: &SetSteps<'s>) -> Result<Self, StoreError> {
        let rows = |which: Step| -> Result<Option<Vec<u8>>, StoreError> {
            let rows = changes.steps.iter().filter(|(_, step)| *step == which);
            let rows: Vec<u32> = rows.map(|(row, _)| *row).collect();
            if rows.is_empty() { Ok(None) } else { encode_rows(rows.into_iter()).map(Some) }
        };
        Ok(Self {
            kind: changes.kind.code() as i16,
            value: changes.value,
            block: changes.block.into(),
            entered: rows(Step::Enters)?,
            gone: rows(Step::Leaves)?,
        })
    }
}

/// Keeps what the changes come to.
pub(super) async fn keep(
    client: &Client,
    domain: DomainId,
    changes: Changes,
) -> Result<(), StoreError> {
    let settled = changes.settle();
    let sets = settled.terms().map(|steps| Delta::new(&steps)).collect::<Result<Vec<_>, _>>()?;
    if sets.len() <= STATEMENT_MAX {
        return state(client, domain, &settled, &sets).await;
    }
    let counts: Vec<_> = settled
        .counters()
        .map(|(facet, value, day, n)| (i16::from(facet), value, day, n))
        .collect();
    let rows = counts.iter().map(|(facet, value, day, n)| -> [&(dyn ToSql + Sync); 5] {
        [&domain.0, facet, value, day, n]
    });
    let types = [Type::INT8, Type::INT2, Type::BYTEA, Type::INT8, Type::INT8];
    client.copy(COUNTS, types, &rows.collect::<Vec<_>>()).await?;
    let rows = sets.iter().map(|delta| -> [&(dyn ToSql + Sync); 6] {
        let Delta { kind, value, block, entered, gone } = delta;
        [&domain.0, kind, value, block, entered, gone]
    });
    let types = [Type::INT8, Type::INT2, Type::BYTEA, Type::INT8, Type::BYTEA, Type::BYTEA];
    client.copy(SETS, types, &rows.collect::<Vec<_>>()).await?;
    Ok(())
}

/// The same by statements.
async fn state(
    client: &Client,
    domain: DomainId,
    settled: &Settled,
    sets: &[Delta<'_>],
) -> Result<(), StoreError> {
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
    let kinds: Vec<_> = sets.iter().map(|delta| delta.kind).collect();
    let terms: Vec<_> = sets.iter().map(|delta| delta.value).collect();
    let blocks: Vec<_> = sets.iter().map(|delta| delta.block).collect();
    let entered: Vec<_> = sets.iter().map(|delta| delta.entered.as_deref()).collect();
    let gone: Vec<_> = sets.iter().map(|delta| delta.gone.as_deref()).collect();
    let of_counts: [&(dyn ToSql + Sync); 5] = [&domain.0, &facets, &values, &days, &sums];
    let of_sets: [&(dyn ToSql + Sync); 6] = [&domain.0, &kinds, &terms, &blocks, &entered, &gone];
    tokio::try_join!(
        client.prepared_execute(&counts, &of_counts),
        client.prepared_execute(&insert, &of_sets),
    )?;
    Ok(())
}
