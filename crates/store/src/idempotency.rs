//! Requests that a caller may repeat: the rules of idempotency keys. Invariant: an answer and the
//! effect that it reports commit in one transaction, so that a repeat after a crash finds both or
//! neither. A key that has expired counts as absent, whether or not its row was purged yet. Of
//! repeats that arrive together, at any server, the key's row lets one through: the others wait for
//! its commit and read its answer.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use crate::checksum::{IDEMPOTENCY_KEYS, sealed};
use crate::sql::{Query, Sql, ToValue as _};
use crate::{IdempotencyKey, StoreError, StoredAnswer, values};

/// One domain in a transaction.
pub trait CommandStore: Sql {
    /// Finds the row of the domain `?1`. If another transaction may remove the domain, that one
    /// waits for the end of this one.
    const DOMAIN: &'static str;

    /// Ends a statement that finds the row of a domain as [`CommandStore::DOMAIN`] does.
    const DOMAIN_LOCK: &'static str;

    fn domain(&self) -> DomainId;

    /// Adds to the bytes that the domain stores, or takes from them, in the same transaction.
    /// [`StoreError::QuotaExceeded`] if the domain then stores more than it may; a backend may
    /// return it at the end of the transaction.
    fn store_bytes(&self, more: i64) -> Result<(), StoreError>;

    /// [`StoreError::NotFound`] if the domain was removed. Its removal waits for this transaction.
    fn require_domain(&self) -> Result<(), StoreError> {
        let found = self.find(Self::DOMAIN, values![self.domain()], |_| Ok(()))?;
        found.ok_or_else(StoreError::unknown_domain)
    }

    /// [`CommandStore::require_domain`] for a caller. [`StoreError::KeyEnded`] if the caller's key
    /// was revoked or has expired: a request may take minutes to arrive.
    fn require_caller(&self, key: Option<&str>, now: UnixMillis) -> Result<(), StoreError> {
        let Some(key) = key else { return self.require_domain() };
        let select = format!(
            "SELECT EXISTS (SELECT 1 FROM keys k WHERE k.domain_id = ?1 AND k.id = ?2
             AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3))
             FROM domains WHERE id = ?1{}",
            Self::DOMAIN_LOCK
        );
        let works = self.find(&select, values![self.domain(), key, now], |row| row.get(0))?;
        match works {
            Some(true) => Ok(()),
            Some(false) => Err(StoreError::KeyEnded),
            None => Err(StoreError::unknown_domain()),
        }
    }
}

/// The answer stored under a key that has not expired, and the hash of its request.
pub fn stored_answer(
    domain: DomainId,
    key: &str,
    now: UnixMillis,
) -> Query<([u8; 32], StoredAnswer)> {
    let select = format!(
        "SELECT {} FROM idempotency_keys WHERE domain_id = ?1 AND key = ?2 AND expires_at > ?3",
        IDEMPOTENCY_KEYS.select()
    );
    Query::new(select, [domain.into(), key.into(), now.into()], |row| {
        IDEMPOTENCY_KEYS.require(row)?;
        Ok((row.get(2)?, StoredAnswer { location: row.get(3)?, body: row.get(4)? }))
    })
}

/// The first answer if the request is a repeat. [`StoreError::IdempotencyKeyReused`] if the key
/// belongs to a request with another content.
pub fn first_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    now: UnixMillis,
) -> Result<Option<StoredAnswer>, StoreError> {
    match store.ask(&stored_answer(store.domain(), &key.text, now))?.pop() {
        Some((content, answer)) if content == key.content => Ok(Some(answer)),
        Some(_) => Err(StoreError::IdempotencyKeyReused),
        None => Ok(None),
    }
}

/// Stores `answer`, or returns the first answer if the request is a repeat.
pub fn store_or_first(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
    now: UnixMillis,
) -> Result<Option<StoredAnswer>, StoreError> {
    if insert_answer(store, key, answer, now)? {
        return Ok(None);
    }
    // If the other answer was purged in between, the backend runs the transaction again.
    first_answer(store, key, now)?.map_or(Err(StoreError::Contended), |first| Ok(Some(first)))
}

/// Replaces the answer that this transaction stored under `key`.
pub fn replace_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
) -> Result<(), StoreError> {
    // At its own end an answer has expired, and an expired one is replaced.
    insert_answer(store, key, answer, key.expires_at).map(drop)
}

/// Stores an answer, in place of an expired one; false if the key has an answer. If another
/// transaction is storing an answer under the same key, this waits for its end.
fn insert_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let (domain, StoredAnswer { location, body }) = (store.domain(), answer);
    let mut row = sealed(values![domain, key.text, key.content, location, body, key.expires_at]);
    row.push(now.to_value());
    let stored = store.change(
        "INSERT INTO idempotency_keys AS stored
         (domain_id, key, content, location, answer, expires_at, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (domain_id, key) DO UPDATE SET content = excluded.content,
         location = excluded.location, answer = excluded.answer, expires_at = excluded.expires_at,
         checksum = excluded.checksum
         WHERE stored.domain_id = ?1 AND stored.expires_at <= ?8",
        &row,
    )?;
    Ok(stored > 0)
}
