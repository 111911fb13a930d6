//! The keys whose first request this process is still answering. The mark on a key is a courtesy to
//! callers that repeat early: the store alone makes sure that a request takes effect once.

use std::collections::HashSet;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use parking_lot::{Mutex, MutexGuard};

/// Keys whose first request is being answered.
#[derive(Debug, Default)]
pub(crate) struct KeysInProgress(Mutex<HashSet<(DomainId, String)>>);

/// The mark on one key. It ends with the request, also with a failed one.
#[derive(Debug)]
pub(crate) struct InProgressMark {
    keys: Arc<KeysInProgress>,
    key: (DomainId, String),
}

impl Drop for InProgressMark {
    fn drop(&mut self) {
        self.keys.keys().remove(&self.key);
    }
}

impl KeysInProgress {
    /// Marks the key; `None` if another request has the mark.
    pub(super) fn mark(self: &Arc<Self>, domain: DomainId, text: &str) -> Option<InProgressMark> {
        let key = (domain, text.to_owned());
        let is_new = self.keys().insert(key.clone());
        is_new.then(|| InProgressMark { keys: self.clone(), key })
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<(DomainId, String)>> {
        self.0.lock()
    }
}
