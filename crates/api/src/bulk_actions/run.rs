//! `POST …/bulk_actions/{task_id}/run`: starts the real task with the payload of a completed dry
//! run. It needs the access that creating the real task needs, and takes no fields. A dry run is
//! run at most once, so that no entry takes effect twice by mistake; the store decides between two
//! calls that arrive together.

use axum::extract::State;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::task::TaskOrigin;
use caseload_store::{CreateTask, StoreError};
use http::HeaderMap;

use super::accept::new_task;
use super::derive_task::{Call, Verb};
use super::no_fields::NoFields;
use super::path::OwnTask;
use super::payload::gone;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::imports::run_import;
use crate::state::AppState;

/// A new task with the payload of a dry run.
pub(crate) async fn run(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
    fields: NoFields,
) -> Result<Response, Problem> {
    let call = match Call::read(&state, &query, &headers, own, fields, Verb::Run).await? {
        Call::Repeat(answer) => return Ok(answer),
        Call::First(call) => call,
    };
    let (caller, task) = (&call.caller, &call.subject.task);
    if !task.dry_run {
        let noun = call.subject.noun();
        let detail = format!("the {noun} is not a dry run: its entries have taken effect already");
        return Err(Problem::new(ErrorCode::NotADryRun, detail));
    }
    call.check_completed()?;
    if let Some(by) = &task.run_by {
        return Err(StoreError::AlreadyRun { by: by.clone() }.into());
    }
    call.check_kept(&state)?;
    if let Some(import) = call.subject.import.clone() {
        return run_import(&state, *call, &import).await;
    }
    // The payload is in memory as a whole until the store has it again.
    let bytes = state.config.body_bytes_max;
    let _memory = state.memory.take(Some(caller.domain_id), bytes).await?;
    let blocks = match state.store.whole_payload(caller.domain_id, &task.id).await {
        Err(StoreError::NotFound { .. }) => return Err(gone()),
        blocks => blocks?,
    };
    let new = new_task(&state, caller, task.action)?;
    let command = CreateTask {
        total: task.counts.total,
        blocks,
        parent_id: Some(task.id.clone()),
        runs_parent: true,
        upsert: task.upsert,
        origin: TaskOrigin { submitted_by: new.origin.submitted_by, ..task.origin.clone() },
        ..new
    };
    call.accept(&state, command).await
}
