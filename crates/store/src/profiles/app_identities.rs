//! The index of the identities of app profiles, by which the app profiles of a person are found. It
//! has the addresses of an app profile, and the identifier from which its pid was made, as a `uid`.
//! The app profile has its addresses, too; only the index has the identifier.

use caseload_model::issue::AppProfileRow;
use caseload_model::profile::IdentityKey;
use caseload_model::profile_query::address_keys;
use caseload_model::time::UnixMillis;

use crate::idempotency::CommandStore;
use crate::{StoreError, checksum, values};

/// Adds an identity: domain, key, pid, and the code of the identity's type.
pub const INSERT: &str = "INSERT INTO app_profile_identities (domain_id, key, pid, kind)
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
/// The identifiers of app profiles: their pids and keys.
pub(crate) const IDENTIFIERS: &str = "SELECT pid, key FROM app_profile_identities
     WHERE domain_id = ?1 AND pid = ANY (?2) AND kind = 1";

/// Adds an app profile with its identities, if its pid is free; whether it was.
pub fn add_app_profile(
    store: &impl CommandStore,
    profile: &AppProfileRow,
    at: UnixMillis,
) -> Result<bool, StoreError> {
    let (AppProfileRow { pid, app_id, name, emails, .. }, fields) = (profile, [0_u8; 0].as_slice());
    let domain = store.domain();
    let sum = checksum::of_app_profile(domain, profile, at);
    let fields_sum = checksum::of_app_profile_fields(domain, pid, at, fields);
    let added = store.change(
        "INSERT INTO app_profiles
         (domain_id, pid, app_id, name, emails, created_at, updated_at, fields, checksum,
         fields_checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        values![domain, pid, app_id, name, emails, at, fields, sum, fields_sum],
    )?;
    if added == 0 {
        return Ok(false);
    }
    for key in profile.identities() {
        store.change(INSERT, values![domain, key.as_bytes(), pid, key.type_code()])?;
    }
    Ok(true)
}

/// Removes the identities of app profiles, which are still there.
pub(super) fn remove_identities(
    store: &impl CommandStore,
    pids: &[&str],
) -> Result<(), StoreError> {
    let domain = store.domain();
    let select = "SELECT emails FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)";
    let emails = store.list(select, values![domain, pids], |row| row.get::<Vec<u8>>(0))?;
    let addresses: Vec<_> = emails.iter().flat_map(|emails| address_keys(emails)).collect();
    let keys: Vec<&[u8]> = addresses.iter().map(IdentityKey::as_bytes).collect();
    store.change(
        "DELETE FROM app_profile_identities
         WHERE domain_id = ?1 AND key = ANY (?2) AND pid = ANY (?3)",
        values![domain, keys, pids],
    )?;
    store.change(
        "DELETE FROM app_profile_identities
         WHERE domain_id = ?1 AND pid = ANY (?2) AND kind = 1",
        values![domain, pids],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use caseload_model::profile::IdentityType;

    #[test]
    fn the_statements_name_the_code_of_identifiers() {
        assert_eq!(IdentityType::Uid.code(), 1);
    }
}
