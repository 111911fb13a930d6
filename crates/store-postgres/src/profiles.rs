//! The statements of the profile rules ([`ProfileStore`]): each reads or writes all rows of a
//! slice. Identities go in sorted, new profiles by a binary copy.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    IdentityRow, ProfileRow, named_core_profiles, render_core, show_core_gets,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use caseload_store::checksum::{self, CORE_PROFILES};
use caseload_store::profile_sets::ProfileTimes;
use caseload_store::profiles::{ChangeTimes, CoreProfiles, ProfileStore};
use caseload_store::sql::Sql;
use caseload_store::{StoreError, values};
use tokio_postgres::Row;

use crate::engine::{CopyRows, store_error};
use crate::rows::instant;
use crate::tx::{DomainTx, ReadRow};

const NEW_PROFILES: &str =
    "core_profiles (domain_id, id, created_at, updated_at, fields, checksum)";

/// Reads profiles of the domain `$1` by their ids `$2`, with their checksums.
fn select_profiles() -> String {
    let columns = CORE_PROFILES.select();
    format!("SELECT {columns} FROM core_profiles WHERE domain_id = $1 AND id = ANY ($2)")
}

impl ProfileStore for DomainTx<'_> {
    const LOCK_PIDS: &'static str = " ORDER BY pid FOR UPDATE";

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
        self.with_identities(
            "DELETE FROM identities i USING unnest($2::bytea[], $3::bigint[]) AS n (key, id)
             WHERE i.domain_id = $1 AND i.key = n.key AND i.core_profile_id = n.id",
            identities,
        )
    }

    fn core_profiles(&self, ids: &[CoreProfileId]) -> Result<CoreProfiles, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0 as i64).collect();
        let select = select_profiles();
        let mut stored = CoreProfiles::default();
        self.each(&select, values![self.domain, ids], &mut |row| {
            CORE_PROFILES.require(row)?;
            let id = CoreProfileId(row.get(1)?);
            stored.fields.insert(id, row.get(3)?);
            let times = ProfileTimes { created_at: row.get(4)?, updated_at: row.get(2)? };
            stored.times.insert(id, times);
            Ok(())
        })?;
        Ok(stored)
    }

    fn insert_core_profiles(
        &self,
        profiles: &[ProfileRow<'_>],
        times: ChangeTimes,
    ) -> Result<(), StoreError> {
        let ChangeTimes { created_at, changed_at } = times;
        let mut rows = CopyRows::new();
        for (id, fields) in profiles {
            let sum = checksum::of_core_profile(self.domain, *id, changed_at, fields);
            rows.row(6).add(self.domain.0).add(*id).add(created_at.0).add(changed_at.0);
            rows.add(*fields).add(sum + created_at.0);
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
             checksum = n.checksum + p.created_at
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
            render_core(*id, instant(row, 4), row.get(3), instant(row, 2), out);
            Ok(true)
        })
    }
}

impl DomainTx<'_> {
    /// Runs a statement over identities; how many rows it changed.
    fn with_identities(
        &self,
        sql: &str,
        identities: &[IdentityRow<'_>],
    ) -> Result<u64, StoreError> {
        if identities.is_empty() {
            return Ok(0);
        }
        let (keys, ids) = columns(identities);
        self.change(sql, values![self.domain, keys, ids])
    }
}

/// The keys, and the ids of their owners.
fn columns<'r>(identities: &[IdentityRow<'r>]) -> (Vec<&'r [u8]>, Vec<i64>) {
    identities.iter().copied().unzip()
}

fn profile_id(row: &Row, column: usize) -> CoreProfileId {
    CoreProfileId(row.get::<_, i64>(column).unsigned_abs())
}
