//! The guard: the middleware in front of every path below `/v1` and `/v2`, unknown paths included.
//! It runs before any byte of the body is read. Invariant: a handler below these paths runs only
//! for a working key of the domain in the path, within the limit of the key.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_store::{KeyGrant, StoreError};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;

use super::caller::Caller;
use super::cookie::{credential_of, has_session};
use super::credentials::{Credential, key_hash};
use super::rate::Quota;
use crate::http::access_log::Facts;
use crate::http::connection::Slot;
use crate::http::log_limiter::{Event, Origin};
use crate::http::middleware::EmptySegment;
use crate::http::peer::PeerAddress;
use crate::http::problem::{NO_SUCH_KEY, Problem};
use crate::http::refusal::Refusal;
use crate::http::same_site;
use crate::state::AppState;

/// Lets a request to an API path pass if it has a working key of the domain in the path and the key
/// is within its limit. A request without a working key does not count, so that no caller can use
/// up the quota of another; its answer shows the quota of an unused key.
pub(crate) async fn guard(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(domain) = api_domain(request.uri().path()) else {
        check_slashes(&request)?;
        return Ok(next.run(request).await);
    };
    let domain = percent_decode_str(domain).decode_utf8_lossy().into_owned();
    let is_page = is_of_page(request.headers());
    let named = credential_of(&request, &state.config);
    let (credential, grant) = match authenticate(&state, named).await {
        Ok(known) => known,
        Err(problem) => {
            log_failure(&state, &request, &problem);
            let mut response = problem.into_response();
            let quota = Quota::unused(state.config.rate_limit, state.clock.now());
            quota.add_headers(&mut response);
            add_private_headers(&mut response, is_page);
            return Ok(response);
        }
    };
    Facts::note_caller(&request, &grant);
    let quota = state.rates.count(&grant, state.config.rate_limit, state.clock.now());
    let refusal = quota.refusal();
    let is_admitted = has_place(&request, &grant, refusal.is_some());
    let checked = check(&state, &request, &grant, &domain, refusal);
    let mut response = match checked {
        Ok(()) if !is_admitted => no_connection_left(&state, &grant).into_response(),
        Ok(()) => {
            let caller = Caller::new(&grant, credential, state.log_limiter.clone());
            let mut request = request;
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    quota.add_headers(&mut response);
    add_private_headers(&mut response, is_page);
    Ok(response)
}

/// The checks of a request with a working key, in this order.
fn check(
    state: &AppState,
    request: &Request,
    grant: &KeyGrant,
    domain: &str,
    over_limit: Option<Problem>,
) -> Result<(), Problem> {
    log_over_limit(state, grant, over_limit)?;
    check_domain(grant, domain).inspect_err(|problem| log_failure(state, request, problem))?;
    same_site::check(request, &state.config).inspect_err(|_| {
        if let Some(left_out) =
            state.log_limiter.line(Event::CrossSite, Origin::Domain(grant.domain))
        {
            let domain = grant.domain_name.as_str();
            tracing::warn!(domain, left_out, "a write of another site was refused");
        }
    })?;
    check_slashes(request)
}

/// Passes on the refusal of a key over its limit, and logs it.
pub(crate) fn log_over_limit(
    state: &AppState,
    grant: &KeyGrant,
    over_limit: Option<Problem>,
) -> Result<(), Problem> {
    let Some(problem) = over_limit else { return Ok(()) };
    if let Some(left_out) = state.log_limiter.line(Event::RateLimit, Origin::Domain(grant.domain)) {
        let (domain, key) = (grant.domain_name.as_str(), &grant.key.id);
        tracing::warn!(domain, key, left_out, "a key is over its rate limit");
    }
    Err(problem)
}

/// A path with an empty segment is another path, and no resource has one.
fn check_slashes(request: &Request) -> Result<(), Problem> {
    if request.extensions().get::<EmptySegment>().is_none() {
        return Ok(());
    }
    let detail = "no resource has a path with //; write one slash between two segments";
    Err(Problem::new(ErrorCode::NotFound, detail))
}

/// Whether the connection of the request has a place for its key. A key over its limits loses it.
fn has_place(request: &Request, grant: &KeyGrant, is_over_limit: bool) -> bool {
    let Some(connection) = request.extensions().get::<Arc<Slot>>() else { return true };
    if is_over_limit {
        connection.dismiss();
        return true;
    }
    connection.admit(grant.domain, &grant.key.id)
}

/// The connections of the domain, or of all domains, are in use and none waits for its client.
fn no_connection_left(state: &AppState, grant: &KeyGrant) -> Problem {
    if let Some(left_out) =
        state.log_limiter.line(Event::ConnectionLimit, Origin::Domain(grant.domain))
    {
        let domain = grant.domain_name.as_str();
        tracing::warn!(domain, left_out, "no place for a further connection of a domain");
    }
    let detail = "the domain has as many connections as it may have, and none of them is idle; use \
                  fewer at a time and try again";
    let problem = Problem::unavailable(detail).because(Refusal::Connections);
    problem.header(header::CONNECTION, HeaderValue::from_static("close"))
}

/// Logs a request that did not authenticate, with the address that it came from. If the store could
/// not be asked, the request may well have a working key.
pub(crate) fn log_failure(state: &AppState, request: &Request, problem: &Problem) {
    if problem.status() >= 500 {
        return;
    }
    let Some(peer) = request.extensions().get::<PeerAddress>() else { return };
    let Some(left_out) =
        state.log_limiter.line(Event::FailedAuthentication, Origin::Address(peer.0))
    else {
        return;
    };
    tracing::warn!(
        peer = %peer.0,
        client = %state.config.trusted_proxies.client_of(request),
        status = problem.status(),
        left_out,
        "a request did not authenticate"
    );
}

/// The answers of a domain are for its caller alone: no cache stores them, and no browser guesses
/// that they are something else. A page is not offered `Basic`, because its browser would ask for a
/// name and a password in a box of its own.
fn add_private_headers(response: &mut Response, is_page: bool) {
    let refused = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    if refused && is_page {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Whether a page sent the request: a script, or a link of the console to a download. On plain HTTP
/// a browser does not say so, but the console does. A link sends the cookie of its session, even if
/// that has ended.
fn is_of_page(headers: &HeaderMap) -> bool {
    let is = |name, value| headers.get(name).is_some_and(|header| header == value);
    is("sec-fetch-dest", "empty")
        || is("sec-fetch-site", "same-origin")
        || headers.contains_key("caseload-console")
        || has_session(headers)
}

/// Whether the request has a working key, of any domain.
pub(crate) async fn require_any_key(
    state: &AppState,
    request_headers: &HeaderMap,
) -> Result<(), Problem> {
    authenticate(state, key_hash(request_headers).map(Credential::Key)).await.map(drop)
}

/// The credential of a request and the grant of its key.
pub(crate) async fn authenticate(
    state: &AppState,
    named: Result<Credential, &'static str>,
) -> Result<(Credential, Arc<KeyGrant>), Problem> {
    let credential = named.map_err(Problem::unauthorized)?;
    let grant = grant(state, credential).await?;
    Ok((credential, grant.ok_or_else(|| Problem::unauthorized(NO_SUCH_KEY))?))
}

/// Fails once the caller's key no longer works. Long answers call this from time to time; an error
/// of the store does not end them.
pub(crate) async fn require_working_key(state: &AppState, caller: &Caller) -> Result<(), Problem> {
    match grant(state, caller.credential).await {
        Ok(None) => Err(no_longer_works()),
        Ok(Some(_)) | Err(_) => Ok(()),
    }
}

/// Becomes false once the caller's key no longer works.
pub(crate) fn watch_key(state: &AppState, caller: &Caller) -> watch::Receiver<bool> {
    let (checked, credential) = (state.clone(), caller.credential);
    state.watched_keys.watch(credential, move || {
        let state = checked.clone();
        async move { !matches!(grant(&state, credential).await, Ok(None)) }
    })
}

/// The refusal of a key that no longer works.
pub(crate) fn no_longer_works() -> Problem {
    Problem::unauthorized(NO_SUCH_KEY)
}

/// The grant of the credential, if it works now.
async fn grant(
    state: &AppState,
    credential: Credential,
) -> Result<Option<Arc<KeyGrant>>, StoreError> {
    state.keys.grant(&state.store, state.clock.now(), credential).await
}

/// Refuses a key of another domain. The answer does not reveal whether the domain in the path
/// exists. A path that ends before the domain belongs to no domain and passes.
fn check_domain(grant: &KeyGrant, domain: &str) -> Result<(), Problem> {
    if domain.is_empty() || domain == grant.domain_name.as_str() {
        return Ok(());
    }
    let detail = "the API key does not open this domain; use a key of the domain in the path";
    Err(Problem::new(ErrorCode::Forbidden, detail))
}

/// The undecoded domain segment of a path below `/v1` or `/v2`; empty if the path ends before it.
/// `None` for every other path.
fn api_domain(path: &str) -> Option<&str> {
    let mut segments = path.split('/').skip(1);
    match segments.next() {
        Some("v1" | "v2") => Some(segments.next().unwrap_or_default()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_below_the_two_versions_is_an_api_path() {
        for (path, domain) in [
            ("/v1/acme/issues", Some("acme")),
            ("/v2/acme", Some("acme")),
            ("/v2", Some("")),
            ("/v1/", Some("")),
            ("/v3/acme", None),
            ("/v1x/acme", None),
            ("/healthz", None),
            ("/", None),
        ] {
            assert_eq!(api_domain(path), domain, "{path}");
        }
    }
}
