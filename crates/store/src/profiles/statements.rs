//! Statements on the profiles of one domain, which a backend implements. None of them decides
//! anything about profiles.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{IdentityKey, IdentityRow, ProfileRow};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use crate::StoreError;

/// Statements on the profiles of one domain, in one transaction.
pub trait ProfileStore {
    /// The profiles that own these identities.
    fn owners(
        &self,
        identities: &[&IdentityKey],
    ) -> Result<HashMap<IdentityKey, CoreProfileId>, StoreError>;
    /// Inserts the identities that are free, which come in key order; how many were inserted.
    fn insert_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError>;
    /// Deletes identities of these profiles, which come in key order; how many were deleted.
    fn delete_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError>;

    /// The fields of those core profiles that exist.
    fn core_fields(
        &self,
        ids: &[CoreProfileId],
    ) -> Result<HashMap<CoreProfileId, Vec<u8>>, StoreError>;
    fn insert_core_profiles(
        &self,
        profiles: &[ProfileRow<'_>],
        at: UnixMillis,
    ) -> Result<(), StoreError>;
    /// Writes new fields; how many profiles were there.
    fn update_core_profiles(
        &self,
        changed: &[(CoreProfileId, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError>;

    /// The fields of those app profiles that exist. They are locked if they are about to change,
    /// because writes of issues change app profiles, too.
    fn app_fields(
        &self,
        pids: &[&str],
        for_update: bool,
    ) -> Result<HashMap<String, Vec<u8>>, StoreError>;
    /// Writes new fields; how many profiles were there.
    fn update_app_profiles(
        &self,
        changed: &[(String, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError>;

    /// Adds the records of entries that get core profiles to `out`.
    fn get_core(
        &self,
        payload: &[u8],
        entries: &[PreparedEntry<CoreProfileId>],
        out: &mut ChunkRecords,
    ) -> Result<(), StoreError>;
    /// Adds the records of entries that get app profiles to `out`.
    fn get_app(
        &self,
        payload: &[u8],
        entries: &[PreparedEntry<String>],
        out: &mut ChunkRecords,
    ) -> Result<(), StoreError>;
}

/// The items of the entries that passed validation.
pub fn sound<T>(entries: &[PreparedEntry<T>]) -> impl Iterator<Item = &T> + Clone {
    entries.iter().filter_map(|entry| entry.item.as_ref().ok())
}
