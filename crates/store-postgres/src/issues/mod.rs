//! Issues in PostgreSQL: a narrow row per issue with its indexes, counters and sets of rows for
//! filters, sorts and totals, and the rendered fragments that pages are made of. The model
//! defines the meaning of imports and queries; [`caseload_store::query`] plans how a query is
//! answered. This module holds the statements. Invariant: rows, fragments and the deltas of
//! counters and sets change in one transaction.

mod columns;
mod compaction;
mod compactor;
mod copy_pipeline;
mod counts;
mod deltas;
mod import;
mod import_names;
mod issue_store;
mod page;
mod scan;
mod sets;
mod source;
mod sql;
mod text_index;

use caseload_model::ids::DomainId;

use super::engine::{Engine, Session};
use caseload_store::query::{Planned, RenderedPage, Rendering, Request, Thresholds};
use caseload_store::{ReadBudget, StoreError};
pub(super) use compactor::{Compactor, compact_remaining, join_parts};
pub(super) use import::Import;
pub(super) use text_index::index_texts;

/// Total and page, if the plan is one question and issues of usual size have room on the page: they
/// come in one flight, without a thread that waits for answers.
pub(super) async fn one_flight(
    engine: &Engine,
    budget: ReadBudget,
    domain: DomainId,
    request: Request<'_>,
    rendering: &Rendering,
) -> Result<Option<(Option<u64>, RenderedPage)>, StoreError> {
    let Planned::Plan(plan) = Planned::of(request, Thresholds::USUAL) else { return Ok(None) };
    let Some(question) = plan.as_one_question() else { return Ok(None) };
    if !page::is_roomy(rendering, question.1.limit) {
        return Ok(None);
    }
    engine.note_short_read();
    let found = engine.read_in_session(domain, Some(budget), async |session: &Session| {
        scan::one_flight(session, domain, question, rendering).await
    });
    found.await.map(Some)
}
