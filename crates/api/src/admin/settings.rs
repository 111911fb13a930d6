//! `GET` and `PUT /v1/{domain}/settings`: the desk of a domain, and its quotas with the usage. The
//! quotas belong to the operator of the server and cannot be changed here.

use axum::Json;
use axum::extract::{Request, State};
use caseload_model::issue::write::Desk;
use caseload_model::key::Access;
use caseload_store::Domain;
use serde_json::{Value, json};

use super::fields::AdminFields;
use super::origin;
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::state::AppState;

/// The fields that can be changed.
pub(crate) const SETTINGS_FIELDS: [&str; 2] = ["desk_name", "desk_email"];

/// `GET /v1/{domain}/settings`
pub(crate) async fn get_settings(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "reading the settings")?;
    view(&state, &caller).await
}

/// `PUT /v1/{domain}/settings`
pub(crate) async fn edit_settings(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let call = "changing the settings";
    let mut fields = AdminFields::read(&state, &caller, call, &SETTINGS_FIELDS, request).await?;
    let name = match fields.given("desk_name") {
        Some("") => Some(Desk::default().name),
        _ => fields.line("desk_name"),
    };
    let email = fields.address("desk_email", true);
    fields.check()?;
    let mut desk = domain(&state, &caller).await?.desk;
    if let Some(name) = name {
        desk.name = name;
    }
    if let Some(email) = email {
        desk.email = Some(email).filter(|email| !email.is_empty());
    }
    state.store.set_desk(caller.domain_id, desk, origin(&caller, state.clock.now())).await?;
    let (domain, key) = (caller.domain_name.as_str(), &caller.key_id);
    tracing::info!(domain, key, "the desk of a domain was changed");
    view(&state, &caller).await
}

async fn domain(state: &AppState, caller: &Caller) -> Result<Domain, Problem> {
    let found = state.store.domain(&caller.domain_name).await?;
    found.ok_or_else(Problem::internal)
}

async fn view(state: &AppState, caller: &Caller) -> Result<Json<Value>, Problem> {
    let Domain { name, created_at, desk, limits, .. } = domain(state, caller).await?;
    let usage = state.store.usage(caller.domain_id).await?;
    Ok(Json(json!({
        "domain": name.as_str(),
        "created_at": created_at.0,
        "desk_name": desk.name,
        "desk_email": desk.address(&name),
        "quotas": {
            "bytes": limits.quota_bytes,
            "tasks": limits.quota_tasks,
            "requests_per_minute": limits.rate_limit,
        },
        "usage": {"bytes": usage.bytes, "tasks": usage.tasks},
    })))
}
