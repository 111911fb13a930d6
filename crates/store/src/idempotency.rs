//! Requests that a caller may repeat: the rules of idempotency keys. Invariant: an answer and the
//! effect that it reports commit in one transaction, so that a repeat after a crash finds both or
//! neither. A key that has expired counts as absent, whether or not its row was purged yet.

use caseload_model::time::UnixMillis;

use crate::{IdempotencyKey, StoreError, StoredAnswer};

/// Statements that every writing command of a domain needs, in one transaction.
pub trait CommandStore {
    /// [`StoreError::NotFound`] if the domain was removed. Its removal waits for this transaction.
    fn require_domain(&self) -> Result<(), StoreError>;

    /// The answer stored under a key that has not expired, and the hash of its request.
    fn answer(
        &self,
        key: &str,
        now: UnixMillis,
    ) -> Result<Option<([u8; 32], StoredAnswer)>, StoreError>;

    /// Stores an answer, in place of an expired one; false if the key has an answer. If another
    /// transaction is storing an answer under the same key, this waits for its end.
    fn insert_answer(
        &self,
        key: &IdempotencyKey,
        answer: &StoredAnswer,
        now: UnixMillis,
    ) -> Result<bool, StoreError>;
}

/// The first answer if the request is a repeat. [`StoreError::IdempotencyKeyReused`] if the key
/// belongs to a request with another content.
pub fn first_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    now: UnixMillis,
) -> Result<Option<StoredAnswer>, StoreError> {
    match store.answer(&key.text, now)? {
        Some((content, answer)) if content == key.content => Ok(Some(answer)),
        Some(_) => Err(StoreError::IdempotencyKeyReused),
        None => Ok(None),
    }
}

/// Replaces the answer that this transaction stored under `key`.
pub fn replace_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
) -> Result<(), StoreError> {
    // At its own end an answer has expired, and an expired one is replaced.
    store.insert_answer(key, answer, key.expires_at).map(drop)
}

/// Stores `answer`, or returns the first answer if the request is a repeat.
pub fn store_or_first(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
    now: UnixMillis,
) -> Result<Option<StoredAnswer>, StoreError> {
    if store.insert_answer(key, answer, now)? {
        return Ok(None);
    }
    // If the other answer was purged in between, the backend runs the transaction again.
    first_answer(store, key, now)?.map_or(Err(StoreError::Contended), |first| Ok(Some(first)))
}
