//! The index of the identities of app profiles, by which the app profiles of a person are found. It
//! has the addresses of an app profile, and the identifier from which its pid was made, as a `uid`.
//! The app profile has its addresses, too; only the index has the identifier.

use caseload_model::issue::AppProfileRow;
use caseload_model::profile::IdentityKey;
use caseload_model::profile_query::address_keys;

use crate::idempotency::CommandStore;
use crate::{StoreError, values};

/// Adds an identity: domain, key, pid, and the code of the identity's type.
pub const INSERT: &str = "INSERT INTO app_profile_identities (domain_id, key, pid, kind)
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
/// The identifiers of app profiles: their pids and keys.
pub(crate) const IDENTIFIERS: &str = "SELECT pid, key FROM app_profile_identities
     WHERE domain_id = ?1 AND pid = ANY (?2) AND kind = 1";

/// Adds the identities of a new app profile.
pub fn add_identities(
    store: &impl CommandStore,
    profile: &AppProfileRow,
) -> Result<(), StoreError> {
    for key in profile.identities() {
        let kind = key.type_code();
        store.change(INSERT, values![store.domain(), key.as_bytes(), profile.pid, kind])?;
    }
    Ok(())
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
