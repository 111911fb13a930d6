//! A gate for background work. A worker passes it for each piece of work; closing it waits for
//! running work and then holds new work back, so that the stored data can be verified in a pause.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// `true` after the end of the run.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<RwLock<bool>>);

impl Gate {
    /// A pass for one piece of work; `None` after the end of the run.
    pub(super) async fn enter(&self) -> Option<OwnedRwLockReadGuard<bool>> {
        let pass = Arc::clone(&self.0).read_owned().await;
        (!*pass).then_some(pass)
    }

    /// Waits until no work is running; new work waits as long as the guard lives.
    pub(super) async fn close(&self) -> OwnedRwLockWriteGuard<bool> {
        Arc::clone(&self.0).write_owned().await
    }
}
