//! `/v1/{domain}/webhooks`: the webhooks of a domain, and the calls on one. The answers that make
//! its secret have it, and no other answer.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::change::{ChangeAction, LogPlace, Resource, parse_place};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::timed_id;
use caseload_model::key::Access;
use caseload_model::webhook::{
    Attempt, AttemptEnd, AttemptKind, SECRET_BYTES, Secret, WebhookRequest,
};
use caseload_store::{CreateWebhook, EditWebhook, OfWebhook, StoreError, Webhook};
use http::StatusCode;
use serde_json::{Value, json};

use super::fields::AdminFields;
use super::origin;
use crate::changes::position_of;
use crate::http::auth::Caller;
use crate::http::path_id::PathId;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::http::random::{random_bytes, random_u64};
use crate::state::AppState;

/// `GET /v1/{domain}/webhooks`
pub(crate) async fn list_webhooks(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "listing webhooks")?;
    let webhooks = state.store.webhooks(caller.domain_id).await?;
    let webhooks: Vec<Value> = webhooks.iter().map(view).collect();
    Ok(Json(json!({ "webhooks": webhooks })))
}

/// `POST /v1/{domain}/webhooks`
pub(crate) async fn create_webhook(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let fields = AdminFields::all(&state, &caller, "creating a webhook", request).await?;
    let settings = WebhookRequest::create(&fields.pairs, state.config.webhook_addresses);
    let settings = fields.require(settings)?;
    let now = state.clock.now();
    let secret = Secret::new(random_bytes::<SECRET_BYTES>()?.to_vec());
    let command = CreateWebhook {
        domain: caller.domain_id,
        id: timed_id(&caller.domain_name, "webhook", now, random_u64()?),
        settings,
        secret: secret.clone(),
        origin: origin(&caller, now),
    };
    let made = state.store.create_webhook(command).await?;
    log(&caller, &made.id, "a webhook was created");
    Ok((StatusCode::CREATED, Json(with_secret(&made, &secret))).into_response())
}

/// `GET /v1/{domain}/webhooks/{webhook_id}`
pub(crate) async fn get_webhook(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "reading a webhook")?;
    let found = state.store.webhook(caller.domain_id, &id).await?;
    found.map(|webhook| Json(view(&webhook))).ok_or_else(unknown)
}

/// `PUT /v1/{domain}/webhooks/{webhook_id}`
pub(crate) async fn edit_webhook(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let fields = AdminFields::all(&state, &caller, "changing a webhook", request).await?;
    let edit = WebhookRequest::edit(&fields.pairs, state.config.webhook_addresses);
    let command = EditWebhook { request: fields.require(edit)?, webhook: of(&state, &caller, id) };
    let edited = state.store.edit_webhook(command).await.map_err(known)?;
    log(&caller, &edited.id, "a webhook was changed");
    Ok(Json(view(&edited)))
}

