//! Compares the rows that have a checksum with it. The rules are in
//! [`caseload_store::check::checksums`], the columns in [`caseload_store::checksum`].

use std::pin::pin;

use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::checksums::Compared;
use caseload_store::checksum::ROW_SUMS;
use futures_util::TryStreamExt;

use crate::domains::ids_and_names;
use crate::engine::{Client, store_error};
use crate::tx::ReadRow;

pub(super) async fn rows(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut compared = Compared::default();
    for (domain, _) in ids_and_names(client).await? {
        for sum in ROW_SUMS {
            let (of_domain, select) = (sum.columns[0], sum.select());
            let select = format!("SELECT {select} FROM {} WHERE {of_domain} = $1", sum.table);
            let mut rows = pin!(client.stream(&select, [domain]).await?);
            while let Some(row) = rows.try_next().await.map_err(store_error)? {
                compared.row(findings, sum, &ReadRow(&row))?;
            }
        }
    }
    compared.end(findings);
    Ok(())
}
