//! The content that generated ids are derived from. The same entry in the same domain always gets
//! the same ids, so a repeated import finds the issues that it wrote before.

use std::cell::OnceCell;

use super::desk_addresses::FilledAddresses;
use super::fingerprint;
use crate::ids::DomainName;
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

    /// A hash of the entry's content. It is computed once, and only if an id is missing.
    pub(super) fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| fingerprint::of(self.entry))
    }
}
