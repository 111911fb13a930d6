//! Completes the indexes that a migration made without the stored rows, when the store is opened.
//! The more rows the store has, the longer that takes, so no time limit of writes applies.

use caseload_store::StoreError;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::new_indexes::{NewIndex, incomplete, take};
use caseload_store::profiles::complete_index;

use crate::engine::{BlockingClient, Engine, READ_BUDGET};
use crate::issues::complete_spans;
use crate::profile_sets;

/// Adds the stored rows to new indexes. A server that begins while another one does it waits.
pub(crate) async fn complete_indexes(engine: &Engine) -> Result<(), StoreError> {
    let found = engine.read_blocking(NO_DOMAIN, READ_BUDGET, true, |db, _| incomplete(db));
    for index in found.await? {
        tracing::info!(index = index.name(), "completing an index of the store");
        engine.write_unlimited(move |db| complete(db, index)).await?;
    }
    Ok(())
}

fn complete(db: &BlockingClient<'_>, index: NewIndex) -> Result<(), StoreError> {
    if !take(db, index)? {
        return Ok(());
    }
    match index {
        NewIndex::AppIdentities => complete_index(db),
        NewIndex::ProfileSets => profile_sets::complete(db),
        NewIndex::IssueSpans => complete_spans(db),
    }
}
