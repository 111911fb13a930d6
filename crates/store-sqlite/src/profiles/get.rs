//! Reading core profiles for the get actions and for updates. How a profile is shown is the model's
//! business.

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{named_core_profiles, render_core, show_core_gets};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use caseload_store::checksum::require_core_profile;
use caseload_store::profile_sets::ProfileTimes;
use caseload_store::profiles::CoreProfiles;
use rusqlite::Row;

use super::by_id::ById;
use crate::Fault;
use crate::tx::DomainTx;

const COLUMNS: &str = "updated_at, fields, created_at, checksum";

/// A core profile straight from the page, without a copy: a get reads thousands of them.
struct CoreRow<'r> {
    created_at: UnixMillis,
    updated_at: UnixMillis,
    fields: &'r [u8],
}

impl<'r> CoreRow<'r> {
    /// Reads a row of [`COLUMNS`] and compares its checksum.
    fn of(tx: DomainTx<'_>, id: CoreProfileId, row: &'r Row<'_>) -> Result<Self, Fault> {
        let (updated_at, created_at) = (UnixMillis(row.get(0)?), UnixMillis(row.get(2)?));
        let fields = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let key = (tx.domain, id.0.cast_signed());
        require_core_profile(key, (created_at, updated_at), fields, row.get(3)?)?;
        Ok(Self { created_at, updated_at, fields })
    }
}

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
            let CoreRow { created_at, updated_at, fields } = CoreRow::of(tx, *id, row)?;
            render_core(*id, created_at, fields, updated_at, out);
            Ok(())
        })
    })
}

/// Those profiles that exist.
pub(super) fn core_profiles(
    tx: DomainTx<'_>,
    ids: &[CoreProfileId],
) -> Result<CoreProfiles, Fault> {
    let mut profiles = ById::of(tx.conn, tx.domain, COLUMNS)?;
    let mut found = profiles.in_order(ids.iter().copied())?;
    let mut stored = CoreProfiles::default();
    for id in ids {
        found.next(*id, |row| {
            let CoreRow { created_at, updated_at, fields } = CoreRow::of(tx, *id, row)?;
            stored.fields.insert(*id, fields.to_vec());
            let times = ProfileTimes { created_at: created_at.0, updated_at: updated_at.0 };
            stored.times.insert(*id, times);
            Ok(())
        })?;
    }
    Ok(stored)
}
