//! The statements of the profile rules ([`ProfileStore`]): each reads or writes all rows of a
//! slice. Identities go in sorted, new profiles by a binary copy.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    IdentityRow, ProfileRow, named_core_profiles, render_core, show_core_gets,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use caseload_store::profiles::ProfileStore;
use caseload_store::sql::Sql;
use caseload_store::{StoreError, values};
use tokio_postgres::Row;

use crate::engine::{CopyRows, store_error};
use crate::rows::instant;
use crate::tx::DomainTx;

const CORE_PROFILES: &str = "core_profiles (domain_id, id, created_at, updated_at, fields)";

impl ProfileStore for DomainTx<'_> {
    const LOCK_PIDS: &'static str = " ORDER BY pid FOR UPDATE";

    fn insert_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError> {
        self.with_identities(
            "INSERT INTO identities (domain_id, key, core_profile_id)
             SELECT $1, n.key, n.id FROM unnest($2::bytea[], $3::bigint[]) AS n (key, id)
             ON CONFLICT (domain_id, key) DO NOTHING",
            identities,
        )
    }

    fn delete_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError> {
        self.with_identities(
            "DELETE FROM identities i USING unnest($2::bytea[], $3::bigint[]) AS n (key, id)
             WHERE i.domain_id = $1 AND i.key = n.key AND i.core_profile_id = n.id",
            identities,
        )
    }

    fn core_fields(
        &self,
        ids: &[CoreProfileId],
    ) -> Result<HashMap<CoreProfileId, Vec<u8>>, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0 as i64).collect();
        let select = "SELECT id, fields FROM core_profiles WHERE domain_id = $1 AND id = ANY ($2)";
        let found = self.list(select, values![self.domain, ids], |row| {
            Ok((CoreProfileId(row.get(0)?), row.get(1)?))
        })?;
        Ok(found.into_iter().collect())
    }

    fn insert_core_profiles(
        &self,
        profiles: &[ProfileRow<'_>],
        at: UnixMillis,
    ) -> Result<(), StoreError> {
        let mut rows = CopyRows::new();
        for (id, profile) in profiles {
            rows.row(5).add(self.domain.0).add(*id).add(at.0).add(at.0).add(&profile.fields[..]);
        }
        self.wait(async {
            let copy = self.client().prepare_copy(CORE_PROFILES).await?;
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
        self.change(
            "UPDATE core_profiles p SET fields = n.fields, updated_at = $4
             FROM unnest($2::bigint[], $3::bytea[]) AS n (id, fields)
             WHERE p.domain_id = $1 AND p.id = n.id",
            values![self.domain, ids, fields, at],
        )
    }

    fn update_app_profiles(
        &self,
        changed: &[(String, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError> {
        let (pids, fields): (Vec<&[u8]>, Vec<&[u8]>) =
            changed.iter().map(|(pid, fields)| (pid.as_bytes(), fields.as_slice())).unzip();
        self.change(
            "UPDATE app_profiles p SET fields = n.fields, updated_at = $4
             FROM unnest($2::bytea[], $3::bytea[]) AS n (pid, fields)
             WHERE p.domain_id = $1 AND p.pid = n.pid",
            values![self.domain, pids, fields, at],
        )
    }

    fn get_core(
        &self,
        payload: &[u8],
        entries: &[PreparedEntry<CoreProfileId>],
        out: &mut ChunkRecords,
    ) -> Result<(), StoreError> {
        let ids: Vec<i64> = named_core_profiles(entries).map(|id| id.0 as i64).collect();
        let found = self.rows(
            "SELECT id, fields, created_at, updated_at FROM core_profiles
             WHERE domain_id = $1 AND id = ANY ($2)",
            &[&self.domain.0, &ids],
        )?;
        let rows: HashMap<CoreProfileId, &Row> =
            found.iter().map(|row| (profile_id(row, 0), row)).collect();
        show_core_gets(payload, entries, out, |id, out| {
            let Some(row) = rows.get(id) else { return Ok(false) };
            render_core(*id, instant(row, 2), row.get(1), instant(row, 3), out);
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
        let (keys, ids): (Vec<&[u8]>, Vec<i64>) = identities.iter().copied().unzip();
        self.change(sql, values![self.domain, keys, ids])
    }
}

fn profile_id(row: &Row, column: usize) -> CoreProfileId {
    CoreProfileId(row.get::<_, i64>(column).unsigned_abs())
}
