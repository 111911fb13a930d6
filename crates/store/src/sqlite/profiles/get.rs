//! Reading profiles for the get actions, on a reader and thus from committed data. How a profile is
//! shown is the model's business; nothing is written here.

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::{StoredAppProfile, StoredCoreProfile, plan_app_gets, plan_core_gets};
use caseload_model::record::{ChunkRecords, Prepared};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use crate::StoreError;

pub(in crate::sqlite) fn get_core(
    conn: &Connection,
    domain: DomainId,
    payload: &[u8],
    entries: &[Prepared<CoreProfileId>],
) -> Result<ChunkRecords, StoreError> {
    let mut select = conn.prepare_cached(
        "SELECT fields, created_at, updated_at FROM core_profiles
         WHERE domain_id = ?1 AND id = ?2",
    )?;
    let mut records = HashMap::new();
    for id in entries.iter().filter_map(|entry| entry.item.as_ref().ok()) {
        let found = select
            .query_row(params![domain.0, id.0 as i64], |row| {
                Ok(StoredCoreProfile {
                    fields: row.get(0)?,
                    created_at: UnixMillis(row.get(1)?),
                    updated_at: UnixMillis(row.get(2)?),
                })
            })
            .optional()?;
        records.extend(found.map(|profile| (*id, profile)));
    }
    Ok(plan_core_gets(payload, entries, &records))
}

pub(in crate::sqlite) fn get_app(
    conn: &Connection,
    domain: DomainId,
    payload: &[u8],
    entries: &[Prepared<String>],
) -> Result<ChunkRecords, StoreError> {
    let mut select = conn.prepare_cached(
        "SELECT app_id, name, emails, fields, created_at, updated_at FROM app_profiles
         WHERE domain_id = ?1 AND pid = ?2",
    )?;
    let mut records = HashMap::new();
    for pid in entries.iter().filter_map(|entry| entry.item.as_ref().ok()) {
        let found = select
            .query_row(params![domain.0, pid], |row| {
                Ok(StoredAppProfile {
                    app_id: row.get(0)?,
                    name: row.get(1)?,
                    emails: row.get(2)?,
                    fields: row.get(3)?,
                    created_at: UnixMillis(row.get(4)?),
                    updated_at: UnixMillis(row.get(5)?),
                })
            })
            .optional()?;
        records.extend(found.map(|profile| (pid.clone(), profile)));
    }
    Ok(plan_app_gets(payload, entries, &records))
}
