//! The statements of the profile rules ([`ProfileStore`]): each reads or writes all rows of a
//! slice. Identities go in sorted, new profiles by a binary copy.

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::{
    IdentityRow, ProfileRow, named_core_profiles, render_core, show_core_gets,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use caseload_store::checksum::{self, CORE_PROFILES};
use caseload_store::profiles::{
    ChangeTimes, CoreProfiles, IndexedProfile, ProfileClock, ProfileStore,
};
use caseload_store::rowset::row_number;
use caseload_store::sql::{Sql, Value};
use caseload_store::term_changes::TermUpdates;
use caseload_store::{StoreError, values};
use tokio_postgres::Row;

use crate::engine::{CopyRows, store_error};
use crate::rows::instant;
use crate::tx::{DomainTx, ReadRow};

const NEW_PROFILES: &str =
    "core_profiles (domain_id, row, id, created_at, updated_at, fields, checksum)";

/// Reads profiles of the domain `$1` by their ids `$2`, with their checksums.
fn select_profiles() -> String {
    let columns = CORE_PROFILES.select();
    format!(
        "SELECT {columns}, row, created_at FROM core_profiles
         WHERE domain_id = $1 AND id = ANY ($2)"
    )
}

/// The stored sets of these kinds `$2`, values `$3` and blocks `$4`, with their places in the list.
const SETS: &str = "SELECT n.place, s.rows
     FROM unnest($2::bigint[], $3::bytea[], $4::bigint[])
         WITH ORDINALITY AS n (kind, value, block, place)
     JOIN profile_sets s ON s.domain_id = $1 AND s.kind = n.kind AND s.value = n.value
     AND s.block = n.block";
const PUT_SETS: &str = "INSERT INTO profile_sets (domain_id, kind, value, block, rows)
     SELECT $1, n.kind, n.value, n.block, n.rows
     FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[])
         AS n (kind, value, block, rows)
     ON CONFLICT (domain_id, kind, value, block) DO UPDATE SET rows = excluded.rows";
const DELETE_SETS: &str = "DELETE FROM profile_sets s
     USING unnest($2::bigint[], $3::bytea[], $4::bigint[]) AS n (kind, value, block)
     WHERE s.domain_id = $1 AND s.kind = n.kind AND s.value = n.value AND s.block = n.block";

/// The last id and time of change that profiles of a domain got, and the last row of core profiles.
pub(crate) const CLOCK: &str = "SELECT last_core_profile_id, last_profile_change_at,
     (SELECT coalesce(max(row), 0) FROM core_profiles WHERE domain_id = $1)
     FROM domain_clocks WHERE domain_id = $1";
/// Ends [`CLOCK`] in a chunk that writes profiles: writes of issues do not wait for this lock, and
/// [`LOCK_PROFILES`] waits for its end.
pub(crate) const IN_CHUNK: &str = " FOR KEY SHARE";
const LOCK_PROFILES: &str = "SELECT 1 FROM domain_clocks WHERE domain_id = $1 FOR UPDATE";
pub(crate) const ADVANCE: &str = "UPDATE domain_clocks SET
     last_core_profile_id = greatest(last_core_profile_id, $2),
     last_profile_change_at = greatest(last_profile_change_at, $3)
     WHERE domain_id = $1";

pub(crate) fn clock(row: &Row) -> Result<ProfileClock, StoreError> {
    let (last_id, last_change) = (row.get(0), instant(row, 1));
    Ok(ProfileClock { last_id, last_change, last_row: row_number(row.get(2))? })
}

