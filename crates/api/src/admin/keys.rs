//! `GET` and `POST /v1/{domain}/keys`, and `DELETE …/keys/{key_id}`. The text of a new key is in
//! one answer and nowhere else: the store has its hash. A key can make others up to its own access.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use caseload_model::time::read::parse_moment;
use caseload_store::{CreateKey, Key};
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fields::AdminFields;
use super::origin;
use crate::http::auth::Caller;
use crate::http::path_id::PathId;
use crate::http::problem::Problem;
use crate::http::random::{hex, random_bytes};
use crate::state::AppState;

/// The fields of a new key.
pub(crate) const KEY_FIELDS: [&str; 3] = ["name", "access", "expires_at"];
/// Prefix of every key, so that scanners can find leaked ones.
pub(crate) const KEY_PREFIX: &str = "caseload_";

/// `GET /v1/{domain}/keys`
pub(crate) async fn list_keys(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<Value>, Problem> {
    caller.require(Access::Admin, "listing keys")?;
    let now = state.clock.now();
    let keys = state.store.keys(caller.domain_id).await?;
    let keys: Vec<Value> = keys.iter().map(|key| view(key, now)).collect();
    Ok(Json(json!({ "keys": keys })))
}

/// `POST /v1/{domain}/keys`
pub(crate) async fn create_key(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let call = "creating a key";
    let mut fields = AdminFields::read(&state, &caller, call, &KEY_FIELDS, request).await?;
    let name = fields.line("name").unwrap_or_default();
    let given = fields.given("access").map(str::to_owned);
    let access = given.as_deref().map_or(Some(Access::Write), Access::parse);
    if access.is_none() {
        let detail = "access is read, write or admin; without it, the key may write";
        fields.refuse("access", ErrorCode::InvalidValue, detail);
    }
    let now = state.clock.now();
    let expires_at = expiry(&mut fields, now);
    fields.check()?;
    let text = format!("{KEY_PREFIX}{}", hex(&random_bytes::<32>()?));
    let key = Key {
        id: format!("key-{}", hex(&random_bytes::<6>()?)),
        name,
        access: access.unwrap_or(Access::Read),
        created_at: now,
        last_used_at: None,
        expires_at,
        revoked_at: None,
    };
    let command = CreateKey {
        domain: caller.domain_id,
        id: key.id.clone(),
        hash: Sha256::digest(&text).into(),
        name: key.name.clone(),
        access: key.access,
        origin: origin(&caller, now),
        expires_at,
    };
    state.store.create_key(command).await?;
    let (domain, by) = (caller.domain_name.as_str(), &caller.key_id);
    tracing::info!(domain, by, key = key.id, access = key.access.as_str(), "a key was created");
    let mut shown = view(&key, now);
    shown["secret"] = text.into();
    Ok((StatusCode::CREATED, Json(shown)).into_response())
}

/// The instant of the expiry, later than now.
fn expiry(fields: &mut AdminFields, now: UnixMillis) -> Option<UnixMillis> {
    let text = fields.given("expires_at").filter(|text| !text.is_empty())?;
    let at = parse_moment(text).ok().map(|moment| moment.at).filter(|at| *at > now);
    if at.is_none() {
        let detail = format!(
            "expires_at is in Unix milliseconds or ISO 8601, and later than now ({})",
            now.0
        );
        fields.refuse("expires_at", ErrorCode::OutOfRange, detail);
    }
    at
}

/// `DELETE /v1/{domain}/keys/{key_id}`
pub(crate) async fn revoke_key(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    caller.require(Access::Admin, "revoking a key")?;
    if !state.store.revoke_key(caller.domain_id, &id, origin(&caller, state.clock.now())).await? {
        let detail = "the domain has no key with that id; GET /keys lists the keys";
        return Err(Problem::new(ErrorCode::NotFound, detail));
    }
    let (domain, by) = (caller.domain_name.as_str(), &caller.key_id);
    tracing::warn!(domain, by, key = id, "a key was revoked");
    Ok(StatusCode::NO_CONTENT)
}

fn view(key: &Key, now: UnixMillis) -> Value {
    let state = if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|end| end <= now) {
        "expired"
    } else {
        "active"
    };
    json!({
        "id": key.id,
        "name": key.name,
        "access": key.access.as_str(),
        "state": state,
        "created_at": key.created_at.0,
        "last_used_at": key.last_used_at.map(|at| at.0),
        "expires_at": key.expires_at.map(|at| at.0),
        "revoked_at": key.revoked_at.map(|at| at.0),
    })
}
