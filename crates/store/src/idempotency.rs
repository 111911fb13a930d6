//! Requests that a caller may repeat: the rules of idempotency keys. Invariant: an answer and the
//! effect that it reports commit in one transaction, so that a repeat after a crash finds both or
//! neither. A key counts until its row is purged: a clock that is ahead for a while lets no repeat
//! through. Of repeats that arrive together, at any server, the key's row lets one through: the
//! others wait for its commit and read its answer.

use caseload_model::change::Author;
use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use crate::changes::{LoggedBatch, add_batch};
use crate::checksum::{IDEMPOTENCY_KEYS, sealed};
use crate::sql::{Query, Sql};
use crate::{IdempotencyKey, StoreError, StoredAnswer, values};

/// One domain in a transaction.
pub trait CommandStore: Sql {
    /// Finds the row of the domain `?1`. If another transaction may remove the domain, that one
    /// waits for the end of this one.
    const DOMAIN: &'static str;

    /// Ends a statement that finds the row of a domain as [`CommandStore::DOMAIN`] does.
    const DOMAIN_LOCK: &'static str;

    /// Reads the mark of changes of the domain `?1`.
    const CHANGE_MARK: &'static str;

    fn domain(&self) -> DomainId;

    /// Adds to the bytes that the domain stores, or takes from them, in the same transaction.
    /// [`StoreError::QuotaExceeded`] if the domain then stores more than it may; a backend may
    /// return it at the end of the transaction.
    fn store_bytes(&self, more: i64) -> Result<(), StoreError>;

    /// Adds a batch to the log of changes, in the same transaction: see
    /// [`log`](crate::changes::log). A backend may write it at the end of the transaction.
    fn add_batch(&self, batch: LoggedBatch) -> Result<(), StoreError> {
        add_batch(self, self.domain(), &batch)
    }

    /// [`StoreError::NotFound`] if the domain was removed. Its removal waits for this transaction.
    fn require_domain(&self) -> Result<(), StoreError> {
        let found = self.find(Self::DOMAIN, values![self.domain()], |_| Ok(()))?;
        found.ok_or_else(StoreError::unknown_domain)
    }

    fn change_mark(&self) -> Result<i64, StoreError> {
        let mark = self.find(Self::CHANGE_MARK, values![self.domain()], |row| row.get(0))?;
        mark.ok_or_else(StoreError::unknown_domain)
    }

    /// [`CommandStore::require_domain`] for a caller, who is the author of the changes that follow.
    /// [`StoreError::KeyEnded`] if the caller's key was revoked or has expired: a request may take
    /// minutes to arrive.
    fn require_caller(&self, key: Option<&str>, now: UnixMillis) -> Result<Author, StoreError> {
        let Some(key) = key else { return self.require_domain().map(|()| Author::Unknown) };
        let select = format!(
            "SELECT (SELECT k.name FROM keys k WHERE k.domain_id = ?1 AND k.id = ?2
             AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3))
             FROM domains WHERE id = ?1{}",
            Self::DOMAIN_LOCK
        );
        let name: Option<Option<String>> =
            self.find(&select, values![self.domain(), key, now], |row| row.get(0))?;
        match name {
            Some(Some(name)) => Ok(Author::Key { id: key.to_owned(), name }),
            Some(None) => Err(StoreError::KeyEnded),
            None => Err(StoreError::unknown_domain()),
        }
    }
}

/// The answer stored under a key, and the hash of its request.
pub fn stored_answer(domain: DomainId, key: &str) -> Query<([u8; 32], StoredAnswer)> {
    let select = format!(
        "SELECT {} FROM idempotency_keys WHERE domain_id = ?1 AND key = ?2",
        IDEMPOTENCY_KEYS.select()
    );
    Query::new(select, [domain.into(), key.into()], |row| {
        IDEMPOTENCY_KEYS.require(row)?;
        Ok((row.get(2)?, StoredAnswer { location: row.get(3)?, body: row.get(4)? }))
    })
}

/// The first answer if the request is a repeat. [`StoreError::IdempotencyKeyReused`] if the key
/// belongs to a request with another content.
pub fn first_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
) -> Result<Option<StoredAnswer>, StoreError> {
    match store.ask(&stored_answer(store.domain(), &key.text))?.pop() {
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
) -> Result<Option<StoredAnswer>, StoreError> {
    let (domain, StoredAnswer { location, body }) = (store.domain(), answer);
    let row = sealed(values![domain, key.text, key.content, location, body, key.expires_at]);
    // If another transaction is storing an answer under the same key, this waits for its end.
    let insert = "INSERT INTO idempotency_keys
                  (domain_id, key, content, location, answer, expires_at, checksum)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (domain_id, key) DO NOTHING";
    if store.change(insert, &row)? > 0 {
        return Ok(None);
    }
    // If the other answer was purged in between, the backend runs the transaction again.
    first_answer(store, key)?.map_or(Err(StoreError::Contended), |first| Ok(Some(first)))
}

/// Replaces the answer that this transaction stored under `key`.
pub fn replace_answer(
    store: &impl CommandStore,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
) -> Result<(), StoreError> {
    let (domain, StoredAnswer { location, body }) = (store.domain(), answer);
    let row = sealed(values![domain, key.text, key.content, location, body, key.expires_at]);
    let update = "UPDATE idempotency_keys SET content = ?3, location = ?4, answer = ?5,
                  expires_at = ?6, checksum = ?7 WHERE domain_id = ?1 AND key = ?2";
    store.change(update, &row).map(drop)
}
