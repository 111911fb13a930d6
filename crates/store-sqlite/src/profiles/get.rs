//! Reading profiles for the get actions and for updates. How a profile is shown is the model's
//! business.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    StoredAppProfile, named_core_profiles, render_app, render_core, show_app_gets, show_core_gets,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use rusqlite::params;

use super::by_id::ById;
use crate::Fault;
use crate::tx::DomainTx;

/// Adds the records of the entries to `out`.
pub(super) fn core(
    tx: DomainTx<'_>,
    payload: &[u8],
    entries: &[PreparedEntry<CoreProfileId>],
    out: &mut ChunkRecords,
) -> Result<(), Fault> {
    let mut profiles = ById::of(tx.conn, tx.domain, "fields, created_at, updated_at")?;
    let mut profiles = profiles.in_order(named_core_profiles(entries))?;
    show_core_gets(payload, entries, out, |id, out| {
        profiles.next(*id, |row| {
            // Straight from the page into the text: there are thousands of them.
            let fields = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            let (created_at, updated_at) = (UnixMillis(row.get(1)?), UnixMillis(row.get(2)?));
            render_core(*id, created_at, fields, updated_at, out);
            Ok(())
        })
    })
}

/// Adds the records of the entries to `out`.
pub(super) fn app(
    tx: DomainTx<'_>,
    payload: &[u8],
    entries: &[PreparedEntry<String>],
    out: &mut ChunkRecords,
) -> Result<(), Fault> {
    let mut select = tx.conn.prepare_cached(
        "SELECT app_id, name, emails, fields, created_at, updated_at FROM app_profiles
         WHERE domain_id = ?1 AND pid = ?2",
    )?;
    show_app_gets(payload, entries, out, |pid, out| {
        let mut rows = select.query(params![tx.domain.0, pid])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        let profile = StoredAppProfile {
            app_id: row.get(0)?,
            name: row.get(1)?,
            emails: row.get(2)?,
            fields: row.get(3)?,
            created_at: UnixMillis(row.get(4)?),
            updated_at: UnixMillis(row.get(5)?),
        };
        render_app(pid, &profile, out);
        Ok(true)
    })
}

/// The fields of those profiles that exist.
pub(super) fn core_fields(
    tx: DomainTx<'_>,
    ids: &[CoreProfileId],
) -> Result<HashMap<CoreProfileId, Vec<u8>>, Fault> {
    let mut profiles = ById::of(tx.conn, tx.domain, "fields")?;
    let mut found = profiles.in_order(ids.iter().copied())?;
    let mut fields = HashMap::new();
    for id in ids {
        found.next(*id, |row| {
            fields.insert(*id, row.get(0)?);
            Ok(())
        })?;
    }
    Ok(fields)
}
