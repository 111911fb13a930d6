//! One person: which core profile belongs to an app profile, and which app profiles to a core
//! profile. They are looked up through indexes when a caller asks; no link is stored.

use std::collections::{BTreeSet, HashMap};

use caseload_model::ids::{CoreProfileId, DomainName, IdentityKey};
use caseload_model::json::write_string;
use caseload_model::profile::{IdentityType, identity_keys};
use caseload_model::profile_query::{ProfileId, ProfileView, address_keys, pids_of_uid};

use super::rows::{Body, Found, ProfileSource, by_ids};
use crate::idempotency::CommandStore;
use crate::profiles::{IDENTIFIERS, owners};
use crate::{StoreError, values};

/// A member that a view adds to a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IncludedMember {
    /// `core-profile-id`: the oldest core profile that shares an identity.
    CoreProfile(Option<CoreProfileId>),
    /// `app_profile_pids`: the app profiles that share an identity.
    AppProfiles(BTreeSet<String>),
}

impl IncludedMember {
    pub(super) fn text(&self) -> Vec<u8> {
        match self {
            Self::CoreProfile(Some(id)) => format!("\"core-profile-id\":\"{id}\"").into_bytes(),
            Self::CoreProfile(None) => b"\"core-profile-id\":null".to_vec(),
            Self::AppProfiles(pids) => {
                let mut out = b"\"app_profile_pids\":[".to_vec();
                for (n, pid) in pids.iter().enumerate() {
                    if n > 0 {
                        out.push(b',');
                    }
                    write_string(pid, &mut out);
                }
                out.push(b']');
                out
            }
        }
    }

    /// Puts the member at the end of the record that ends `body`.
    pub(super) fn insert(&self, body: &mut Vec<u8>) {
        let brace = body.pop();
        body.push(b',');
        body.extend_from_slice(&self.text());
        body.extend(brace);
    }
}

/// The members that the view adds to these profiles.
pub(super) fn added<S: ProfileSource>(
    source: &S,
    domain: &DomainName,
    view: ProfileView,
    profiles: &[&Found],
) -> Result<HashMap<ProfileId, IncludedMember>, StoreError> {
    if !view.adds() || profiles.is_empty() {
        return Ok(HashMap::new());
    }
    let mut keys: Vec<Vec<IdentityKey>> = profiles.iter().map(|found| keys_of(found)).collect();
    if view.core_profile {
        add_identifiers(source, profiles, &mut keys)?;
    }
    let named: Vec<&IdentityKey> = keys.iter().flatten().collect();
    let ids = profiles.iter().map(|found| found.id.clone());
    if view.core_profile {
        let owners = owners(source, &named)?;
        let oldest = |keys: &Vec<IdentityKey>| {
            IncludedMember::CoreProfile(
                keys.iter().filter_map(|key| owners.get(key)).min().copied(),
            )
        };
        return Ok(ids.zip(keys.iter().map(oldest)).collect());
    }
    let pids = app_profiles(source, domain, &named)?;
    let all = |keys: &Vec<IdentityKey>| {
        let pids = keys.iter().filter_map(|key| pids.get(key)).flatten();
        IncludedMember::AppProfiles(pids.cloned().collect())
    };
    Ok(ids.zip(keys.iter().map(all)).collect())
}

/// The app profiles that share an identity with a core profile; none if it is not there.
pub fn app_profiles_of<S: ProfileSource>(
    source: &S,
    domain: &DomainName,
    id: CoreProfileId,
) -> Result<Vec<String>, StoreError> {
    let Some(found) = by_ids(source, &[id.0])?.pop() else { return Ok(Vec::new()) };
    let keys = keys_of(&found);
    let pids = app_profiles(source, domain, &keys.iter().collect::<Vec<_>>())?;
    let pids: BTreeSet<String> = pids.into_values().flatten().collect();
    Ok(pids.into_iter().collect())
}

fn keys_of(found: &Found) -> Vec<IdentityKey> {
    match &found.body {
        Body::App(profile) => address_keys(&profile.emails),
        Body::Core(fields) => identity_keys(fields),
    }
}

/// Adds the identifiers of app profiles to their keys.
fn add_identifiers<S: ProfileSource>(
    source: &S,
    profiles: &[&Found],
    keys: &mut [Vec<IdentityKey>],
) -> Result<(), StoreError> {
    let mut places = HashMap::new();
    for (n, found) in profiles.iter().enumerate() {
        if let ProfileId::App(pid) = &found.id {
            places.insert(pid.as_str(), n);
        }
    }
    let pids: Vec<&str> = places.keys().copied().collect();
    source.each(IDENTIFIERS, values![source.domain(), pids], &mut |row| {
        let (pid, key): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if let Some(n) = places.get(pid.as_str()) {
            keys[*n].extend(IdentityKey::from_bytes(&key));
        }
        Ok(())
    })
}

/// The app profiles of each identity. A `uid` leads to the pids that are made from it in the apps
/// of the domain, so that profiles without an identifier in the index are found, too.
pub(crate) fn app_profiles(
    source: &impl CommandStore,
    domain: &DomainName,
    keys: &[&IdentityKey],
) -> Result<HashMap<IdentityKey, BTreeSet<String>>, StoreError> {
    let mut found = HashMap::<IdentityKey, BTreeSet<String>>::new();
    let id = source.domain();
    let named: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    source.each(
        "SELECT key, pid FROM app_profile_identities WHERE domain_id = ?1 AND key = ANY (?2)",
        values![id, named],
        &mut |row| {
            if let Some(key) = IdentityKey::from_bytes(row.get(0)?) {
                found.entry(key).or_default().insert(row.get(1)?);
            }
            Ok(())
        },
    )?;
    let uids: Vec<_> = keys.iter().filter(|key| key.is(IdentityType::Uid)).collect();
    if uids.is_empty() {
        return Ok(found);
    }
    let select = "SELECT id FROM apps WHERE domain_id = ?1";
    let mut apps = source.list(select, values![id], |row| row.get::<String>(0))?;
    apps.push(String::new());
    let mut made = HashMap::new();
    for key in uids {
        let pids = pids_of_uid(domain, apps.iter().map(String::as_str), key);
        made.extend(pids.map(|pid| (pid, *key)));
    }
    let pids: Vec<&str> = made.keys().map(String::as_str).collect();
    source.each(
        "SELECT pid FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)",
        values![id, pids],
        &mut |row| {
            let pid: String = row.get(0)?;
            if let Some(key) = made.get(&pid) {
                found.entry((*key).clone()).or_default().insert(pid);
            }
            Ok(())
        },
    )?;
    Ok(found)
}
