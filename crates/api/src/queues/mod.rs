//! `GET /v1/{domain}/queues`: the queues of a domain, a small list that the server reads whole.
//! Query parameters other than `format` are ignored, because clients of the API family send more
//! than any server knows.

pub(crate) mod openapi;

use axum::extract::State;
use axum::response::Response;
use caseload_model::issue::IssueQueue;
use http::{HeaderMap, Uri};
use serde_json::{Value, json};

use crate::http::auth::Caller;
use crate::http::format::{Format, SHORT_LIST_BYTES};
use crate::http::problem::Problem;
use crate::state::AppState;

/// `GET /v1/{domain}/queues`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let chosen = Format::of_short_list(&uri, &headers)?;
    let memory = state.memory.take(Some(caller.domain_id), SHORT_LIST_BYTES).await?;
    let queues = state.store.queues(caller.domain_id).await?;
    let queues: Vec<Value> = queues.iter().map(view).collect();
    Ok(chosen.answer(memory, &queues, &["id", "name"], &json!({ "queues": queues })))
}

/// Clients of the family read either of the two names.
pub(crate) fn view(queue: &IssueQueue) -> Value {
    json!({"id": queue.id, "name": queue.name, "title": queue.name})
}
