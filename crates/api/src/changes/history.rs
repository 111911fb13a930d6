//! `GET /v1/{domain}/issues/{issue_id}/changes` and
//! `GET /v2/{domain}/identity/core_profiles/{core_profile_id}/changes`: the changes of one record,
//! newest first, by cursor.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use caseload_model::change::{Change, HistoryRequest, parse_history};
use caseload_model::json::write_array;
use caseload_model::profile_query::ProfileKind;
use http::header;

use super::history_record::Record;
use crate::http::auth::Caller;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::issues::{InvalidIssueId, IssueId, unknown_issue};
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::profiles::{core_profile_id, unknown_profile};
use crate::state::AppState;

/// `GET /v1/{domain}/issues/{issue_id}/changes`
pub(crate) async fn history_of_issue(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let id = id.map(|id| id.number().map(Record::Issue)).map_err(Fault::from);
    answer(&state, &caller, (id, unknown_issue()), &query).await
}

/// `GET /v2/{domain}/identity/core_profiles/{core_profile_id}/changes`
pub(crate) async fn history_of_core_profile(
    State(state): State<AppState>,
    caller: Caller,
    Path((_, id)): Path<(String, String)>,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let id = core_profile_id(&id).map(|id| id.map(Record::CoreProfile));
    answer(&state, &caller, (id, unknown_profile(ProfileKind::Core)), &query).await
}

/// Answers with a part of a history; a record of `None` is one that cannot exist.
async fn answer(
    state: &AppState,
    caller: &Caller,
    (record, unknown): (Result<Option<Record>, Fault>, Problem),
    QueryPairs(pairs): &QueryPairs,
) -> Result<Response, Problem> {
    let mut faults = Vec::new();
    let record = record.map_err(|fault| faults.push(fault));
    let request =
        parse_history(pairs).map_err(|others| faults.extend(others.into_iter().map(Fault::from)));
    Problem::check(faults)?;
    let (Ok(Some(record)), Ok(request)) = (record, request) else { return Err(unknown) };
    let HistoryRequest { page_size, before } = request;
    let memory = state.memory.take(Some(caller.domain_id), PAGE_BYTES_AHEAD).await?;
    let page = record.history(state, caller, before, page_size as usize).await?;
    if before.is_none() && page.next.is_none() && page.changes.is_empty() {
        record.require(state, caller).await?;
    }
    let mut body = b"{\"changes\":".to_vec();
    write_array(&page.changes, &mut body, Change::write_json);
    let next = page.next.map_or("null".to_owned(), |next| format!("\"{next}\""));
    body.extend_from_slice(format!(",\"next-cursor\":{next}}}").as_bytes());
    Ok(([(header::CONTENT_TYPE, "application/json")], memory.hold(body)).into_response())
}
