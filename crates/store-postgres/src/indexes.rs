//! Completes the indexes that a migration made without the stored rows. The server that starts
//! first afterwards does it, each index in one transaction.

use caseload_store::StoreError;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::issues::spans_are_missing;
use caseload_store::profile_sets::is_incomplete;
use caseload_store::profiles::{complete_index, index_is_incomplete};

use crate::engine::{Engine, READ_BUDGET};
use crate::issues::complete_spans;
use crate::profile_sets;

/// Adds the stored rows to new indexes.
pub(crate) async fn complete_indexes(engine: &Engine) -> Result<(), StoreError> {
    let incomplete =
        engine.read_blocking(NO_DOMAIN, READ_BUDGET, true, |db, _| index_is_incomplete(db));
    if incomplete.await? {
        engine.write_blocking(|db| complete_index(db)).await?;
    }
    let incomplete = engine.read_blocking(NO_DOMAIN, READ_BUDGET, true, |db, _| is_incomplete(db));
    if incomplete.await? {
        engine.write_blocking(profile_sets::complete).await?;
    }
    let missing = engine.read_blocking(NO_DOMAIN, READ_BUDGET, true, |db, _| spans_are_missing(db));
    if missing.await? {
        engine.write_blocking(complete_spans).await?;
    }
    Ok(())
}