/// `DELETE /v1/{domain}/webhooks/{webhook_id}`
pub(crate) async fn delete_webhook(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    caller.require(Access::Admin, "deleting a webhook")?;
    state.store.delete_webhook(of(&state, &caller, id.clone())).await.map_err(known)?;
    log(&caller, &id, "a webhook was deleted");
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/{domain}/webhooks/{webhook_id}/rotate-secret`
pub(crate) async fn rotate_secret(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "rotating a secret")?;
    let secret = Secret::new(random_bytes::<SECRET_BYTES>()?.to_vec());
    let rotate = state.store.rotate_secret(of(&state, &caller, id), secret.clone());
    let webhook = rotate.await.map_err(known)?;
    log(&caller, &webhook.id, "the secret of a webhook was rotated");
    Ok(Json(with_secret(&webhook, &secret)))
}

/// `POST /v1/{domain}/webhooks/{webhook_id}/test`
pub(crate) async fn test_webhook(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    caller.require(Access::Admin, "testing a webhook")?;
    state.store.test_webhook(of(&state, &caller, id)).await.map_err(known)?;
    Ok(StatusCode::ACCEPTED)
}

/// `POST /v1/{domain}/webhooks/{webhook_id}/replay`
pub(crate) async fn replay_webhook(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
    query: QueryPairs,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "replaying a webhook")?;
    let place = replay_from(&query)?;
    let cursor = position_of(&state, &caller, place, "cursor").await?;
    let replay = state.store.replay_webhook(of(&state, &caller, id), cursor);
    let webhook = replay.await.map_err(known)?;
    log(&caller, &webhook.id, "a webhook is replayed");
    Ok(Json(view(&webhook)))
}

/// The place that a replay begins at. It has no default: all changes once more are many.
fn replay_from(query: &QueryPairs) -> Result<LogPlace, Problem> {
    let mut faults = query.unknown(&["cursor"]);
    let place = match query.first("cursor").map(parse_place) {
        Some(Ok(place)) => place,
        Some(Err(detail)) => {
            faults.push(Fault::parameter("cursor", ErrorCode::InvalidValue, detail));
            LogPlace::Latest
        }
        None => {
            let detail = "cursor is required: the position after which the delivery continues, * \
                          for the oldest stored change, or latest to skip to the end";
            faults.push(Fault::parameter("cursor", ErrorCode::MissingField, detail));
            LogPlace::Latest
        }
    };
    Problem::check(faults)?;
    Ok(place)
}

/// `GET /v1/{domain}/webhooks/{webhook_id}/deliveries`
pub(crate) async fn list_deliveries(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "listing deliveries")?;
    let deliveries = state.store.deliveries(caller.domain_id, &id).await.map_err(known)?;
    let deliveries: Vec<Value> = deliveries.iter().map(delivery).collect();
    Ok(Json(json!({ "deliveries": deliveries })))
}

fn of(state: &AppState, caller: &Caller, id: String) -> OfWebhook {
    OfWebhook { domain: caller.domain_id, id, origin: origin(caller, state.clock.now()) }
}

fn unknown() -> Problem {
    let detail = "the domain has no webhook with that id; GET /webhooks lists the webhooks";
    Problem::new(ErrorCode::NotFound, detail)
}

fn known(error: StoreError) -> Problem {
    if matches!(error, StoreError::NotFound { .. }) { unknown() } else { error.into() }
}

fn log(caller: &Caller, webhook: &str, what: &'static str) {
    let (domain, key) = (caller.domain_name.as_str(), &caller.key_id);
    tracing::info!(domain, key, webhook, "{what}");
}

fn view(webhook: &Webhook) -> Value {
    let Webhook { id, created_at, settings, pause_reason, cursor, failures, next_try_at } = webhook;
    let resources = settings.resources.iter().copied().map(Resource::as_str);
    let actions = settings.actions.iter().copied().map(ChangeAction::as_str);
    json!({
        "id": id,
        "url": settings.url,
        "resources": resources.collect::<Vec<_>>(),
        "actions": actions.collect::<Vec<_>>(),
        "include_record": settings.include_record,
        "paused": settings.paused,
        "pause_reason": pause_reason,
        "created_at": created_at.0,
        "cursor": cursor.to_string(),
        "failures": failures,
        "next_try_at": next_try_at.map(|at| at.0),
    })
}

fn with_secret(webhook: &Webhook, secret: &Secret) -> Value {
    let mut shown = view(webhook);
    shown["secret"] = secret.to_text().into();
    shown
}

fn delivery(attempt: &Attempt) -> Value {
    let Attempt { at, duration_ms, message_id, kind, end } = attempt;
    let (changes, first, last) = match kind {
        AttemptKind::Changes { count, first, last } => (*count, Some(*first), Some(*last)),
        AttemptKind::Test => (0, None, None),
    };
    let (status, answer, fault) = match end {
        AttemptEnd::Answered { status, answer } => (Some(*status), Some(answer), None),
        AttemptEnd::NoAnswer { reason } => (None, None, Some(reason)),
    };
    let position = |position: Option<u64>| position.map(|position| position.to_string());
    json!({
        "at": at.0,
        "duration_ms": duration_ms,
        "message_id": message_id,
        "test": *kind == AttemptKind::Test,
        "changes": changes,
        "first_position": position(first),
        "last_position": position(last),
        "succeeded": end.is_success(),
        "status": status,
        "answer": answer,
        "fault": fault,
    })
}
