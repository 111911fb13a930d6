//! `POST /v1/{domain}/apps`, `…/agents` and `…/queues`. The answers are the records as their lists
//! show them.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::timed_id;
use caseload_model::issue::IssueQueue;
use caseload_store::{CreateAgent, CreateApp, CreateQueue};
use http::StatusCode;

use super::fields::AdminFields;
use super::origin;
use crate::agents;
use crate::apps;
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::random::random_u64;
use crate::queues;
use crate::state::AppState;

/// The fields of the calls.
pub(crate) const APP_FIELDS: [&str; 1] = ["title"];
pub(crate) const AGENT_FIELDS: [&str; 2] = ["name", "email"];
pub(crate) const QUEUE_FIELDS: [&str; 1] = ["name"];

/// `POST /v1/{domain}/apps`
pub(crate) async fn create_app(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let call = "creating an app";
    let mut fields = AdminFields::read(&state, &caller, call, &APP_FIELDS, request).await?;
    let title = fields.required("title");
    fields.check()?;
    let now = state.clock.now();
    let id = timed_id(&caller.domain_name, "app", now, random_u64()?);
    let made = state.store.create_app(CreateApp {
        domain: caller.domain_id,
        id,
        title,
        origin: origin(&caller, now),
    });
    let made = made.await?;
    log(&caller, "app", &made.id);
    Ok((StatusCode::CREATED, Json(apps::view(&made))).into_response())
}

/// `POST /v1/{domain}/agents`
pub(crate) async fn create_agent(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let call = "creating an agent";
    let mut fields = AdminFields::read(&state, &caller, call, &AGENT_FIELDS, request).await?;
    let name = fields.required("name");
    if fields.given("email").is_none() {
        fields.refuse("email", ErrorCode::MissingField, "email is required");
    }
    let email = fields.address("email", false).unwrap_or_default();
    fields.check()?;
    let now = state.clock.now();
    let id = timed_id(&caller.domain_name, "profile", now, random_u64()?);
    let command =
        CreateAgent { domain: caller.domain_id, id, name, email, origin: origin(&caller, now) };
    let made = state.store.create_agent(command).await?;
    log(&caller, "agent", &made.id);
    Ok((StatusCode::CREATED, Json(agents::view(&made))).into_response())
}

/// `POST /v1/{domain}/queues`
pub(crate) async fn create_queue(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let call = "creating a queue";
    let mut fields = AdminFields::read(&state, &caller, call, &QUEUE_FIELDS, request).await?;
    let name = fields.required("name");
    fields.check()?;
    let now = state.clock.now();
    let id = timed_id(&caller.domain_name, "queue", now, random_u64()?);
    let made = IssueQueue { id: id.clone(), name: name.clone() };
    state
        .store
        .create_queue(CreateQueue {
            domain: caller.domain_id,
            id,
            name,
            origin: origin(&caller, now),
        })
        .await?;
    log(&caller, "queue", &made.id);
    Ok((StatusCode::CREATED, Json(queues::view(&made))).into_response())
}

fn log(caller: &Caller, kind: &str, id: &str) {
    let (domain, key) = (caller.domain_name.as_str(), &caller.key_id);
    tracing::info!(domain, key, kind, id, "a record was created over HTTP");
}
