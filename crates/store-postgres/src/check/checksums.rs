//! Compares each row with its checksum. The rules are in
//! [`caseload_store::check::checksums`], the columns in [`caseload_store::checksum`].

use std::pin::pin;

use caseload_store::StoreError;
use caseload_store::check::Findings;
use caseload_store::check::checksums::Compared;
use caseload_store::checksum::{ROW_SUMS, RowSum};
use futures_util::TryStreamExt;

use crate::domains::ids_and_names;
use crate::engine::{Client, store_error};
use crate::tx::ReadRow;

/// The columns of clocks; the last three are those of this backend.
static CLOCKS: RowSum = RowSum {
    table: "domain_clocks",
    columns: &[
        "domain_id",
        "last_issue_id",
        "last_core_profile_id",
        "last_created_at",
        "last_change_at",
        "last_app_number",
        "last_live_created_at",
        "stored_bytes",
        "last_profile_change_at",
        "last_task_seq",
        "last_issue_row",
    ],
    hashed: 0,
    checksum: "checksum",
};

pub(super) async fn rows(client: &Client, findings: &mut Findings) -> Result<(), StoreError> {
    let mut compared = Compared::default();
    for (domain, _) in ids_and_names(client).await? {
        for sum in ROW_SUMS.into_iter().chain([&CLOCKS]) {
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
