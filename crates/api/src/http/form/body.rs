//! The content types of the calls that take a form, and the answer to a broken urlencoded form.

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use caseload_model::dialects::LOOKS_LIKE_JSON;
use caseload_model::error_code::ErrorCode;
use futures_util::StreamExt;
use http::{HeaderValue, header};

use super::urlencoded::BrokenEscape;
use crate::http::problem::Problem;

/// The encoding of the fields of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormKind {
    Urlencoded,
    Multipart,
    /// One object with the fields as members.
    Json,
}

/// The kind of form of the content type; `accepted` lists the accepted types for the caller. A
/// request with neither a body nor a content type is a form without fields: HTTP clients send an
/// empty form in this way, and the answer can then name the missing fields.
pub(crate) async fn kind(request: &mut Request, accepted: &str) -> Result<FormKind, Problem> {
    let given = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let given = String::from_utf8_lossy(given.unwrap_or_default());
    let given = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let detail = match given.as_str() {
        "application/x-www-form-urlencoded" => return Ok(FormKind::Urlencoded),
        "multipart/form-data" => return Ok(FormKind::Multipart),
        "application/json" => return Ok(FormKind::Json),
        "" if request.body().size_hint().exact() == Some(0) => return Ok(FormKind::Urlencoded),
        "" | "text/plain" if begins_like_json(std::mem::take(request.body_mut())).await => {
            LOOKS_LIKE_JSON.to_owned()
        }
        "" => format!("the request has no Content-Type; send {accepted}"),
        other => {
            let shown: String = other.chars().take(100).collect();
            format!("{shown:?} is not supported here; send {accepted}")
        }
    };
    Err(Problem::new(ErrorCode::UnsupportedMediaType, detail))
}

/// Whether a body begins like a map or a list in JSON. The connection bounds how long it may take
/// to arrive.
async fn begins_like_json(body: Body) -> bool {
    let first = body.into_data_stream().next().await;
    let first = first.and_then(Result::ok).unwrap_or_default();
    matches!(first.trim_ascii_start().first(), Some(b'{' | b'['))
}

pub(crate) fn broken_escape(BrokenEscape(at): BrokenEscape) -> Problem {
    let detail = format!(
        "the body is not an urlencoded form: the % at byte {at} is not followed by two hexadecimal \
         digits; write % as %25, or let an HTTP client encode the form"
    );
    Problem::new(ErrorCode::InvalidRequest, detail)
}
