//! The issue that a path names: `…/issues/{issue_id}` and what is below it, read in one way by
//! every call. Whether there is such an issue is the store's to say.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::request::Parts;

use crate::AppState;
use crate::problem::{Fault, Problem};

/// The id in the path. Digits beyond 64 bits are an id that no issue has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssueId(Option<u64>);

impl FromRequestParts<AppState> for IssueId {
    type Rejection = NoIssueId;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, NoIssueId> {
        let path: Result<Path<(String, String)>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        match path.as_ref().map(|Path((_, id))| id.as_str()) {
            Ok(id) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(Self(id.parse().ok()))
            }
            _ => Err(NoIssueId),
        }
    }
}

impl IssueId {
    /// The number, where an issue may have it.
    pub(crate) fn known(self) -> Result<u64, Problem> {
        self.0.ok_or_else(unknown_issue)
    }

    /// What tells the issue from others; none stands for numbers that no issue has.
    pub(crate) const fn number(self) -> Option<u64> {
        self.0
    }
}

/// The path has no id of an issue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoIssueId;

impl From<NoIssueId> for Fault {
    fn from(NoIssueId: NoIssueId) -> Self {
        let detail = "the id of an issue is a whole number: digits only, such as 28";
        Self::parameter("issue-id", ErrorCode::InvalidValue, detail)
    }
}

impl From<NoIssueId> for Problem {
    fn from(none: NoIssueId) -> Self {
        Self::faults(vec![none.into()])
    }
}

impl IntoResponse for NoIssueId {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

/// What a call answers whose issue is not there.
pub(crate) fn unknown_issue() -> Problem {
    Problem::new(ErrorCode::NotFound, "the domain has no issue of that id")
}
