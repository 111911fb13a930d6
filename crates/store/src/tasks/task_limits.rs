//! How many unfinished tasks a domain may have: the limit of the server, and that of the domain.

use crate::StoreError;

/// How many unfinished tasks the domain may have, with the one that is being accepted.
#[derive(Debug, Clone, Copy)]
pub struct TaskLimits {
    /// The limit of the server.
    limit: u32,
    /// The limit of the domain.
    quota: Option<u32>,
}

impl TaskLimits {
    pub(super) const fn new(limit: u32, quota: Option<u32>) -> Self {
        Self { limit, quota }
    }

    /// [`StoreError::QueueFull`] or [`StoreError::QuotaExceeded`] if the domain has as many
    /// unfinished tasks as it may have.
    pub fn require(self, unfinished: u32) -> Result<(), StoreError> {
        if let Some(quota) = self.quota.filter(|quota| unfinished >= *quota) {
            return Err(StoreError::QuotaExceeded(format!(
                "it has {unfinished} unfinished tasks and may have {quota}, so wait for some to \
                 complete"
            )));
        }
        if unfinished < self.limit {
            return Ok(());
        }
        Err(StoreError::QueueFull { unfinished, limit: self.limit })
    }
}
