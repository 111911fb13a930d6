//! Finds the person that a form names. A dry run answers counts and ids; otherwise a task is made.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::erasure::{Erasure, ErasureReceipt, ErasureRequest, read_erasure};
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::write::in_one_spelling;
use caseload_model::task::{Action, TaskOrigin};
use caseload_store::{CreateTask, FindPerson, FoundPerson, pack_block};
use http::header;

use crate::bulk_actions::{accept, new_task};
use crate::http::auth::Caller;
use crate::http::form::{self, NoFiles};
use crate::http::idempotency;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::lists::deadline::in_time;
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::state::AppState;

/// `POST /v1/{domain}/erasures`
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let mut faults = query.unknown(&[]);
    let key = idempotency::key(request.headers(), &mut faults);
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let (fields, _, _memory) = form::read(&state, &caller, request, NoFiles).await?;
    let (asked, wrong) = read_erasure(&fields.pairs);
    let access = Action::ErasePerson.access_of(asked.dry_run);
    caller.require(access, "erasing a person")?;
    let content = content("erasing a person", &fields.pairs);
    faults.extend(fields.faults);
    faults.extend(wrong.into_iter().map(Fault::from));
    Problem::check(faults)?;
    // The person of a repeat may be gone by now.
    if let Some(first) = idempotency::first_answer(&state, &caller, key.as_deref(), content).await?
    {
        return Ok(idempotency::created(first));
    }
    let ErasureRequest { selector: Some(selector), issues, dry_run, tasks } = asked else {
        return Err(Problem::internal());
    };
    let request = FindPerson {
        domain: caller.domain_id,
        selector,
        issues,
        count: dry_run,
        tasks,
        budget: state.config.query_timeout.into(),
    };
    let bytes = if tasks.is_some() { PAGE_BYTES_AHEAD } else { 0 };
    let memory = state.memory.take(Some(caller.domain_id), bytes).await?;
    let found = find(&state, request).await?;
    if dry_run {
        let body = memory.hold(shown(&found));
        return Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response());
    }
    let command = task_of(&state, &caller, &Erasure { person: found.person, issues })?;
    accept(&state, &caller, command, key.map(|key| (key, content))).await
}

/// The answer of a dry run.
fn shown(found: &FoundPerson) -> Vec<u8> {
    let FoundPerson { person, counts, tasks } = found;
    let mut body = Vec::new();
    ErasureReceipt { counts: *counts, person, erased_at: None }.write(&mut body);
    if let Some(tasks) = tasks {
        // The brace at the end of the receipt.
        body.pop();
        tasks.write(&mut body);
        body.push(b'}');
    }
    body
}

async fn find(state: &AppState, request: FindPerson) -> Result<FoundPerson, Problem> {
    let found = in_time(state.config.query_timeout, state.store.find_person(request)).await?;
    let nobody = "the domain has no profile and no issue of this person";
    found.ok_or_else(|| Problem::new(ErrorCode::NotFound, nobody))
}

/// The task of an erasure.
pub(crate) fn task_of(
    state: &AppState,
    caller: &Caller,
    erasure: &Erasure,
) -> Result<CreateTask, Problem> {
    let block = erasure.block();
    let new = new_task(state, caller, Action::ErasePerson)?;
    let content_length = Some(block.bytes.len() as u64);
    let origin = TaskOrigin { content_length, ..new.origin };
    Ok(CreateTask { total: 1, blocks: vec![pack_block(&block)?], origin, ..new })
}

/// The hash by which a repeat of a request for `work` is known.
pub(crate) fn content(work: &str, pairs: &[(String, String)]) -> [u8; 32] {
    let fields = in_one_spelling(pairs);
    let parts = fields.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let parts: Vec<&[u8]> = [work.as_bytes()].into_iter().chain(parts).collect();
    idempotency::content_hash(&parts)
}
