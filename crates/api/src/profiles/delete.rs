//! `DELETE /v2/{domain}/identity/core_profiles/{core_profile_id}` and `…/app_profiles/{pid}`:
//! deletes one profile as an entry of `delete_core_profiles` or `delete_app_profiles` does.

use axum::extract::{Path, State};
use axum::response::Response;
use caseload_model::profile_query::{ProfileId, ProfileKind};
use caseload_store::{DeleteProfile, StoreError, WriteOrigin};
use http::HeaderMap;

use super::id::{core_profile_id, unknown_profile};
use crate::http::auth::Caller;
use crate::http::idempotency;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::http::single_write::Deletion;
use crate::state::AppState;

/// `DELETE /v2/{domain}/identity/core_profiles/{core_profile_id}`
pub(crate) async fn delete_core_profile(
    State(state): State<AppState>,
    caller: Caller,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let (of, request) = ((&state, &caller), (&headers, &query));
    let Deletion { id, origin, held: _held } =
        Deletion::read(of, "deleting a core profile", core_profile_id(&id), request).await?;
    delete(&state, origin, ProfileKind::Core, id.map(ProfileId::Core)).await
}

/// `DELETE /v2/{domain}/identity/app_profiles/{pid}`
pub(crate) async fn delete_app_profile(
    State(state): State<AppState>,
    caller: Caller,
    Path((_, pid)): Path<(String, String)>,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let (of, request) = ((&state, &caller), (&headers, &query));
    let Deletion { id, origin, held: _held } =
        Deletion::read(of, "deleting an app profile", Ok(Some(pid)), request).await?;
    delete(&state, origin, ProfileKind::App, id.map(ProfileId::App)).await
}

async fn delete(
    state: &AppState,
    origin: WriteOrigin,
    kind: ProfileKind,
    id: Option<ProfileId>,
) -> Result<Response, Problem> {
    let id = id.ok_or_else(|| unknown_profile(kind))?;
    let deleted = state.store.delete_profile(DeleteProfile { origin, id }).await;
    let deleted = deleted.map_err(|error| match error {
        StoreError::NotFound { .. } => unknown_profile(kind),
        other => other.into(),
    });
    Ok(idempotency::deleted(deleted?))
}