impl ProfileStore for DomainTx<'_> {
    const LOCK_PIDS: &'static str = " ORDER BY pid FOR UPDATE";

    fn lock_profiles(&self) -> Result<Option<ProfileClock>, StoreError> {
        // The second statement sees the commit that the first one waited for.
        self.row_opt(LOCK_PROFILES, &[&self.domain.0])?;
        self.row_opt(CLOCK, &[&self.domain.0])?.as_ref().map(clock).transpose()
    }

    fn advance_profiles(&self, clock: ProfileClock) -> Result<(), StoreError> {
        let ProfileClock { last_id, last_change, .. } = clock;
        self.execute(ADVANCE, &[&self.domain.0, &last_id, &last_change.0]).map(drop)
    }

    fn insert_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError> {
        if identities.is_empty() {
            return Ok(0);
        }
        let (keys, ids) = columns(identities);
        // A cluster would report all rows as inserted, also those that were there.
        let insert = "WITH inserted AS (
                 INSERT INTO identities (domain_id, key, core_profile_id)
                 SELECT $1, n.key, n.id FROM unnest($2::bytea[], $3::bigint[]) AS n (key, id)
                 ON CONFLICT (domain_id, key) DO NOTHING RETURNING 1)
             SELECT count(*) FROM inserted";
        let inserted = self.find(insert, values![self.domain, keys, ids], |row| row.get(0))?;
        Ok(inserted.unwrap_or_default())
    }

    fn delete_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError> {
        if identities.is_empty() {
            return Ok(0);
        }
        let (keys, ids) = columns(identities);
        let delete =
            "DELETE FROM identities i USING unnest($2::bytea[], $3::bigint[]) AS n (key, id)
             WHERE i.domain_id = $1 AND i.key = n.key AND i.core_profile_id = n.id";
        self.change(delete, values![self.domain, keys, ids])
    }

    fn core_profiles(&self, ids: &[CoreProfileId]) -> Result<CoreProfiles, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0 as i64).collect();
        let select = select_profiles();
        let mut stored = CoreProfiles::default();
        self.each(&select, values![self.domain, ids], &mut |row| {
            CORE_PROFILES.require(row)?;
            let id = CoreProfileId(row.get(1)?);
            stored.fields.insert(id, row.get(3)?);
            let row = IndexedProfile {
                row: row_number(row.get(CORE_PROFILES.width())?)?,
                created_at: row.get(CORE_PROFILES.width() + 1)?,
                updated_at: row.get(2)?,
            };
            stored.indexed.insert(id, row);
            Ok(())
        })?;
        Ok(stored)
    }

    fn insert_core_profiles(
        &self,
        profiles: &[ProfileRow<'_>],
        first_row: u32,
        times: ChangeTimes,
    ) -> Result<(), StoreError> {
        let ChangeTimes { created_at, changed_at } = times;
        let mut rows = CopyRows::new();
        for (row, (id, fields)) in (first_row..).zip(profiles) {
            let sum = checksum::of_core_profile(self.domain, *id, changed_at, fields);
            rows.row(7).add(self.domain.0).add(i64::from(row)).add(*id);
            rows.add(created_at.0).add(changed_at.0).add(*fields).add(sum);
        }
        self.wait(async {
            let copy = self.client().prepare_copy(NEW_PROFILES).await?;
            self.client().copy_rows(&copy, rows).await.map_err(store_error)
        })
    }

    fn update_core_profiles(
        &self,
        changed: &[(CoreProfileId, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError> {
        let (ids, fields): (Vec<i64>, Vec<&[u8]>) =
            changed.iter().map(|(id, fields)| (id.0 as i64, fields.as_slice())).unzip();
        let sum =
            |(id, fields): (&i64, &&[u8])| checksum::of_core_profile(self.domain, *id, at, fields);
        let sums: Vec<i64> = ids.iter().zip(&fields).map(sum).collect();
        self.change(
            "UPDATE core_profiles p SET fields = n.fields, updated_at = $4,
             checksum = n.checksum
             FROM unnest($2::bigint[], $3::bytea[], $5::bigint[]) AS n (id, fields, checksum)
             WHERE p.domain_id = $1 AND p.id = n.id",
            values![self.domain, ids, fields, at, sums],
        )
    }

    fn delete_core_profiles(&self, ids: &[CoreProfileId]) -> Result<u64, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0 as i64).collect();
        let delete = "DELETE FROM core_profiles WHERE domain_id = $1 AND id = ANY ($2)";
        self.change(delete, values![self.domain, ids])
    }

    fn write_sets(&self, updates: &TermUpdates) -> Result<(), StoreError> {
        let updates: Vec<_> = updates.each().collect();
        let mut all = SetColumns::default();
        for of in &updates {
            all.push(of.kind.code(), of.value, of.block);
        }
        let mut stored = HashMap::<usize, Vec<u8>>::new();
        self.each(SETS, &all.values(self.domain), &mut |row| {
            stored.insert(row.get::<u64>(0)? as usize - 1, row.get(1)?);
            Ok(())
        })?;
        let (mut put, mut gone) = (SetColumns::default(), SetColumns::default());
        let mut blobs = Vec::new();
        for (place, of) in updates.iter().enumerate() {
            let rows = of.applied_to(stored.get(&place).map(Vec::as_slice))?;
            let columns = if rows.is_some() { &mut put } else { &mut gone };
            columns.push(of.kind.code(), of.value, of.block);
            blobs.extend(rows);
        }
        if !gone.kinds.is_empty() {
            self.change(DELETE_SETS, &gone.values(self.domain))?;
        }
        if !put.kinds.is_empty() {
            let blobs: Vec<&[u8]> = blobs.iter().map(Vec::as_slice).collect();
            let values = put.values(self.domain).into_iter().chain([Value::Blobs(&blobs)]);
            self.change(PUT_SETS, &values.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn update_app_profiles(
        &self,
        changed: &[(String, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError> {
        let (pids, fields): (Vec<&[u8]>, Vec<&[u8]>) =
            changed.iter().map(|(pid, fields)| (pid.as_bytes(), fields.as_slice())).unzip();
        let sum = |(pid, fields): &(String, Vec<u8>)| {
            checksum::of_app_profile_fields(self.domain, pid, at, fields)
        };
        let sums: Vec<i64> = changed.iter().map(sum).collect();
        self.change(
            "UPDATE app_profiles p SET fields = n.fields, updated_at = $4,
             fields_checksum = n.checksum
             FROM unnest($2::bytea[], $3::bytea[], $5::bigint[]) AS n (pid, fields, checksum)
             WHERE p.domain_id = $1 AND p.pid = n.pid",
            values![self.domain, pids, fields, at, sums],
        )
    }

    fn get_core(
        &self,
        payload: &[u8],
        entries: &[PreparedEntry<CoreProfileId>],
        out: &mut ChunkRecords,
    ) -> Result<(), StoreError> {
        let ids: Vec<i64> = named_core_profiles(entries).map(|id| id.0 as i64).collect();
        let found = self.rows(&select_profiles(), &[&self.domain.0, &ids])?;
        found.iter().try_for_each(|row| CORE_PROFILES.require(&ReadRow(row)))?;
        let rows: HashMap<CoreProfileId, &Row> =
            found.iter().map(|row| (profile_id(row, 1), row)).collect();
        show_core_gets(payload, entries, out, |id, out| {
            let Some(row) = rows.get(id) else { return Ok(false) };
            render_core(
                *id,
                instant(row, CORE_PROFILES.width() + 1),
                row.get(3),
                instant(row, 2),
                out,
            );
            Ok(true)
        })
    }
}

/// The keys of sets in columns.
#[derive(Debug, Default)]
struct SetColumns<'s> {
    kinds: Vec<i64>,
    values: Vec<&'s [u8]>,
    blocks: Vec<i64>,
}

impl<'s> SetColumns<'s> {
    fn push(&mut self, kind: i64, value: &'s [u8], block: u32) {
        self.kinds.push(kind);
        self.values.push(value);
        self.blocks.push(block.into());
    }

    fn values(&self, domain: DomainId) -> Vec<Value<'_>> {
        let Self { kinds, values, blocks } = self;
        vec![Value::Int(domain.0), Value::Ints(kinds), Value::Blobs(values), Value::Ints(blocks)]
    }
}

/// The keys, and the ids of their owners.
fn columns<'r>(identities: &[IdentityRow<'r>]) -> (Vec<&'r [u8]>, Vec<i64>) {
    identities.iter().copied().unzip()
}

fn profile_id(row: &Row, column: usize) -> CoreProfileId {
    CoreProfileId(row.get::<_, i64>(column).unsigned_abs())
}
