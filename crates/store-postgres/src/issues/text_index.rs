//! The text index: its statements ([`TextIndexStore`]) and a step of indexing. A step is planned in
//! one snapshot and carried out in a transaction of its own.

use caseload_model::ids::DomainId;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::text_index::{self, TextIndexStore};
use caseload_store::{IndexTexts, StoreError};
use tokio_postgres::types::ToSql;

use crate::domains::LOCK_DOMAIN;
use crate::engine::{BlockingClient, Engine};
use crate::tx::DomainTx;

/// The first half of the lock's number; that of compactions is another one.
const LOCK_CLASS: i32 = 0x6361_7378;

impl TextIndexStore for BlockingClient<'_> {
    fn lock_text_index(&self, domain: DomainId) -> Result<bool, StoreError> {
        self.wait(async {
            let client = self.client();
            let lock = "SELECT pg_try_advisory_xact_lock($1, $2)";
            let locked = client.row(lock, &[&LOCK_CLASS, &(domain.0 as i32)]).await?;
            Ok(locked.get::<_, bool>(0)
                && client.row_opt(LOCK_DOMAIN, &[&domain.0]).await?.is_some())
        })
    }

    fn insert_grams(
        &self,
        domain: DomainId,
        segment: i64,
        lists: &[(u16, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let insert = "INSERT INTO issue_text_grams (domain_id, segment, bucket, rows)
             SELECT $1, $2, l.bucket, l.rows FROM unnest($3::integer[], $4::bytea[])
             AS l(bucket, rows)";
        let buckets: Vec<i32> = lists.iter().map(|(bucket, _)| (*bucket).into()).collect();
        let rows: Vec<&[u8]> = lists.iter().map(|(_, rows)| &rows[..]).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&domain.0, &segment, &buckets, &rows];
        self.wait(self.client().execute(insert, &params)).map(drop)
    }
}

/// Carries out one step. True if it did something.
pub(crate) async fn index_texts(engine: &Engine, how: IndexTexts) -> Result<bool, StoreError> {
    let planned = engine.read_blocking_at_leisure(NO_DOMAIN, move |db| {
        text_index::plan(db, |db, domain| DomainTx { db, domain }, how)
    });
    let Some(step) = planned.await? else { return Ok(false) };
    let indexed = engine.write_blocking(move |db| {
        let indexed = text_index::apply(db, &step)?;
        failpoint::reached(Failpoint::IndexTextsBeforeCommit);
        Ok(indexed)
    });
    let indexed = indexed.await?;
    failpoint::reached(Failpoint::IndexTextsAfterCommit);
    Ok(indexed)
}
