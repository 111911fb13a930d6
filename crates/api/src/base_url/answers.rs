//! Adds the base URL to answers that the store holds, or that are stored while they are sent:
//! their `Location` and the URLs in their bodies are paths, so that no stored byte has a host. Such
//! answers are answers to POST.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use caseload_model::issue::attachment_url::find_in_answer;
use caseload_model::json::members_at;
use http::{HeaderValue, Method, header};

use super::base::BaseUrl;
use super::valid_host::check_host;
use crate::AppState;
use crate::problem::Problem;

/// The paths in the body of an answer. It travels as an extension of the response.
#[derive(Debug, Clone)]
pub(crate) struct PathsInBody {
    body: Bytes,
    positions: Vec<usize>,
}

impl PathsInBody {
    /// Those of the URLs of attachments and of the links of a task; `None` without any.
    pub(crate) fn find(body: &Bytes) -> Option<Self> {
        let mut positions = find_in_answer(body);
        let links = members_at(body, 0).find(|(key, _)| *key == b"links");
        if let Some((_, links)) = links {
            let paths = members_at(body, links.start).map(|(_, value)| value.start);
            positions.extend(paths.filter(|at| body[*at..].starts_with(b"\"/")).map(|at| at + 1));
        }
        (!positions.is_empty()).then(|| Self { body: body.clone(), positions })
    }
}

/// Checks the host of a request, and adds the base URL to an answer with paths.
pub(crate) async fn complete(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    check_host(request.version(), request.uri(), request.headers())?;
    if request.method() != Method::POST {
        return Ok(next.run(request).await);
    }
    let (parts, body) = request.into_parts();
    let base = BaseUrl::of(&parts, &state.config);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(path) = response.headers().get(header::LOCATION)
        && path.as_bytes().starts_with(b"/")
        && let Ok(url) = HeaderValue::try_from([base.as_str().as_bytes(), path.as_bytes()].concat())
    {
        response.headers_mut().insert(header::LOCATION, url);
    }
    if let Some(paths) = response.extensions_mut().remove::<PathsInBody>() {
        let body = base.inserted(paths.body.into(), &paths.positions);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        *response.body_mut() = Body::from(body);
    }
    Ok(response)
}
