//! A cache of working keys and sessions, so that most requests need no look-up, and the record of
//! when each key was last used. It holds only keys that worked: a key that another process creates
//! works at once, and unknown keys cannot fill the cache. A revoked key stops working when its
//! entry expires, within [`KEY_CACHE_SECONDS`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::UnixMillis;
use caseload_store::{KeyGrant, Serve, SessionKind, StoreError};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::credentials::Credential;
use crate::http::current_request::carried;
use crate::http::log_limiter::{Event, LogLimiter, Origin};

/// How long a look-up is valid. It is below the promised 5 s, so that requests in flight when a key
/// is revoked are within the promise too.
const KEY_CACHE_SECONDS: u64 = 4;
/// `last_used_at` is stored to the minute.
const TOUCH_MS: i64 = 60_000;
/// Above this number of entries the cache drops old ones.
const ENTRIES_MAX: usize = 10_000;

/// Keys and sessions by the SHA-256 of their text.
#[derive(Debug)]
pub(crate) struct KeyCache {
    entries: Mutex<HashMap<Credential, Entry>>,
    log_limiter: Arc<LogLimiter>,
}

#[derive(Debug)]
struct Entry {
    grant: Arc<KeyGrant>,
    /// When the look-up began.
    read_at: Instant,
    /// The minute that was last written as `last_used_at`.
    touched: UnixMillis,
}

impl KeyCache {
    pub(crate) fn new(log_limiter: Arc<LogLimiter>) -> Self {
        Self { entries: Mutex::default(), log_limiter }
    }

    /// The grant of the key with this hash; `None` if there is none, or if it does not work at
    /// `now`.
    pub(crate) async fn grant(
        &self,
        store: &Arc<dyn Serve>,
        now: UnixMillis,
        credential: Credential,
    ) -> Result<Option<Arc<KeyGrant>>, StoreError> {
        let cached = self.with(|entries| {
            let entry = entries.get(&credential)?;
            let fresh = entry.read_at.elapsed() < Duration::from_secs(KEY_CACHE_SECONDS);
            fresh.then(|| entry.grant.clone())
        });
        let grant = match cached {
            Some(grant) => grant,
            None => match self.look_up(store, credential).await? {
                Some(grant) => grant,
                None => return Ok(None),
            },
        };
        if !grant.works_at(now) {
            self.with(|entries| entries.remove(&credential));
            self.log_revoked(&grant);
            return Ok(None);
        }
        self.touch(store, credential, &grant, now);
        Ok(Some(grant))
    }

    /// Drops a session that has ended.
    pub(crate) fn forget(&self, credential: Credential) {
        self.with(|entries| entries.remove(&credential));
    }

    /// Logs that a revoked key is still in use.
    fn log_revoked(&self, grant: &KeyGrant) {
        let origin = Origin::Domain(grant.domain);
        if grant.key.revoked_at.is_some()
            && let Some(left_out) = self.log_limiter.line(Event::RevokedKey, origin)
        {
            let (domain, key) = (grant.domain_name.as_str(), &grant.key.id);
            tracing::warn!(domain, key, left_out, "a revoked key was used");
        }
    }

    async fn look_up(
        &self,
        store: &Arc<dyn Serve>,
        credential: Credential,
    ) -> Result<Option<Arc<KeyGrant>>, StoreError> {
        let read_at = Instant::now();
        let found = match credential {
            Credential::Key(hash) => store.key_by_hash(hash),
            Credential::Session(hash) => store.key_by_session(hash, SessionKind::Session),
        };
        let Some(grant) = found.await? else {
            self.with(|entries| entries.remove(&credential));
            return Ok(None);
        };
        let grant = Arc::new(grant);
        self.with(|entries| {
            if entries.len() >= ENTRIES_MAX {
                entries.retain(|_, e| e.read_at.elapsed().as_secs() < KEY_CACHE_SECONDS);
            }
            let known = entries.get(&credential).map(|entry| entry.touched);
            let stored = grant.key.last_used_at;
            let touched = known.max(stored).unwrap_or(UnixMillis(i64::MIN));
            entries.insert(credential, Entry { grant: grant.clone(), read_at, touched });
        });
        Ok(Some(grant))
    }

    /// Writes the last use of the key, at most once a minute. The request does not wait for it.
    fn touch(
        &self,
        store: &Arc<dyn Serve>,
        credential: Credential,
        grant: &KeyGrant,
        now: UnixMillis,
    ) {
        let minute = UnixMillis(now.0 - now.0.rem_euclid(TOUCH_MS));
        let due = self.with(|entries| {
            let entry = entries.get_mut(&credential).filter(|entry| entry.touched < minute)?;
            entry.touched = minute;
            Some(())
        });
        if due.is_none() {
            return;
        }
        let (store, domain, id) = (store.clone(), grant.domain, grant.key.id.clone());
        tokio::spawn(carried(async move {
            if let Err(error) = store.touch_key(domain, &id, minute).await {
                tracing::warn!(%error, key = id, "the last use of a key could not be written");
            }
        }));
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<Credential, Entry>) -> T) -> T {
        change(&mut self.entries.lock())
    }
}
