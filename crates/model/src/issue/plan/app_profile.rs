//! App profiles that writes of issues bring, with the identities by which they are found.

use crate::profile::{IdentityKey, IdentityType};
use crate::profile_query::address_keys;

/// An app profile to insert if its id is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppProfileRow {
    pub pid: String,
    pub app_id: String,
    pub name: String,
    /// A JSON array of strings.
    pub emails: Vec<u8>,
    /// The identifier from which the pid was made, if it was made from one.
    pub identifier: Option<String>,
}

impl AppProfileRow {
    /// The identities by which a core profile of the same person is found: the addresses, and the
    /// identifier as a `uid`. Each occurs once.
    pub fn identities(&self) -> Vec<IdentityKey> {
        let mut keys = address_keys(&self.emails);
        let identifier = self.identifier.as_deref().filter(|identifier| !identifier.is_empty());
        keys.extend(identifier.map(|uid| IdentityKey::new(IdentityType::Uid, uid)));
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
