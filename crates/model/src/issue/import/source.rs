//! The content that generated ids are derived from. The same entry in the same domain always gets
//! the same ids, so a repeated import finds the issues that it wrote before.

use std::cell::OnceCell;

use super::fingerprint;
use crate::ids::DomainName;
use crate::json::Json;

/// The entry and the domain that generated ids are derived from.
pub(super) struct Source<'s> {
    pub(super) domain: &'s DomainName,
    /// Those of the server that accepted the entry.
    pub(super) base_urls: &'s [String],
    entry: &'s Json<'s>,
    fingerprint: OnceCell<[u8; 32]>,
}

impl<'s> Source<'s> {
    pub(super) fn new(
        domain: &'s DomainName,
        base_urls: &'s [String],
        entry: &'s Json<'s>,
    ) -> Self {
        Self { domain, base_urls, entry, fingerprint: OnceCell::new() }
    }

    /// A hash of the entry's content. It is computed once, and only if an id is missing.
    pub(super) fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| fingerprint::of(self.entry))
    }
}
