//! One person: which core profile belongs to an app profile. Both are looked up through indexes
//! when a caller asks; nothing is stored about it.

use std::collections::HashMap;

use caseload_model::ids::IdentityKey;
use caseload_model::profile_query::{ProfileId, ProfileView, address_keys};

use super::rows::{Body, Found, ProfileSource};
use crate::{StoreError, values};

/// A member that a view adds to a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Added {
    /// `core-profile-id`: the oldest core profile that shares an identity.
    CoreProfile(Option<i64>),
}

impl Added {
    pub(super) fn text(&self) -> String {
        match self {
            Self::CoreProfile(Some(id)) => format!("\"core-profile-id\":\"{id}\""),
            Self::CoreProfile(None) => "\"core-profile-id\":null".to_owned(),
        }
    }

    /// Puts the member at the end of the record that ends `body`.
    pub(super) fn insert(&self, body: &mut Vec<u8>) {
        let brace = body.pop();
        body.push(b',');
        body.extend_from_slice(self.text().as_bytes());
        body.extend(brace);
    }
}

/// The members that the view adds to these profiles.
pub(super) fn added<S: ProfileSource>(
    source: &S,
    view: ProfileView,
    profiles: &[&Found],
) -> Result<HashMap<ProfileId, Added>, StoreError> {
    if !view.core_profile || profiles.is_empty() {
        return Ok(HashMap::new());
    }
    let keys_of = |found: &Found| match &found.body {
        Body::App(profile) => address_keys(&profile.emails),
        Body::Core(_) => Vec::new(),
    };
    let keys: Vec<Vec<IdentityKey>> = profiles.iter().map(|found| keys_of(found)).collect();
    let named: Vec<&[u8]> = keys.iter().flatten().map(IdentityKey::as_bytes).collect();
    let owners: HashMap<Vec<u8>, i64> = source
        .list(
            "SELECT key, core_profile_id FROM identities WHERE domain_id = ?1 AND key = ANY (?2)",
            values![source.domain(), named],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .into_iter()
        .collect();
    let oldest = |keys: &[IdentityKey]| {
        keys.iter().filter_map(|key| owners.get(key.as_bytes())).min().copied()
    };
    let added = profiles.iter().zip(&keys);
    Ok(added.map(|(found, keys)| (found.id.clone(), Added::CoreProfile(oldest(keys)))).collect())
}
