//! Issues in PostgreSQL: a narrow row per issue with its indexes, counters and sets of rows for
//! filters, sorts and totals, and the rendered fragments that pages are made of. The model says
//! what an import means and what a query matches; [`caseload_store::query`] plans how a query is
//! answered. This module holds the statements. Invariant: rows, fragments and the deltas of
//! counters and sets change in one transaction.

mod attachments;
mod columns;
mod compaction;
mod compactor;
mod copy_pipeline;
mod counts;
mod deltas;
mod import;
mod import_names;
mod issue_store;
mod matches;
mod page;
mod scan;
mod sets;
mod source;
mod sql;

use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue::write::{Attachment, References};
use caseload_model::issue::{DeskAddresses, IssueQueue};
use caseload_model::issue_query::{ParameterFault, SortKey};
use caseload_model::time::UnixMillis;

use super::engine::{Engine, Session};
use super::rows::text;
use super::tx::DomainTx;
use caseload_store::issues::write;
use caseload_store::query::{
    self, Planned, RenderedPage, Rendering, Request, Selection, Source as _, Thresholds, page_of,
    step_of, tests_texts,
};
use caseload_store::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, ExplainedStep, GetIssue, Idempotent,
    IssuePage, IssueStep, ListIssues, RenderedIssue, StageAttachment, StepForm, StepIssues,
    StoreError, StoredAnswer,
};
pub(super) use columns::{COLUMNS, COLUMNS_END, columns};
pub(super) use compactor::{Compactor, compact_remaining, join_parts};
pub(super) use import::Import;
pub(super) use page::{FRAGMENTS, FRAGMENTS_COUNT, fragments};
pub(super) use sets::{apply as apply_delta, block_number};
use source::IssueSource;

pub(super) async fn list(
    engine: &Arc<Engine>,
    request: ListIssues,
) -> Result<IssuePage, StoreError> {
    let (budget, domain) = (request.budget, request.domain);
    let (plan, rendering) = (Request::of_list(&request), Rendering::of_list(&request));
    if let Some((total, page)) = one_flight(engine, budget, domain, plan, &rendering).await? {
        return Ok(page_of(total.unwrap_or_default(), page));
    }
    let is_long = tests_texts(&request.query);
    engine
        .read_blocking(budget, is_long, move |db, throttle| {
            query::list(&IssueSource { db, domain }, &request, throttle)
        })
        .await
}

pub(super) async fn step(
    engine: &Arc<Engine>,
    request: StepIssues,
) -> Result<IssueStep, StoreError> {
    let (budget, domain) = (request.budget, request.domain);
    let (plan, rendering) = (Request::of_step(&request), Rendering::of_step(&request));
    if let Some((total, page)) = one_flight(engine, budget, domain, plan, &rendering).await? {
        return Ok(step_of(total, page));
    }
    let is_long = tests_texts(&request.query);
    engine
        .read_blocking(budget, is_long, move |db, throttle| {
            query::step(&IssueSource { db, domain }, &request, throttle)
        })
        .await
}

pub(super) async fn explain(
    engine: &Arc<Engine>,
    request: ListIssues,
) -> Result<Vec<ExplainedStep>, StoreError> {
    let domain = request.domain;
    engine
        .read_blocking(request.budget, true, move |db, _| {
            query::explain(&IssueSource { db, domain }, &request)
        })
        .await
}

/// Total and page, if the plan is one question and the page has no bound on its bytes: they come in
/// one flight, without a thread that waits for answers.
async fn one_flight(
    engine: &Engine,
    budget: Duration,
    domain: DomainId,
    request: Request<'_>,
    rendering: &Rendering,
) -> Result<Option<(Option<u64>, RenderedPage)>, StoreError> {
    if rendering.bytes_max < usize::MAX {
        return Ok(None);
    }
    let Planned::Plan(plan) = Planned::of(request, Thresholds::USUAL) else { return Ok(None) };
    let Some(question) = plan.as_one_question() else { return Ok(None) };
    engine.note_short_read();
    let found = engine.read_in_session(Some(budget), async |session: &Session| {
        scan::one_flight(session, domain, question, rendering).await
    });
    found.await.map(Some)
}

