//! Who calls. The guard runs before routing on every path below `/v1` and `/v2`, unknown ones
//! included, and before any byte of the body is read; handlers then take the [`Caller`] as an
//! argument. The key's text is hashed and forgotten: it is neither kept nor logged.

mod cache;
mod credentials;
mod rate;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_store::KeyGrant;
use http::request::Parts;
use http::{HeaderValue, header};
use percent_encoding::percent_decode_str;

use crate::AppState;
use crate::problem::Problem;

pub(crate) use cache::KeyCache;
pub(crate) use credentials::key_hash;
use rate::Quota;
pub(crate) use rate::RateLimiter;

const NO_SUCH_KEY: &str =
    "the API key is not known, has expired or was revoked; use one that works";

/// Who calls: the domain that the key opens, and what the key may do there.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub domain_id: DomainId,
    pub domain_name: DomainName,
    pub access: Access,
    pub key_id: String,
    pub key_name: String,
    /// SHA-256 of the key's text.
    key_hash: [u8; 32],
}

impl Caller {
    pub(crate) fn new(grant: &KeyGrant, key_hash: [u8; 32]) -> Self {
        Self {
            domain_id: grant.domain,
            domain_name: grant.domain_name.clone(),
            access: grant.key.access,
            key_id: grant.key.id.clone(),
            key_name: grant.key.name.clone(),
            key_hash,
        }
    }

    /// Fails once the key works no longer, for answers that take long. A store that cannot say is
    /// no reason to end them.
    pub(crate) async fn demand_key(&self, state: &AppState) -> Result<(), Problem> {
        match state.keys.grant(state, self.key_hash).await {
            Ok(None) => Err(unauthorized(NO_SUCH_KEY)),
            Ok(Some(_)) | Err(_) => Ok(()),
        }
    }

    /// Refuses a key that may not do what `needed` says.
    pub(crate) fn may(&self, needed: Access, what: &str) -> Result<(), Problem> {
        if self.access >= needed {
            return Ok(());
        }
        let detail = format!("the API key may only read, and {what} writes; use a write key");
        Err(Problem::new(ErrorCode::Forbidden, detail))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a route asks for a caller unguarded");
            Problem::internal()
        })
    }
}

/// Lets a request to an API path pass only with a working key of the domain in the path, as often
/// as the key may come. Requests without a working key are counted nowhere, so that nobody can use
/// up another one's quota; their answers tell the quota of a key that is not used yet.
pub(crate) async fn guard(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(domain) = api_domain(request.uri().path()) else {
        return Ok(next.run(request).await);
    };
    let domain = percent_decode_str(domain).decode_utf8_lossy().into_owned();
    let (hash, grant) = match known_key(&state, key_hash(request.headers())).await {
        Ok(known) => known,
        Err(problem) => {
            let mut response = problem.into_response();
            if let Some(quota) = Quota::unused(state.config.rate_limit, state.clock.now()) {
                quota.tell(&mut response);
            }
            return Ok(response);
        }
    };
    let quota = state.rates.count(&grant, state.config.rate_limit, state.clock.now());
    let refusal = quota.and_then(|quota| quota.refusal());
    let mut response = match refusal.map_or_else(|| opens(&grant, &domain), Err) {
        Ok(()) => {
            let caller = Caller::new(&grant, hash);
            let mut request = request;
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(quota) = quota {
        quota.tell(&mut response);
    }
    Ok(response)
}

/// The key that a request names, as its hash, and what it opens.
async fn known_key(
    state: &AppState,
    named: Result<[u8; 32], &'static str>,
) -> Result<([u8; 32], Arc<KeyGrant>), Problem> {
    let hash = named.map_err(unauthorized)?;
    let grant = state.keys.grant(state, hash).await?.ok_or_else(|| unauthorized(NO_SUCH_KEY))?;
    Ok((hash, grant))
}

/// Whether another domain of that name exists is not told: both are the same answer. A path that
/// ends before the domain is no domain's.
fn opens(grant: &KeyGrant, domain: &str) -> Result<(), Problem> {
    if domain.is_empty() || domain == grant.domain_name.as_str() {
        return Ok(());
    }
    let detail = "the API key does not open this domain; use a key of the domain in the path";
    Err(Problem::new(ErrorCode::Forbidden, detail))
}

/// The domain segment, as it stands, of a path below `/v1` or `/v2`; empty where the path ends
/// before it. `None` for every other path.
fn api_domain(path: &str) -> Option<&str> {
    let mut segments = path.split('/').skip(1);
    match segments.next() {
        Some("v1" | "v2") => Some(segments.next().unwrap_or_default()),
        _ => None,
    }
}

fn unauthorized(detail: &'static str) -> Problem {
    let challenge = HeaderValue::from_static("Basic realm=\"caseload\", Bearer");
    Problem::new(ErrorCode::Unauthorized, detail).header(header::WWW_AUTHENTICATE, challenge)
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
