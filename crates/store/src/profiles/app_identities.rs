//! The index of the identities of app profiles, by which the app profiles of a person are found. It
//! has the addresses of an app profile, and the identifier from which its pid was made, as a `uid`.
//! The app profile has its addresses, too; only the index has the identifier. Profiles that were
//! made before there was an index have their addresses in it, but no identifier.

use caseload_model::ids::DomainId;
use caseload_model::issue::AppProfileRow;
use caseload_model::profile::{IdentityKey, IdentityType};
use caseload_model::profile_query::address_keys;

use crate::idempotency::CommandStore;
use crate::sql::Sql;
use crate::{StoreError, values};

/// Adds an identity: domain, key, pid, and the code of the identity's type.
pub const INSERT: &str = "INSERT INTO app_profile_identities (domain_id, key, pid, kind)
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
/// The identifiers of app profiles: their pids and keys.
pub(crate) const IDENTIFIERS: &str = "SELECT pid, key FROM app_profile_identities
     WHERE domain_id = ?1 AND pid = ANY (?2) AND kind = 1";
/// App profiles whose addresses are added at once.
const STEP: i64 = 1000;

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

/// Adds the addresses of all app profiles, once after the migration that made the index.
pub fn complete_index(sql: &impl Sql) -> Result<(), StoreError> {
    for domain in sql.list("SELECT id FROM domains", &[], |row| row.get::<i64>(0))? {
        complete_domain(sql, DomainId(domain))?;
    }
    Ok(())
}

fn complete_domain(sql: &impl Sql, domain: DomainId) -> Result<(), StoreError> {
    let kind = IdentityType::Email.code();
    let mut after = String::new();
    loop {
        let profiles = sql.list(
            "SELECT pid, emails FROM app_profiles WHERE domain_id = ?1 AND pid > ?2
             ORDER BY pid LIMIT ?3",
            values![domain, after, STEP],
            |row| Ok((row.get::<String>(0)?, row.get::<Vec<u8>>(1)?)),
        )?;
        for (pid, emails) in &profiles {
            for key in address_keys(emails) {
                sql.change(INSERT, values![domain, key.as_bytes(), pid, kind])?;
            }
        }
        let Some((pid, _)) = profiles.into_iter().next_back() else { return Ok(()) };
        after = pid;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_name_the_code_of_identifiers() {
        assert_eq!(IdentityType::Uid.code(), 1);
    }
}
