//! Statements on the stored answers of idempotency keys; [`caseload_store::idempotency`] has the
//! rules. Of repeats that arrive together, at any server, the key's row lets one through: the
//! others wait for its commit and read its answer.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::idempotency::CommandStore;
use caseload_store::{IdempotencyKey, StoreError, StoredAnswer};

use crate::domains;
use crate::engine::Client;
use crate::tx::DomainTx;

/// The answer stored under a key that has not expired, and the hash of its request.
pub(super) async fn stored_answer(
    client: &Client,
    domain: DomainId,
    key: &str,
    now: UnixMillis,
) -> Result<Option<([u8; 32], StoredAnswer)>, StoreError> {
    let found = client
        .row_opt(
            "SELECT content, location, answer FROM idempotency_keys
             WHERE domain_id = $1 AND key = $2 AND expires_at > $3",
            &[&domain.0, &key.as_bytes(), &now.0],
        )
        .await?;
    let Some(row) = found else { return Ok(None) };
    let content = row
        .get::<_, &[u8]>(0)
        .try_into()
        .map_err(|_| StoreError::Corrupt("a stored answer without a hash".to_owned()))?;
    Ok(Some((content, StoredAnswer { location: row.get(1), body: row.get(2) })))
}

impl CommandStore for DomainTx<'_> {
    fn require_domain(&self) -> Result<(), StoreError> {
        self.wait(domains::demand(self.client(), self.domain))
    }

    fn answer(
        &self,
        key: &str,
        now: UnixMillis,
    ) -> Result<Option<([u8; 32], StoredAnswer)>, StoreError> {
        self.wait(stored_answer(self.client(), self.domain, key, now))
    }

    fn insert_answer(
        &self,
        key: &IdempotencyKey,
        answer: &StoredAnswer,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let inserted = self.execute(
            "INSERT INTO idempotency_keys AS stored
             (domain_id, key, content, location, answer, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (domain_id, key) DO UPDATE SET content = excluded.content,
         location = excluded.location, answer = excluded.answer, expires_at = excluded.expires_at
             WHERE stored.domain_id = $1 AND stored.expires_at <= $7",
            &[
                &self.domain.0,
                &key.text.as_bytes(),
                &key.content.as_slice(),
                &answer.location,
                &answer.body,
                &key.expires_at.0,
                &now.0,
            ],
        )?;
        Ok(inserted > 0)
    }
}
