//! The text index: its statements ([`TextIndexStore`]) and a step of indexing. A step is planned on
//! a reader, and the writer thread carries it out.

use caseload_model::ids::DomainId;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::text_index::{self, TextIndexStore};
use caseload_store::{IndexTexts, StoreError};
use rusqlite::{Connection, params};

use super::IssueSource;
use crate::engine::{Engine, Weight};
use crate::tx::Tx;
use crate::{Fault, store_error};

impl TextIndexStore for Tx<'_> {
    /// The writer thread carries out one step at a time.
    fn lock_text_index(&self, domain: DomainId) -> Result<bool, StoreError> {
        let find = "SELECT 1 FROM domains WHERE id = ?1";
        let mut find = self.0.prepare_cached(find).map_err(store_error)?;
        find.exists([domain.0]).map_err(store_error)
    }

    fn insert_grams(
        &self,
        domain: DomainId,
        segment: i64,
        lists: &[(u16, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let insert = "INSERT INTO issue_text_grams (domain_id, segment, bucket, rows)
             VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.0.prepare_cached(insert).map_err(store_error)?;
        for (bucket, rows) in lists {
            insert.execute(params![domain.0, segment, bucket, rows]).map_err(store_error)?;
        }
        Ok(())
    }
}

/// Carries out one step. True if it did something.
pub(crate) async fn index_texts(engine: &Engine, how: IndexTexts) -> Result<bool, Fault> {
    let plan = move |conn: &Connection| -> Result<_, Fault> {
        let tx = Tx(conn);
        Ok(text_index::plan(&tx, |tx, domain| IssueSource::new(tx.0, domain), how)?)
    };
    let planned = engine.readers().read(NO_DOMAIN, None, true, move |conn, _| plan(conn)).await?;
    let Some(step) = planned else { return Ok(false) };
    let indexed = engine
        .write_in(NO_DOMAIN, Weight::Long, move |conn, _| {
            let indexed = text_index::apply(&Tx(conn), &step)?;
            failpoint::reached(Failpoint::IndexTextsBeforeCommit);
            Ok(indexed)
        })
        .await?;
    failpoint::reached(Failpoint::IndexTextsAfterCommit);
    Ok(indexed)
}
