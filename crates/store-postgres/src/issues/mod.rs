//! Issues in PostgreSQL: importing, reading and writing them. A narrow row per issue with its
//! indexes, kept counts and sets of rows answer filters, sorts and totals; rendered fragments
//! beside it are what is served. What an import means and what a query matches are the model's, how
//! a query is answered is [`caseload_store::issues`]; here is only where it is kept. Invariant:
//! rows, fragments and the deltas of counts and sets change in one transaction.

mod along;
mod arriving;
mod attachments;
mod columns;
mod counts;
mod deltas;
mod fold;
mod folder;
mod import;
mod names;
mod page;
mod reads;
mod sets;
mod sql;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue::IssueQueue;
use caseload_model::issue::write::{Attachment, References};
use caseload_model::issue_query::{ParameterFault, SortKey};
use caseload_model::time::UnixMillis;

use super::engine::{Engine, Session};
use super::rows::text;
use caseload_store::issues::{
    AtOnce, Chosen, IssueReads as _, Shown, Written, page_of, reads_texts, step_of, write,
};
use caseload_store::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, GetIssue, Idempotent, IssuePage,
    IssueStep, ListIssues, RenderedIssue, StageAttachment, StepForm, StepIssues, StoreError,
    StoredAnswer,
};
pub(super) use columns::{BEHIND, COLUMNS, columns};
pub(super) use folder::{Folder, fold_left, join_parts};
pub(super) use import::Import;
pub(super) use page::{FRAGMENTS, FRAGMENTS_COUNT, fragments};
use reads::Reads;
pub(super) use sets::{apply as apply_delta, block_number};
use writes::Writes;

pub(super) async fn list(
    engine: &Arc<Engine>,
    request: ListIssues,
) -> Result<IssuePage, StoreError> {
    let (budget, domain) = (request.budget, request.domain);
    if let Some(asked) = AtOnce::of_list(&request) {
        let (total, page) = at_once(engine, budget, domain, asked).await?;
        return Ok(page_of(total.unwrap_or_default(), page));
    }
    let is_long = reads_texts(&request.query);
    engine
        .ask(budget, is_long, move |ask, pace| {
            caseload_store::issues::list(&Reads { ask, domain }, &request, pace)
        })
        .await
}

pub(super) async fn step(
    engine: &Arc<Engine>,
    request: StepIssues,
) -> Result<IssueStep, StoreError> {
    let (budget, domain) = (request.budget, request.domain);
    if let Some(asked) = AtOnce::of_step(&request) {
        let (total, page) = at_once(engine, budget, domain, asked).await?;
        return Ok(step_of(total, page));
    }
    let is_long = reads_texts(&request.query);
    engine
        .ask(budget, is_long, move |ask, pace| {
            caseload_store::issues::step(&Reads { ask, domain }, &request, pace)
        })
        .await
}

/// A list of which everything is asked at once.
async fn at_once(
    engine: &Engine,
    budget: Duration,
    domain: DomainId,
    asked: AtOnce<'_>,
) -> Result<(Option<u64>, Written), StoreError> {
    engine.note_short_read();
    engine
        .read_in_session(Some(budget), async |session: &Session| {
            along::at_once(session, domain, &asked).await
        })
        .await
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
        .ask(budget, false, move |ask, _| {
            let reads = Reads { ask, domain };
            let shown = Shown {
                view,
                form: StepForm::Commas,
                issues_max: 1,
                bytes_max: usize::MAX,
                key: SortKey::CreationTime,
            };
            let rows: Vec<u32> = reads.ids(&[id])?.iter().collect();
            if rows.is_empty() {
                return Ok(None);
            }
            let written = reads.write(&Chosen::Rows(rows), &shown)?;
            Ok(Some(RenderedIssue { body: written.body, version: written.version.finish() }))
        })
        .await
}

pub(super) async fn create(
    engine: &Arc<Engine>,
    command: CreateIssue,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.on.domain;
    engine.change(move |ask| write::create(&Writes { ask, domain }, &command)).await
}

pub(super) async fn add_message(
    engine: &Arc<Engine>,
    command: AddMessage,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.on.domain;
    engine.change(move |ask| write::add_message(&Writes { ask, domain }, &command)).await
}

pub(super) async fn add_note(
    engine: &Arc<Engine>,
    command: AddNote,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let domain = command.on.domain;
    engine.change(move |ask| write::add_note(&Writes { ask, domain }, &command)).await
}

pub(super) async fn edit(engine: &Arc<Engine>, command: EditIssue) -> Result<Vec<u8>, StoreError> {
    let domain = command.on.domain;
    engine.change(move |ask| write::edit(&Writes { ask, domain }, &command)).await
}

pub(super) async fn edit_many(
    engine: &Arc<Engine>,
    command: EditIssues,
) -> Result<Vec<u8>, StoreError> {
    let domain = command.on.domain;
    engine.change(move |ask| write::edit_many(&Writes { ask, domain }, &command)).await
}

pub(super) async fn reference_faults(
    engine: &Arc<Engine>,
    domain: DomainId,
    references: References,
) -> Result<Vec<ParameterFault>, StoreError> {
    engine
        .ask(super::engine::READ_BUDGET, false, move |ask, _| {
            write::reference_faults(&Writes { ask, domain }, &references)
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

/// Removes some staged files that nobody claimed, and folds what other servers left; true where
/// more may be left to do.
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
    fold_left(engine).await
}
