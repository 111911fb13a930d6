//! Statements on the profiles of one domain, which decide nothing about profiles. Those that differ
//! between databases are methods of [`ProfileStore`].

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    IdentityKey, IdentityRow, ProfileRow, StoredAppProfile, named_app_profiles, render_app,
    show_app_gets,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use super::terms::IndexedProfile;
use super::times::{ChangeTimes, ProfileClock};
use crate::checksum::{APP_PROFILE_FIELDS, APP_PROFILES};
use crate::idempotency::CommandStore;
use crate::sql::Row;
use crate::term_changes::TermUpdates;
use crate::{StoreError, values};

/// Core profiles as they are stored: their fields texts, their rows and their times.
#[derive(Debug, Default)]
pub struct CoreProfiles {
    pub fields: HashMap<CoreProfileId, Vec<u8>>,
    pub indexed: HashMap<CoreProfileId, IndexedProfile>,
}

/// App profiles as they are stored.
#[derive(Debug, Default)]
pub(super) struct AppProfiles {
    /// Their fields texts by their pids.
    pub(super) fields: HashMap<String, Vec<u8>>,
    /// When those that were updated were updated last.
    pub(super) updated_at: HashMap<String, UnixMillis>,
}

/// Statements on the profiles of one domain, in one transaction.
pub trait ProfileStore: CommandStore {
    /// The end of a statement that locks the app profiles that it reads. They are locked if they
    /// are about to change, because writes of issues change app profiles, too.
    const LOCK_PIDS: &'static str;

    /// Reads the clock of profiles. Until this transaction ends, no chunk that writes profiles
    /// begins; this waits for the end of one that has begun.
    fn lock_profiles(&self) -> Result<Option<ProfileClock>, StoreError>;
    /// Writes the clock back, which only increases.
    fn advance_profiles(&self, clock: ProfileClock) -> Result<(), StoreError>;

    /// Inserts the identities that are free, which come in key order; how many were inserted.
    fn insert_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError>;
    /// Deletes identities of these profiles, which come in key order; how many were deleted.
    fn delete_identities(&self, identities: &[IdentityRow<'_>]) -> Result<u64, StoreError>;

    /// Those core profiles that exist.
    fn core_profiles(&self, ids: &[CoreProfileId]) -> Result<CoreProfiles, StoreError>;
    /// Inserts profiles into consecutive rows.
    fn insert_core_profiles(
        &self,
        profiles: &[ProfileRow<'_>],
        first_row: u32,
        times: ChangeTimes,
    ) -> Result<(), StoreError>;
    /// Writes new fields; how many profiles were there.
    fn update_core_profiles(
        &self,
        changed: &[(CoreProfileId, Vec<u8>)],
        at: UnixMillis,
    ) -> Result<u64, StoreError>;

    /// Deletes profiles, whose identities are deleted before; how many were there.
    fn delete_core_profiles(&self, ids: &[CoreProfileId]) -> Result<u64, StoreError>;

    /// Changes the sets of terms. Only one transaction at a time changes those of a domain.
    fn write_sets(&self, updates: &TermUpdates) -> Result<(), StoreError>;

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
}

/// The profiles that own these identities.
pub(crate) fn owners(
    store: &impl CommandStore,
    identities: &[&IdentityKey],
) -> Result<HashMap<IdentityKey, CoreProfileId>, StoreError> {
    let mut owners = HashMap::new();
    if identities.is_empty() {
        return Ok(owners);
    }
    let named: HashMap<&[u8], &IdentityKey> =
        identities.iter().map(|identity| (identity.as_bytes(), *identity)).collect();
    let keys: Vec<&[u8]> = named.keys().copied().collect();
    store.each(
        "SELECT key, core_profile_id FROM identities WHERE domain_id = ?1 AND key = ANY (?2)",
        values![store.domain(), keys],
        &mut |row| {
            let identity = named.get(row.get::<&[u8]>(0)?).copied().cloned();
            owners.extend(identity.zip(Some(CoreProfileId(row.get(1)?))));
            Ok(())
        },
    )?;
    Ok(owners)
}

/// Those app profiles that exist.
pub(super) fn app_profiles<S: ProfileStore>(
    store: &S,
    pids: &[&str],
    for_update: bool,
) -> Result<AppProfiles, StoreError> {
    let select = format!(
        "SELECT {}, created_at FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2){}",
        APP_PROFILE_FIELDS.select(),
        if for_update { S::LOCK_PIDS } else { "" }
    );
    let mut found = AppProfiles::default();
    store.each(&select, values![store.domain(), pids], &mut |row| {
        APP_PROFILE_FIELDS.require(row)?;
        let (pid, updated_at): (String, UnixMillis) = (row.get(1)?, row.get(2)?);
        // An issue that creates a profile sets both times, by a clock that may be ahead.
        if row.get::<UnixMillis>(APP_PROFILE_FIELDS.width())? != updated_at {
            found.updated_at.insert(pid.clone(), updated_at);
        }
        found.fields.insert(pid, row.get(3)?);
        Ok(())
    })?;
    Ok(found)
}

/// The columns of [`stored_app_profile`].
pub(crate) fn app_profile_columns() -> String {
    format!("{}, {}", APP_PROFILES.select(), APP_PROFILE_FIELDS.select())
}

/// An app profile and its pid, compared with their checksums.
pub(crate) fn stored_app_profile(row: &dyn Row) -> Result<(String, StoredAppProfile), StoreError> {
    let fields = APP_PROFILES.width();
    APP_PROFILES.require(row)?;
    APP_PROFILE_FIELDS.require_at(row, fields)?;
    let profile = StoredAppProfile {
        app_id: row.get(2)?,
        name: row.get(3)?,
        emails: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(fields + 2)?,
        fields: row.get(fields + 3)?,
    };
    Ok((row.get(1)?, profile))
}

/// Adds the records of entries that get app profiles to `out`.
pub(crate) fn get_app(
    store: &impl ProfileStore,
    payload: &[u8],
    entries: &[PreparedEntry<String>],
    out: &mut ChunkRecords,
) -> Result<(), StoreError> {
    let pids: Vec<&str> = named_app_profiles(entries).map(String::as_str).collect();
    let mut profiles = HashMap::<String, StoredAppProfile>::new();
    let select = format!(
        "SELECT {} FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)",
        app_profile_columns()
    );
    store.each(&select, values![store.domain(), pids], &mut |row| {
        let (pid, profile) = stored_app_profile(row)?;
        profiles.insert(pid, profile);
        Ok(())
    })?;
    show_app_gets(payload, entries, out, |pid, out| {
        let Some(profile) = profiles.get(pid) else { return Ok(false) };
        render_app(pid, profile, out);
        Ok(true)
    })
}

/// The items of the entries that passed validation.
pub fn sound<T>(entries: &[PreparedEntry<T>]) -> impl Iterator<Item = &T> + Clone {
    entries.iter().filter_map(|entry| entry.item.as_ref().ok())
}
