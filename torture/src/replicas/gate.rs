//! Lets those that work all the time in, one piece of work at a time, or makes them wait until
//! what they left has been looked at. It counts nothing and knows nothing of what is done inside.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// `true` once it is shut for good.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<RwLock<bool>>);

impl Gate {
    /// A pass for one piece of work; none when there is to be no more.
    pub(super) async fn enter(&self) -> Option<OwnedRwLockReadGuard<bool>> {
        let pass = Arc::clone(&self.0).read_owned().await;
        (!*pass).then_some(pass)
    }

    /// Waits until nobody is inside, and keeps it so for as long as the answer is held.
    pub(super) async fn close(&self) -> OwnedRwLockWriteGuard<bool> {
        Arc::clone(&self.0).write_owned().await
    }
}
