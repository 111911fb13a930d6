//! The two paths of bulk action tasks, one for actions on profiles and one for actions on issues. A
//! path gives access only to its own tasks and actions.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainName;
use caseload_model::task::{Family, Task};
use http::request::Parts;

use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::state::AppState;

/// The bulk path of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BulkPath(pub(super) Family);

impl BulkPath {
    /// The path of the tasks of `family`.
    pub(super) fn of(domain: &DomainName, family: Family) -> String {
        format!("/v2/{domain}/{}/bulk_actions", family.as_str())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BulkPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let word = parts.uri.path().split('/').nth(3).unwrap_or_default();
        Family::parse(word).map(Self).ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a bulk route has an unknown family");
            Problem::internal()
        })
    }
}

/// A task of the caller's domain and of the path's family.
#[derive(Debug)]
pub(crate) struct OwnTask {
    pub(super) caller: Caller,
    pub(super) task: Task,
}

impl FromRequestParts<AppState> for OwnTask {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let BulkPath(family) = BulkPath::from_request_parts(parts, state).await?;
        let path: Result<Path<(String, String)>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        let found = match path {
            Ok(Path((_, id))) => state.store.task(caller.domain_id, family, &id).await?,
            Err(_) => None,
        };
        match found {
            Some(task) => Ok(Self { caller, task }),
            None => Err(Problem::new(
                ErrorCode::NotFound,
                "this path has no task with that id; use the path in links.self of the task",
            )),
        }
    }
}
