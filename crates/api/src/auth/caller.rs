//! The caller of a request, as the guard found it. Handlers take it as an argument; a handler
//! without one has no domain to ask the store for.

use axum::extract::FromRequestParts;
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_store::KeyGrant;
use http::request::Parts;

use crate::problem::Problem;

/// Who calls: the domain that the key opens, and what the key may do there.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub domain_id: DomainId,
    pub domain_name: DomainName,
    pub access: Access,
    pub key_id: String,
    pub key_name: String,
    /// SHA-256 of the key's text.
    pub(super) key_hash: [u8; 32],
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
