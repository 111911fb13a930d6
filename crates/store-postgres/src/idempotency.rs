//! Answers kept under the idempotency keys of callers. Invariant: a kept answer and the effect it
//! tells of commit together, so that a repeat after a crash finds both or neither. Of repeats that
//! arrive at once, at whichever servers, the key's row lets one through: the others wait for its
//! commit and read its answer. A key that has expired is as good as absent.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use super::engine::Client;
use caseload_store::{IdempotencyKey, StoreError, StoredAnswer};

/// Keeps the first answer, in the transaction of the effect. Where there is one already, that one;
/// a fault where the key stands for another request.
pub(super) async fn keep_or_repeat(
    client: &Client,
    domain: DomainId,
    key: &IdempotencyKey,
    answer: &StoredAnswer,
    now: UnixMillis,
) -> Result<Option<StoredAnswer>, StoreError> {
    let kept = client
        .execute(
            "INSERT INTO idempotency_keys AS kept
             (domain_id, key, content, location, answer, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (domain_id, key) DO UPDATE SET content = excluded.content,
         location = excluded.location, answer = excluded.answer, expires_at = excluded.expires_at
             WHERE kept.domain_id = $1 AND kept.expires_at <= $7",
            &[
                &domain.0,
                &key.text.as_bytes(),
                &key.content.as_slice(),
                &answer.location,
                &answer.body,
                &key.expires_at.0,
                &now.0,
            ],
        )
        .await?;
    if kept == 1 {
        return Ok(None);
    }
    match stored_answer(client, domain, &key.text, now).await? {
        Some((content, first)) if content == key.content => Ok(Some(first)),
        Some(_) => Err(StoreError::IdempotencyKeyReused),
        // It was removed in between: the caller's transaction is made again.
        None => Err(StoreError::Contended),
    }
}

/// Removes at most `keys` expired keys of a domain; how many there were.
pub(super) async fn purge(
    client: &Client,
    domain: DomainId,
    now: UnixMillis,
    keys: i64,
) -> Result<u64, StoreError> {
    let removed = client
        .execute(
            "DELETE FROM idempotency_keys WHERE domain_id = $1 AND key IN
             (SELECT key FROM idempotency_keys WHERE domain_id = $1 AND expires_at <= $2
             LIMIT $3 FOR UPDATE SKIP LOCKED)",
            &[&domain.0, &now.0, &keys],
        )
        .await?;
    Ok(removed)
}

/// The answer kept under a key, with the hash of what was asked for.
pub(super) async fn stored_answer(
    client: &Client,
    domain: DomainId,
    text: &str,
    now: UnixMillis,
) -> Result<Option<([u8; 32], StoredAnswer)>, StoreError> {
    let found = client
        .row_opt(
            "SELECT content, location, answer FROM idempotency_keys
             WHERE domain_id = $1 AND key = $2 AND expires_at > $3",
            &[&domain.0, &text.as_bytes(), &now.0],
        )
        .await?;
    let Some(row) = found else { return Ok(None) };
    let content = row
        .get::<_, &[u8]>(0)
        .try_into()
        .map_err(|_| StoreError::Corrupt("a kept answer without a hash".to_owned()))?;
    Ok(Some((content, StoredAnswer { location: row.get(1), body: row.get(2) })))
}
