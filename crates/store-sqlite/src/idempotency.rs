//! Statements on the stored answers of idempotency keys; [`caseload_store::idempotency`] has the
//! rules.

use caseload_model::time::UnixMillis;
use caseload_store::idempotency::CommandStore;
use caseload_store::{IdempotencyKey, StoreError, StoredAnswer};
use rusqlite::params;

use crate::domains;
use crate::tx::DomainTx;

impl CommandStore for DomainTx<'_> {
    fn require_domain(&self) -> Result<(), StoreError> {
        Ok(domains::demand(self.conn, self.domain)?)
    }

    fn answer(
        &self,
        key: &str,
        now: UnixMillis,
    ) -> Result<Option<([u8; 32], StoredAnswer)>, StoreError> {
        self.row(
            "SELECT content, location, answer FROM idempotency_keys
             WHERE domain_id = ?1 AND key = ?2 AND expires_at > ?3",
            params![self.domain.0, key, now.0],
            |row| Ok((row.get(0)?, StoredAnswer { location: row.get(1)?, body: row.get(2)? })),
        )
    }

    fn insert_answer(
        &self,
        key: &IdempotencyKey,
        answer: &StoredAnswer,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let inserted = self.execute(
            "INSERT INTO idempotency_keys (domain_id, key, content, location, answer, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET content = excluded.content, location = excluded.location,
             answer = excluded.answer, expires_at = excluded.expires_at WHERE expires_at <= ?7",
            params![
                self.domain.0,
                key.text,
                key.content,
                answer.location,
                answer.body,
                key.expires_at.0,
                now.0,
            ],
        )?;
        Ok(inserted > 0)
    }
}
