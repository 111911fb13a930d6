//! The content that generated ids are derived from. The same entry in the same domain always gets
//! the same ids, so a repeated import finds the issues that it wrote before.

use std::cell::OnceCell;

use super::desk_addresses::FilledAddresses;
use super::fingerprint;
use crate::fold::fold;
use crate::ids::{DomainName, app_profile_id};
use crate::json::Json;

/// The entry and the domain that generated ids are derived from, and the domain's addresses.
pub(super) struct Source<'s> {
    pub(super) domain: &'s DomainName,
    pub(super) addresses: &'s FilledAddresses<'s>,
    /// Those of the server that accepted the entry.
    pub(super) base_urls: &'s [String],
    entry: &'s Json<'s>,
    fingerprint: OnceCell<[u8; 32]>,
}

impl<'s> Source<'s> {
    pub(super) fn new(
        domain: &'s DomainName,
        addresses: &'s FilledAddresses<'s>,
        base_urls: &'s [String],
        entry: &'s Json<'s>,
    ) -> Self {
        Self { domain, addresses, base_urls, entry, fingerprint: OnceCell::new() }
    }

    /// The id of an agent who has none, by address or name.
    pub(super) fn agent_id(&self, text: &str) -> String {
        app_profile_id(self.domain, format!("agent\0{}", fold(text)).as_bytes())
    }

    /// The id of the agent with this address.
    pub(super) fn agent_with(&self, email: &str) -> String {
        let id = self.agent_id(email);
        // The agent of an earlier import comes first, so that a repeated one changes nothing.
        let known = self.addresses.agents_with(email);
        if known.contains(&id) { id } else { known.first().cloned().unwrap_or(id) }
    }

    /// A hash of the entry's content. It is computed once, and only if an id is missing.
    pub(super) fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| fingerprint::of(self.entry))
    }
}
