//! Bulk action tasks over HTTP: create, list, status, results, errors, cancel,
//! retry. Two paths share all of it, one
//! for actions on profiles and one for issues; each knows only its own tasks and actions. How a
//! task runs is not known here: it is handed to the store, and read from there.

mod create;
mod csv;
mod file;
mod follow;
mod format;
mod list;
mod no_fields;
mod records;
mod staging;
mod status;
mod steer;
mod submission;
mod upload;
mod view;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainName;
use caseload_model::task::{Family, Task};
use http::request::Parts;

use crate::problem::Problem;
use crate::{AppState, Caller};

#[cfg(test)]
pub(crate) use {
    records::PARAMETERS as FILE_PARAMETERS, status::PARAMETERS as STATUS_PARAMETERS,
    submission::FIELDS as TASK_FIELDS,
};

pub(crate) use create::{create, read_only};
pub(crate) use follow::Followed;
pub(crate) use list::list;
pub(crate) use records::{errors, results};
pub(crate) use staging::HeldBytes;
pub(crate) use status::status;
pub(crate) use steer::{cancel, retry};
pub(crate) use submission::Submitted;

/// Which of the two bulk paths a request came by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BulkPath(Family);

impl BulkPath {
    /// Where the tasks of `family` are.
    fn of(domain: &DomainName, family: Family) -> String {
        format!("/v2/{domain}/{}/bulk_actions", family.as_str())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BulkPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let word = parts.uri.path().split('/').nth(3).unwrap_or_default();
        Family::parse(word).map(Self).ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a bulk route without a known family");
            Problem::internal()
        })
    }
}

/// A task of the caller's domain and of the path's family.
#[derive(Debug)]
pub(crate) struct OwnTask {
    caller: Caller,
    task: Task,
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
                "this path has no task of that id; use the path in links.self of the task",
            )),
        }
    }
}
