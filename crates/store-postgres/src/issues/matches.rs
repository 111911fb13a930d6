//! How PostgreSQL finds the matches of a query: all leaves of the set are fetched in one flight,
//! and the set is evaluated from the answers. Spans of time follow, because the cheaper way to
//! apply them depends on how many issues the set has.

use caseload_model::ids::DomainId;
use caseload_model::issue::TermRange;
use caseload_store::StoreError;
use caseload_store::query::find::within;
use caseload_store::query::{Answers, Leaf, Matches, Source};
use caseload_store::rowset::row_number;
use caseload_store::text_index::candidates;
use futures_util::future::{try_join, try_join_all};
use roaring::RoaringBitmap;
use tokio_postgres::{Row, Statement};

use super::sets::{self, TermQuestion};
use crate::engine::{BlockingClient, Client};

/// The issues of a domain in the set and the spans; `source` are the same issues.
pub(super) fn find(
    source: &impl Source<Error = StoreError>,
    db: &BlockingClient<'_>,
    domain: DomainId,
    matches: &Matches,
) -> Result<RoaringBitmap, StoreError> {
    let leaves = matches.filters.leaves();
    let mut rows = fetch(db, domain, &leaves)?;
    for (leaf, rows) in leaves.iter().zip(&mut rows) {
        if let Leaf::Text(text) = leaf {
            *rows = candidates(db, domain, text)?;
        }
    }
    let mut answers = Answers::new(leaves, rows);
    let found = matches.filters.eval(&mut |leaf| Ok::<_, StoreError>(answers.take(leaf)))?;
    within(source, found, &matches.spans)
}

/// The rows of each leaf, from one flight: one statement for all terms, one for each range and
/// each list of ids.
fn fetch(
    db: &BlockingClient<'_>,
    domain: DomainId,
    leaves: &[&Leaf],
) -> Result<Vec<RoaringBitmap>, StoreError> {
    let domain = &domain.0;
    let terms = TermQuestion::new(leaves);
    let lookups: Vec<(usize, Lookup<'_>)> = leaves
        .iter()
        .enumerate()
        .flat_map(|(number, leaf)| Lookup::of(leaf).into_iter().map(move |lookup| (number, lookup)))
        .collect();
    if terms.is_empty() && lookups.is_empty() {
        return Ok(vec![RoaringBitmap::new(); leaves.len()]);
    }
    let (of_terms, of_lookups) = db.wait(async {
        let client = db.client();
        // Everything is prepared before anything is sent.
        let select =
            if terms.is_empty() { None } else { Some(client.prepare(&terms.select()).await?) };
        let mut statements = Vec::with_capacity(lookups.len());
        for (_, lookup) in &lookups {
            statements.push(client.prepare(&lookup.select()).await?);
        }
        let of_terms = async {
            let Some(statement) = &select else { return Ok(Vec::new()) };
            client.prepared_rows(statement, &terms.parameters(domain)).await
        };
        let of_lookups = lookups
            .iter()
            .zip(&statements)
            .map(|((_, lookup), statement)| lookup.fetch(client, statement, domain));
        try_join(of_terms, try_join_all(of_lookups)).await
    })?;
    let mut answers = TermQuestion::answers(leaves.len(), &of_terms)?;
    for ((number, lookup), rows) in lookups.iter().zip(&of_lookups) {
        answers[*number] |= lookup.answer(rows)?;
    }
    Ok(answers)
}

/// A leaf, or a part of it, with a statement of its own.
enum Lookup<'l> {
    Range(&'l TermRange),
    Ids(Vec<i64>),
}

impl<'l> Lookup<'l> {
    fn of(leaf: &'l Leaf) -> Vec<Self> {
        match leaf {
            Leaf::Term { .. } | Leaf::Text(_) => Vec::new(),
            Leaf::Ranges(ranges) => ranges.iter().map(Self::Range).collect(),
            Leaf::Ids(ids) => {
                let ids = ids.iter().filter_map(|id| i64::try_from(*id).ok());
                vec![Self::Ids(ids.collect())]
            }
        }
    }

    fn select(&self) -> String {
        match self {
            Self::Range(range) => sets::select_range(range.kind),
            Self::Ids(_) => ROWS_OF_IDS.to_owned(),
        }
    }

    async fn fetch(
        &self,
        client: &Client,
        statement: &Statement,
        domain: &i64,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Range(TermRange { kind, from, until }) => {
                let kind = kind.code() as i16;
                client.prepared_rows(statement, &[domain, &kind, from, until]).await
            }
            Self::Ids(ids) => client.prepared_rows(statement, &[domain, ids]).await,
        }
    }

    fn answer(&self, rows: &[Row]) -> Result<RoaringBitmap, StoreError> {
        match self {
            Self::Range(_) => sets::union(rows),
            Self::Ids(_) => rows.iter().map(|row| row_number(row.get(0))).collect(),
        }
    }
}

/// The rows of some issues.
pub(super) const ROWS_OF_IDS: &str = "SELECT row FROM issues WHERE domain_id = $1 AND id = ANY($2)";
