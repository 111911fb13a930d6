//! Reading profiles for the get actions, from committed data. How a profile is shown is the model's
//! business; nothing is written here.

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::{
    StoredAppProfile, render_app, render_core, show_app_gets, show_core_gets,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use tokio_postgres::Row;

use super::super::engine::Client;
use super::super::rows::{instant, text};
use super::{profile_id, sound};
use caseload_store::StoreError;

/// Adds the records of the entries to `out`.
pub(crate) async fn get_core(
    client: &Client,
    domain: DomainId,
    payload: &[u8],
    entries: &[PreparedEntry<CoreProfileId>],
    out: &mut ChunkRecords,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = sound(entries).map(|id| id.0 as i64).collect();
    let found = client
        .rows(
            "SELECT id, fields, created_at, updated_at FROM core_profiles
             WHERE domain_id = $1 AND id = ANY ($2)",
            &[&domain.0, &ids],
        )
        .await?;
    let rows: HashMap<CoreProfileId, &Row> =
        found.iter().map(|row| (profile_id(row, 0), row)).collect();
    show_core_gets(payload, entries, out, |id, out| {
        let Some(row) = rows.get(id) else { return Ok(false) };
        render_core(*id, instant(row, 2), row.get(1), instant(row, 3), out);
        Ok(true)
    })
}

/// Adds the records of the entries to `out`.
pub(crate) async fn get_app(
    client: &Client,
    domain: DomainId,
    payload: &[u8],
    entries: &[PreparedEntry<String>],
    out: &mut ChunkRecords,
) -> Result<(), StoreError> {
    let pids: Vec<&[u8]> = sound(entries).map(String::as_bytes).collect();
    let found = client
        .rows(
            "SELECT pid, app_id, name, emails, fields, created_at, updated_at FROM app_profiles
             WHERE domain_id = $1 AND pid = ANY ($2)",
            &[&domain.0, &pids],
        )
        .await?;
    let rows: HashMap<&[u8], &Row> = found.iter().map(|row| (row.get(0), row)).collect();
    show_app_gets(payload, entries, out, |pid, out| {
        let Some(row) = rows.get(pid.as_bytes()) else { return Ok(false) };
        let profile = StoredAppProfile {
            app_id: text(row, 1)?,
            name: text(row, 2)?,
            emails: row.get(3),
            fields: row.get(4),
            created_at: instant(row, 5),
            updated_at: instant(row, 6),
        };
        render_app(pid, &profile, out);
        Ok(true)
    })
}
