//! `POST`, `GET` and `DELETE /console/session`: signing in with a key or with the code of a
//! one-time link, the present session, and signing out. A session is a random text in a cookie that
//! no script can read. The store has its hash, so that every server knows it, and it ends with its
//! key.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::{Extension, Json};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caseload_model::error_code::ErrorCode;
use caseload_model::time::UnixMillis;
use caseload_store::{CreateSession, KeyGrant, SessionKind};
use http::header::HeaderName;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::features::Features;
use crate::http::auth::{
    Credential, authenticate, log_failure, log_over_limit, session_cookie, session_of,
};
use crate::http::base_url::BaseUrl;
use crate::http::form::body_reader::read_short;
use crate::http::problem::{NO_SUCH_KEY, Problem};
use crate::http::random::random_bytes;
use crate::http::same_site;
use crate::state::AppState;

/// How long a session lasts.
pub(super) const SESSION_HOURS: i64 = 8;
const SESSION_MS: i64 = SESSION_HOURS * 3_600_000;
/// The largest body of a sign-in.
const SIGN_IN_BYTES_MAX: usize = 4096;

const USED_LINK: &str =
    "the link was used before, or is too old; `caseload console` prints another";
const NO_SESSION: &str = "there is no session; send a key or a code to POST /console/session";

/// The body of a sign-in: one of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    key: Option<String>,
    code: Option<String>,
}

/// `POST /console/session`
pub(crate) async fn begin(
    State(state): State<AppState>,
    Extension(features): Extension<Features>,
    base: BaseUrl,
    request: Request,
) -> Result<Response, Problem> {
    same_site::check(&request, &state.config)?;
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, Body::empty());
    let body = read_short(body, SIGN_IN_BYTES_MAX).await?;
    let named = match serde_json::from_slice(&body) {
        Ok(SignIn { key: Some(key), code: None }) => {
            Credential::Key(Sha256::digest(key.trim()).into())
        }
        Ok(SignIn { key: None, code: Some(code) }) => {
            Credential::Session(Sha256::digest(code).into())
        }
        _ => {
            let detail = "the body is a JSON object with key or code: {\"key\":\"caseload_…\"}";
            return Err(Problem::new(ErrorCode::InvalidRequest, detail));
        }
    };
    let now = state.clock.now();
    let client = state.config.trusted_proxies.client_of(&request);
    let grant = grant(&state, client, named, now).await;
    let grant = grant.inspect_err(|problem| log_failure(&state, &request, problem))?;
    let quota = state.rates.count(&grant, state.config.rate_limit, now);
    let begun = async {
        log_over_limit(&state, &grant, quota.refusal())?;
        // Of two requests with one code, one uses it up.
        if let Credential::Session(code) = named
            && !state.store.end_session(grant.domain, code).await?
        {
            return Err(wrong(&state, client, named, now));
        }
        let text = URL_SAFE_NO_PAD.encode(random_bytes::<32>()?);
        let hash = Sha256::digest(&text).into();
        let command = CreateSession {
            domain: grant.domain,
            hash,
            key_id: grant.key.id.clone(),
            kind: SessionKind::Session,
            now,
            expires_at: UnixMillis(now.0 + SESSION_MS),
        };
        state.store.create_session(command).await?;
        let (_, grant) = signed_in(&state, Some(Ok(Credential::Session(hash)))).await?;
        let cookie = session_cookie(&base, base.is_tls(), &text, SESSION_MS / 1000)?;
        let shown = (StatusCode::CREATED, Json(view(&grant, &features)));
        Ok::<_, Problem>(([cookie, no_store()], shown).into_response())
    };
    let mut response = begun.await.unwrap_or_else(Problem::into_response);
    quota.add_headers(&mut response);
    Ok(response)
}

/// The grant of the key or code, if it works. An address with many wrong sign-ins waits, also with
/// a key that works, because only the store knows which keys do.
async fn grant(
    state: &AppState,
    client: IpAddr,
    named: Credential,
    now: UnixMillis,
) -> Result<KeyGrant, Problem> {
    state.rates.check_sign_in(client, now)?;
    let found = match named {
        Credential::Key(hash) => state.store.key_by_hash(hash).await?,
        Credential::Session(hash) => state.store.key_by_session(hash, SessionKind::Code).await?,
    };
    let found = found.filter(|grant| grant.works_at(now));
    found.ok_or_else(|| wrong(state, client, named, now))
}

/// The refusal of a wrong sign-in, which counts for the address.
fn wrong(state: &AppState, client: IpAddr, named: Credential, now: UnixMillis) -> Problem {
    state.rates.count_wrong_sign_in(client, now);
    Problem::unauthorized_page(match named {
        Credential::Key(_) => NO_SUCH_KEY,
        Credential::Session(_) => USED_LINK,
    })
}

/// `GET /console/session`
pub(crate) async fn get(
    State(state): State<AppState>,
    Extension(features): Extension<Features>,
    request: Request,
) -> Result<Response, Problem> {
    let session = session_of(&request, &state.config);
    let (_, grant) = signed_in(&state, session).await?;
    Ok(([no_store()], Json(view(&grant, &features))).into_response())
}

/// `DELETE /console/session`
pub(crate) async fn end(
    State(state): State<AppState>,
    base: BaseUrl,
    request: Request,
) -> Result<Response, Problem> {
    same_site::check(&request, &state.config)?;
    let session = session_of(&request, &state.config);
    if let Ok((credential, grant)) = signed_in(&state, session).await
        && let Credential::Session(hash) = credential
    {
        state.store.end_session(grant.domain, hash).await?;
        state.keys.forget(credential);
    }
    // The other one may be older than the server's TLS.
    let cookies = [session_cookie(&base, true, "", 0)?, session_cookie(&base, false, "", 0)?];
    Ok((StatusCode::NO_CONTENT, AppendHeaders(cookies), [no_store()]).into_response())
}

/// The session of the request's cookie.
async fn signed_in(
    state: &AppState,
    session: Option<Result<Credential, &'static str>>,
) -> Result<(Credential, std::sync::Arc<KeyGrant>), Problem> {
    let refused = || Problem::unauthorized_page(NO_SESSION);
    let session = session.ok_or_else(refused)?.map_err(Problem::unauthorized_page)?;
    match authenticate(state, Ok(session)).await {
        Err(problem) if problem.status() == 401 => Err(refused()),
        known => known,
    }
}

fn no_store() -> (HeaderName, HeaderValue) {
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

fn view(grant: &KeyGrant, features: &Features) -> Value {
    json!({
        "key_id": grant.key.id,
        "key_name": grant.key.name,
        "access": grant.key.access.as_str(),
        "domain": grant.domain_name.as_str(),
        "expires_at": grant.key.expires_at.map(|end| end.0),
        "version": env!("CARGO_PKG_VERSION"),
        "features": features.0,
    })
}
