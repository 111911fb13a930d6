//! The issue id in a path, `…/issues/{issue_id}` and below. Every call reads it in the same way.
//! Only the store knows whether the issue exists.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::request::Parts;

use crate::http::problem::{Fault, Problem};
use crate::state::AppState;

/// The id in the path; `None` for digits beyond 64 bits, an id that no issue can have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssueId(Option<u64>);

impl FromRequestParts<AppState> for IssueId {
    type Rejection = InvalidIssueId;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, InvalidIssueId> {
        let path: Result<Path<(String, String)>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        match path.as_ref().map(|Path((_, id))| id.as_str()) {
            Ok(id) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(Self(id.parse().ok()))
            }
            _ => Err(InvalidIssueId),
        }
    }
}

impl IssueId {
    /// The number. Answers 404 if no issue can have it.
    pub(crate) fn known(self) -> Result<u64, Problem> {
        self.0.ok_or_else(unknown_issue)
    }

    /// The number; `None` if no issue can have it.
    pub(crate) const fn number(self) -> Option<u64> {
        self.0
    }
}

/// The path does not have the id of an issue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InvalidIssueId;

impl From<InvalidIssueId> for Fault {
    fn from(InvalidIssueId: InvalidIssueId) -> Self {
        let detail = "the id of an issue is a whole number: digits only, such as 28";
        Self::parameter("issue-id", ErrorCode::InvalidValue, detail)
    }
}

impl From<InvalidIssueId> for Problem {
    fn from(invalid: InvalidIssueId) -> Self {
        Self::faults(vec![invalid.into()])
    }
}

impl IntoResponse for InvalidIssueId {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

/// The answer 404 for an issue that does not exist.
pub(crate) fn unknown_issue() -> Problem {
    Problem::new(ErrorCode::NotFound, "the domain has no issue with that id")
}
