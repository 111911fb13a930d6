//! The keys of callers that wait. All callers with one key share a task that checks it from time
//! to time, so that a thousand of them wake the server as rarely as one. Invariant: a key whose
//! callers have all gone is no longer checked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::credentials::Credential;

/// The time between two checks of a key, which the key cache mostly answers. Together with the age
/// of a cached key it is below the 5 s within which a revocation takes effect.
const CHECK_PAUSE: Duration = Duration::from_millis(500);

/// The keys that are checked now. Each sends false once it no longer works.
#[derive(Debug, Default)]
pub(crate) struct WatchedKeys(Mutex<HashMap<Credential, watch::Sender<bool>>>);

impl WatchedKeys {
    /// Becomes false once the key no longer works, which `works` checks.
    pub(super) fn watch<F>(
        self: &Arc<Self>,
        key: Credential,
        works: impl Fn() -> F + Send + 'static,
    ) -> watch::Receiver<bool>
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let mut watched = self.0.lock();
        let sender = watched.entry(key).or_insert_with(|| {
            tokio::spawn(self.clone().check(key, works));
            watch::Sender::new(true)
        });
        sender.subscribe()
    }

    /// Checks a key until it no longer works or no caller waits with it.
    async fn check<F>(self: Arc<Self>, key: Credential, works: impl Fn() -> F + Send)
    where
        F: Future<Output = bool> + Send + 'static,
    {
        while self.is_watched(key) {
            if !works().await {
                if let Some(sender) = self.0.lock().remove(&key) {
                    sender.send_replace(false);
                }
                return;
            }
            tokio::time::sleep(CHECK_PAUSE).await;
        }
    }

    /// Whether a caller still waits with the key.
    fn is_watched(&self, key: Credential) -> bool {
        let mut watched = self.0.lock();
        let waits = watched.get(&key).is_some_and(|sender| sender.receiver_count() > 0);
        if !waits {
            watched.remove(&key);
        }
        waits
    }
}
