//! Makes the sets of spans of a store from before them, once, when the store is opened. The rules
//! are shared ([`SpanSets`]); here are the statements that read and write sets.

use caseload_model::ids::DomainId;
use caseload_store::issues::{SpanSets, UNITED};
use caseload_store::rowset::{block_of, row_number};
use caseload_store::sql::Sql as _;
use caseload_store::{StoreError, values};

use super::sets;
use crate::engine::BlockingClient;

const INSERT_DENSE: &str = "INSERT INTO issue_sets (domain_id, kind, value, block, rows)
     SELECT $1, n.kind, n.value, $2, n.rows
     FROM unnest($3::smallint[], $4::bytea[], $5::bytea[]) AS n (kind, value, rows)";
const INSERT_SPARSE: &str = "INSERT INTO issue_values (domain_id, kind, value, block, rows)
     SELECT $1, n.kind, n.value, $2, n.rows
     FROM unnest($3::smallint[], $4::bytea[], $5::bytea[]) AS n (kind, value, rows)";

/// Makes the missing sets, in the transaction of the caller.
pub(crate) fn complete_spans(db: &BlockingClient<'_>) -> Result<(), StoreError> {
    // One domain after the other: in a cluster, each is on a node of its own.
    let domains = db.list("SELECT id FROM domains ORDER BY id", &[], |row| row.get(0))?;
    for domain in domains.into_iter().map(DomainId) {
        let last_row = "SELECT last_issue_row FROM domain_clocks WHERE domain_id = ?1";
        let last = db.find(last_row, values![domain], |row| row.get::<i64>(0))?;
        for block in 0..=block_of(row_number(last.unwrap_or_default())?) {
            complete_block(db, domain, block)?;
        }
    }
    Ok(())
}

fn complete_block(db: &BlockingClient<'_>, domain: DomainId, block: u32) -> Result<(), StoreError> {
    let (domain, number) = (domain.0, i64::from(block));
    let mut sets = SpanSets::default();
    for kind in UNITED {
        let code = kind.code() as i16;
        let select = sets::select(kind, "block = $3");
        let found = db.wait(db.client().rows(&select, &[&domain, &code, &number]))?;
        sets::visit(&found, |value, rows| sets.add(kind, value, rows))?;
    }
    let (dense, sparse): (Vec<_>, Vec<_>) =
        sets.finish()?.into_iter().partition(|(kind, ..)| !kind.is_sparse());
    for (insert, sets) in [(INSERT_DENSE, dense), (INSERT_SPARSE, sparse)] {
        let kinds: Vec<i16> = sets.iter().map(|(kind, ..)| kind.code() as i16).collect();
        let values: Vec<&[u8]> = sets.iter().map(|(_, value, _)| &value[..]).collect();
        let rows: Vec<&[u8]> = sets.iter().map(|(.., rows)| &rows[..]).collect();
        db.wait(db.client().execute(insert, &[&domain, &number, &kinds, &values, &rows]))?;
    }
    Ok(())
}
