//! `GET /v1/{domain}/apps` and `GET /v1/{domain}/apps/{publish_id}`: the apps of a domain, a small
//! list that the server reads whole. Query parameters other than `format` are ignored, because
//! clients of the API family send more than any server knows.

pub(crate) mod openapi;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_store::App;
use http::{HeaderMap, Uri};
use serde_json::{Value, json};

use crate::http::auth::Caller;
use crate::http::format::{Format, SHORT_LIST_BYTES};
use crate::http::problem::Problem;
use crate::state::AppState;

/// `GET /v1/{domain}/apps`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let chosen = Format::of_short_list(&uri, &headers)?;
    let memory = state.memory.take(Some(caller.domain_id), SHORT_LIST_BYTES).await?;
    let apps = state.store.apps(caller.domain_id).await?;
    let apps: Vec<Value> = apps.iter().map(view).collect();
    Ok(chosen.answer(
        memory,
        &apps,
        &["id", "title", "publish_id", "created_at"],
        &json!({ "apps": apps }),
    ))
}

/// `GET /v1/{domain}/apps/{publish_id}`: the oldest app with this publish id.
pub(crate) async fn get(
    State(state): State<AppState>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let wanted = path.map(|Path((_, publish_id))| publish_id).unwrap_or_default();
    let apps = state.store.apps(caller.domain_id).await?;
    let found = apps.iter().find(|app| app.publish_id == wanted);
    found.map(|app| Json(view(app))).ok_or_else(|| {
        let detail = "the domain has no app with that publish id; GET /apps lists the apps";
        Problem::new(ErrorCode::NotFound, detail)
    })
}

pub(crate) fn view(app: &App) -> Value {
    json!({
        "id": app.id,
        "title": app.title,
        "publish_id": app.publish_id,
        "platform_ids": [],
        "platforms": [],
        "logo": null,
        "sections": [],
        "created_at": app.created_at.0,
    })
}
