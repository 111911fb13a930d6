//! The statements of the profile rules ([`ProfileStore`]). Identities and new profiles are inserted
//! many at a time; everything else is one statement for each row.

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{IdentityRow, ProfileRow};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use caseload_store::StoreError;
use caseload_store::checksum;
use caseload_store::profiles::{ChangeTimes, CoreProfiles, ProfileClock, ProfileStore};
use caseload_store::term_changes::TermUpdates;
use rusqlite::ToSql;

use super::get;
use super::rows::insert_rows;
use crate::engine::WorkLimit;
use crate::issues::Statements;
use crate::tx::DomainTx;
use crate::{Fault, clock};

impl ProfileStore for DomainTx<'_> {
    const LOCK_PIDS: &'static str = "";

    fn lock_profiles(&self) -> Result<Option<ProfileClock>, StoreError> {
        clock::profiles(*self)
    }

    fn advance_profiles(&self, clock: ProfileClock) -> Result<(), StoreError> {
        clock::advance_profiles(*self, clock)
    }

    fn insert_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError> {
        let rows: Vec<[&dyn ToSql; 3]> = identities
            .iter()
            .map(|(key, id)| -> [&dyn ToSql; 3] { [&self.domain.0, key, id] })
            .collect();
        Ok(insert_rows(self.conn, "identities (domain_id, key, core_profile_id)", &rows)? as u64)
    }

    fn delete_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError> {
        self.execute_each(
            "DELETE FROM identities WHERE domain_id = ?1 AND key = ?2 AND core_profile_id = ?3",
            identities,
            |(key, id)| (self.domain.0, key, id),
        )
    }

    fn core_profiles(&self, ids: &[CoreProfileId]) -> Result<CoreProfiles, StoreError> {
        Ok(get::core_profiles(*self, ids)?)
    }

    fn insert_core_profiles(
        &self,
        profiles: &[ProfileRow<'_>],
        first_row: u32,
        times: ChangeTimes,
    ) -> Result<(), StoreError> {
        let ChangeTimes { created_at, changed_at } = times;
        let sum =
            |id, fields: &[u8]| checksum::of_core_profile(self.domain, id, changed_at, fields);
        let numbered: Vec<(u32, i64)> = (first_row..)
            .zip(profiles)
            .map(|(row, (id, fields))| (row, sum(*id, fields)))
            .collect();
        let rows: Vec<[&dyn ToSql; 7]> = profiles
            .iter()
            .zip(&numbered)
            .map(|((id, fields), (row, sum))| -> [&dyn ToSql; 7] {
                [row, &self.domain.0, id, &created_at.0, &changed_at.0, fields, sum]
            })
            .collect();
        let columns =
            "core_profiles (row, domain_id, id, created_at, updated_at, fields, checksum)";
        if insert_rows(self.conn, columns, &rows)? < rows.len() {
            return Err(StoreError::Corrupt(
                "an id or a row that was to be free is a profile's".to_owned(),
            ));
        }
        Ok(())
    }

    fn update_core_profiles(
        &self,
        changed: &[(CoreProfileId, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError> {
        self.execute_each(
            "UPDATE core_profiles SET fields = ?3, updated_at = ?4, checksum = ?5
             WHERE domain_id = ?1 AND id = ?2",
            changed,
            |(id, fields)| {
                let id = id.0 as i64;
                let sum = checksum::of_core_profile(self.domain, id, at, fields);
                (self.domain.0, id, fields, at.0, sum)
            },
        )
    }

    fn delete_core_profiles(&self, ids: &[CoreProfileId]) -> Result<u64, StoreError> {
        let delete = "DELETE FROM core_profiles WHERE domain_id = ?1 AND id = ?2";
        self.execute_each(delete, ids, |id| (self.domain.0, id.0 as i64))
    }

    fn write_sets(&self, updates: &TermUpdates) -> Result<(), StoreError> {
        let write = || -> Result<(), Fault> {
            let mut sets = Statements::of(self.conn, "profile_sets")?;
            updates.each().try_for_each(|changes| {
                WorkLimit::check()?;
                sets.apply(self.domain, &changes)
            })
        };
        Ok(write()?)
    }

    fn update_app_profiles(
        &self,
        changed: &[(String, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError> {
        self.execute_each(
            "UPDATE app_profiles SET fields = ?3, updated_at = ?4, fields_checksum = ?5
             WHERE domain_id = ?1 AND pid = ?2",
            changed,
            |(pid, fields)| {
                let sum = checksum::of_app_profile_fields(self.domain, pid, at, fields);
                (self.domain.0, pid, fields, at.0, sum)
            },
        )
    }

    fn get_core(
        &self,
        payload: &[u8],
        entries: &[PreparedEntry<CoreProfileId>],
        out: &mut ChunkRecords,
    ) -> Result<(), StoreError> {
        Ok(get::core(*self, payload, entries, out)?)
    }
}
