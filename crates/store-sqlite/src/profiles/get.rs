//! Reading core profiles for the get actions and for updates. How a profile is shown is the model's
//! business.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{named_core_profiles, render_core, show_core_gets};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use caseload_store::checksum::CORE_PROFILES;

use super::by_id::ById;
use crate::Fault;
use crate::tx::{DomainTx, ReadRow};

/// The columns of [`CORE_PROFILES`] and its checksum.
const COLUMNS: &str =
    "domain_id, coalesce(moved_id, seq), updated_at, fields, created_at, checksum";

/// Adds the records of the entries to `out`.
pub(super) fn core(
    tx: DomainTx<'_>,
    payload: &[u8],
    entries: &[PreparedEntry<CoreProfileId>],
    out: &mut ChunkRecords,
) -> Result<(), Fault> {
    let mut profiles = ById::of(tx.conn, tx.domain, COLUMNS)?;
    let mut profiles = profiles.in_order(named_core_profiles(entries))?;
    show_core_gets(payload, entries, out, |id, out| {
        profiles.next(*id, |row| {
            CORE_PROFILES.require(&ReadRow(row))?;
            // Straight from the page into the text: there are thousands of them.
            let fields = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
            let (created_at, updated_at) = (UnixMillis(row.get(4)?), UnixMillis(row.get(2)?));
            render_core(*id, created_at, fields, updated_at, out);
            Ok(())
        })
    })
}

/// The fields of those profiles that exist.
pub(super) fn core_fields(
    tx: DomainTx<'_>,
    ids: &[CoreProfileId],
) -> Result<HashMap<CoreProfileId, Vec<u8>>, Fault> {
    let mut profiles = ById::of(tx.conn, tx.domain, COLUMNS)?;
    let mut found = profiles.in_order(ids.iter().copied())?;
    let mut fields = HashMap::new();
    for id in ids {
        found.next(*id, |row| {
            CORE_PROFILES.require(&ReadRow(row))?;
            fields.insert(*id, row.get(3)?);
            Ok(())
        })?;
    }
    Ok(fields)
}
