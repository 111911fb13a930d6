//! The end of a domain's log, which callers follow that wait for changes.

use caseload_model::ids::DomainId;
use caseload_store::{Serve, StoreError};

use crate::http::followed::Follow;

/// The position of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogEnd(pub(crate) u64);

impl Follow for LogEnd {
    /// A domain has one log.
    type Id = ();

    fn id(&self) {}

    async fn again(&self, store: &dyn Serve, domain: DomainId) -> Result<Option<Self>, StoreError> {
        match store.last_position(domain).await {
            Ok(position) => Ok(Some(Self(position))),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_later(&self, old: &Self) -> bool {
        self > old
    }
}