pub(super) async fn get(
    engine: &Arc<Engine>,
    request: GetIssue,
) -> Result<Option<RenderedIssue>, StoreError> {
    let GetIssue { domain, id, view, budget } = request;
    if i64::try_from(id).is_err() {
        return Ok(None);
    }
    engine
        .read_blocking(budget, false, move |db, _| {
            let issues = IssueSource { db, domain };
            let rendering = Rendering {
                view,
                form: StepForm::Commas,
                issues_max: 1,
                bytes_max: usize::MAX,
                key: SortKey::CreationTime,
            };
            let Some(row) = issues.row_of(id)? else { return Ok(None) };
            let page = issues.render(Selection::Rows(&[row]), &rendering)?;
            let RenderedPage { body, urls, version, .. } = page;
            Ok(Some(RenderedIssue { body, urls, version: version.finish() }))
        })
        .await
}

pub(super) async fn create(
    engine: &Arc<Engine>,
    command: CreateIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.origin.domain;
    engine.write_blocking(move |db| write::create(&DomainTx { db, domain }, &command)).await
}

pub(super) async fn add_message(
    engine: &Arc<Engine>,
    command: AddMessage,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.origin.domain;
    engine.write_blocking(move |db| write::add_message(&DomainTx { db, domain }, &command)).await
}

pub(super) async fn add_note(
    engine: &Arc<Engine>,
    command: AddNote,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.origin.domain;
    engine.write_blocking(move |db| write::add_note(&DomainTx { db, domain }, &command)).await
}

pub(super) async fn edit(
    engine: &Arc<Engine>,
    command: EditIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.origin.domain;
    engine.write_blocking(move |db| write::edit(&DomainTx { db, domain }, &command)).await
}

pub(super) async fn edit_many(
    engine: &Arc<Engine>,
    command: EditIssues,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.origin.domain;
    engine.write_blocking(move |db| write::edit_many(&DomainTx { db, domain }, &command)).await
}

pub(super) async fn reference_faults(
    engine: &Arc<Engine>,
    domain: DomainId,
    references: References,
) -> Result<Vec<ParameterFault>, StoreError> {
    engine
        .read_blocking(super::engine::READ_BUDGET, false, move |db, _| {
            write::reference_faults(&DomainTx { db, domain }, &references)
        })
        .await
}

pub(super) async fn desk_addresses(
    engine: &Arc<Engine>,
    domain: DomainId,
) -> Result<DeskAddresses, StoreError> {
    engine
        .read_blocking(super::engine::READ_BUDGET, false, move |db, _| {
            write::desk_addresses(&DomainTx { db, domain })
        })
        .await
}

/// Oldest first.
pub(super) async fn queues(
    engine: &Arc<Engine>,
    domain: DomainId,
) -> Result<Vec<IssueQueue>, StoreError> {
    let select = "SELECT id, name FROM queues WHERE domain_id = $1 ORDER BY created_at, id";
    engine
        .read(None, domain, |client, domain| {
            Box::pin(async move {
                let found = client.rows(select, &[&domain.0]).await?;
                let queue = |row| Ok(IssueQueue { id: text(row, 0)?, name: text(row, 1)? });
                found.iter().map(queue).collect()
            })
        })
        .await
}

pub(super) async fn stage_attachment(
    engine: &Arc<Engine>,
    command: StageAttachment,
) -> Result<(), StoreError> {
    engine.write(command, |client, command| Box::pin(attachments::stage(client, command))).await
}

pub(super) async fn discard_attachments(
    engine: &Arc<Engine>,
    domain: DomainId,
    ids: Vec<String>,
) -> Result<(), StoreError> {
    engine
        .write((domain, ids), |client, (domain, ids)| {
            Box::pin(attachments::discard(client, *domain, ids))
        })
        .await
}

pub(super) async fn attachment(
    engine: &Arc<Engine>,
    domain: DomainId,
    id: String,
) -> Result<Option<Attachment>, StoreError> {
    engine
        .read(None, (domain, id), |client, (domain, id)| {
            Box::pin(attachments::get(client, *domain, id))
        })
        .await
}

pub(super) async fn attachment_piece(
    engine: &Arc<Engine>,
    domain: DomainId,
    id: String,
    number: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    engine
        .read(None, (domain, id), move |client, (domain, id)| {
            Box::pin(attachments::piece(client, *domain, id, number))
        })
        .await
}

/// Removes some unclaimed staged files, and compacts the deltas of other servers. Returns whether
/// more may remain.
pub(super) async fn purge(engine: &Arc<Engine>, now: UnixMillis) -> Result<bool, StoreError> {
    let domains = engine.read(None, (), |client, ()| Box::pin(super::domains::all(client))).await?;
    for domain in domains {
        let purged = engine.write(domain.id, move |client, domain| {
            Box::pin(attachments::purge(client, *domain, now))
        });
        if purged.await? {
            return Ok(true);
        }
    }
    compact_remaining(engine).await
}
