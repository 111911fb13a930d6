//! The id of a record in a path, after the domain. Ids that are numbers are read elsewhere.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use crate::http::problem::Problem;
use crate::state::AppState;

/// An id as the path has it. A path that cannot be read has an empty one, which no record has.
pub(crate) struct PathId(pub(crate) String);

impl FromRequestParts<AppState> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let path: Result<Path<(String, String)>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        Ok(Self(path.map(|Path((_, id))| id).unwrap_or_default()))
    }
}
