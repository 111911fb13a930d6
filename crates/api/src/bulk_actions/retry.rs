//! `POST …/bulk_actions/{task_id}/retry`: a new task of the entries that failed or were not
//! processed. It needs the same access as creating the task, and takes no fields. A retry is a task
//! like any other and has the same limits. Its entries keep the index and line that they have in
//! the parent. A task has at most one retry, so that no entry is run twice by mistake; the store
//! decides between two that arrive together. The retry itself can be retried.

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
use super::payload::line_bytes;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::imports::retry_import;
use crate::state::AppState;

/// A new task of the entries that failed or were not processed.
pub(crate) async fn retry(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
    fields: NoFields,
) -> Result<Response, Problem> {
    let call = match Call::read(&state, &query, &headers, own, fields, Verb::Retry).await? {
        Call::Repeat(answer) => return Ok(answer),
        Call::First(call) => call,
    };
    let (caller, task) = (&call.caller, &call.subject.task);
    call.check_completed()?;
    if let Some(by) = &task.retried_by {
        return Err(StoreError::AlreadyRetried { by: by.clone() }.into());
    }
    call.check_kept(&state)?;
    if task.retryable_entries() == 0 {
        let detail = format!(
            "every entry of the {} succeeded; there is nothing to retry",
            call.subject.noun()
        );
        return Err(Problem::new(ErrorCode::NothingToRetry, detail));
    }
    if let Some(import) = call.subject.import.clone() {
        return retry_import(&state, *call, &import).await;
    }
    // The payload is in memory as a whole until the store has it again.
    let bytes = state.config.body_bytes_max;
    let _memory = state.memory.take(Some(caller.domain_id), bytes).await?;
    let blocks = state.store.retry_payload(caller.domain_id, &task.id).await?;
    let (content_length, blocks) = state.cpu.run(move || (line_bytes(&blocks), blocks)).await?;
    let new = new_task(&state, caller, task.action)?;
    let origin = TaskOrigin {
        file_name: task.origin.file_name.clone(),
        content_length: Some(content_length?),
        ..new.origin
    };
    let command = CreateTask {
        total: task.retryable_entries(),
        blocks,
        dry_run: task.dry_run,
        upsert: task.upsert,
        parent_id: Some(task.id.clone()),
        origin,
        ..new
    };
    call.accept(&state, command).await
}
