//! `GET /v2/{domain}/identity/core_profiles/{core_profile_id}` and `…/app_profiles/{pid}`: one
//! profile, bare.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use caseload_model::profile_query::{ProfileId, ProfileKind, parse_single_profile};
use caseload_store::GetProfile;
use http::{HeaderMap, header};

use super::id::{core_profile_id, unknown_profile};
use crate::http::auth::Caller;
use crate::http::etag;
use crate::http::memory::WAIT;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::lists::deadline::read_into_memory;
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::state::AppState;

/// `GET /v2/{domain}/identity/core_profiles/{core_profile_id}`
pub(crate) async fn get_core_profile(
    State(state): State<AppState>,
    caller: Caller,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let id = core_profile_id(&id).map(|id| id.map(ProfileId::Core));
    get(&state, &caller, ProfileKind::Core, id, &headers, &query).await
}

/// `GET /v2/{domain}/identity/app_profiles/{pid}`
pub(crate) async fn get_app_profile(
    State(state): State<AppState>,
    caller: Caller,
    Path((_, pid)): Path<(String, String)>,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let id = Ok(Some(ProfileId::App(pid)));
    get(&state, &caller, ProfileKind::App, id, &headers, &query).await
}

/// Answers with the profile; an id of `None` is one that no profile can have.
async fn get(
    state: &AppState,
    caller: &Caller,
    kind: ProfileKind,
    id: Result<Option<ProfileId>, Fault>,
    headers: &HeaderMap,
    QueryPairs(pairs): &QueryPairs,
) -> Result<Response, Problem> {
    let mut faults = Vec::new();
    let id = id.map_err(|fault| faults.push(fault));
    let view = parse_single_profile(kind, pairs)
        .map_err(|others| faults.extend(others.into_iter().map(Fault::from)));
    Problem::check(faults)?;
    let (Ok(Some(id)), Ok(view)) = (id, view) else { return Err(unknown_profile(kind)) };
    let domain = caller.domain_id;
    let (profile, memory) = read_into_memory(state, domain, (PAGE_BYTES_AHEAD, WAIT), |budget| {
        let (domain_name, id) = (caller.domain_name.clone(), id.clone());
        state.store.profile(GetProfile { domain, domain_name, id, view, budget })
    })
    .await?;
    let profile = profile.ok_or_else(|| unknown_profile(kind))?;
    let tag = etag::of_version(&profile.version, &format!("{domain:?} {kind:?} {view:?}"));
    if etag::has_already(headers, &tag) {
        return Ok(etag::unchanged(&tag));
    }
    let headers = [(header::ETAG, tag), (header::CONTENT_TYPE, "application/json".to_owned())];
    Ok((headers, memory.hold(profile.body)).into_response())
}
