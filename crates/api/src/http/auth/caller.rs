//! The caller of a request, as the guard identified it. A handler takes the [`Caller`] as an
//! argument and reads the domain from it.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_store::KeyGrant;
use http::request::Parts;

use super::credentials::Credential;
use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::problem::Problem;

/// The caller: its domain, its key and the access of the key.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub domain_id: DomainId,
    pub domain_name: DomainName,
    pub access: Access,
    pub key_id: String,
    pub key_name: String,
    /// The credential of the request.
    pub(super) credential: Credential,
    log_limiter: Arc<LogLimiter>,
}

impl Caller {
    pub(crate) fn new(
        grant: &KeyGrant,
        credential: Credential,
        log_limiter: Arc<LogLimiter>,
    ) -> Self {
        Self {
            domain_id: grant.domain,
            domain_name: grant.domain_name.clone(),
            access: grant.key.access,
            key_id: grant.key.id.clone(),
            key_name: grant.key.name.clone(),
            credential,
            log_limiter,
        }
    }

    /// Refuses a key without the access `needed`, and logs that; `call` names the call in the
    /// refusal.
    pub(crate) fn require(&self, needed: Access, call: &str) -> Result<(), Problem> {
        if self.access >= needed {
            return Ok(());
        }
        let origin = Origin::Domain(self.domain_id);
        if let Some(left_out) = self.log_limiter.line(Event::RefusedAccess, origin) {
            let (domain, key) = (self.domain_name.as_str(), &self.key_id);
            let needed = needed.as_str();
            tracing::warn!(domain, key, needed, call, left_out, "a key lacks the access of a call");
        }
        let detail = match needed {
            Access::Admin => {
                format!("the API key may not administer its domain, and {call} needs an admin key")
            }
            Access::Read | Access::Write => {
                format!("the API key may only read, and {call} needs a write key")
            }
        };
        Err(Problem::new(ErrorCode::Forbidden, detail))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            tracing::error!(
                path = parts.uri.path(),
                "a route outside of the guard asks for its caller"
            );
            Problem::internal()
        })
    }
}
