//! The paths of tasks and imports, for profiles and for issues. A path gives access only to its own
//! records and actions. Most calls are the same for a task and an import.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainName;
use caseload_model::task::Family;
use http::request::Parts;

use super::subject::{Subject, SubjectKind};
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::state::AppState;

/// The bulk path of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BulkPath {
    pub(crate) family: Family,
    pub(crate) kind: SubjectKind,
}

impl BulkPath {
    /// The path of these records in a domain.
    pub(crate) fn of(domain: &DomainName, family: Family, kind: SubjectKind) -> String {
        format!("/v2/{domain}/{}/{}", family.as_str(), kind.segment())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BulkPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut words = parts.uri.path().split('/').skip(3);
        let family = Family::parse(words.next().unwrap_or_default());
        let kind = SubjectKind::of_segment(words.next().unwrap_or_default());
        family.zip(kind).map(|(family, kind)| Self { family, kind }).ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a bulk route has an unknown family");
            Problem::internal()
        })
    }
}

/// A task or an import of the caller's domain and of the path's family.
#[derive(Debug)]
pub(crate) struct OwnTask {
    pub(crate) caller: Caller,
    pub(crate) subject: Subject,
}

impl FromRequestParts<AppState> for OwnTask {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let BulkPath { family, kind } = BulkPath::from_request_parts(parts, state).await?;
        let path: Result<Path<(String, String)>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        let found = match path {
            Ok(Path((_, id))) => {
                Subject::find(&*state.store, caller.domain_id, (family, kind), &id).await?
            }
            Err(_) => None,
        };
        let Some(subject) = found else {
            let noun = kind.noun();
            let detail = format!(
                "this path has no {noun} with that id; use the path in links.self of the {noun}"
            );
            return Err(Problem::new(ErrorCode::NotFound, detail));
        };
        Ok(Self { caller, subject })
    }
}
