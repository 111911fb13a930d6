//! The content types of the calls that take a form, and the answer to a broken urlencoded form.

use axum::body::HttpBody;
use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
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
pub(crate) fn kind(request: &Request, accepted: &str) -> Result<FormKind, Problem> {
    let unsupported = |detail| Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    let headers = request.headers();
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let given = String::from_utf8_lossy(given);
    match given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => Ok(FormKind::Urlencoded),
        "multipart/form-data" => Ok(FormKind::Multipart),
        "application/json" => Ok(FormKind::Json),
        "" if request.body().size_hint().exact() == Some(0) => Ok(FormKind::Urlencoded),
        "" => unsupported(format!("the request has no Content-Type; send {accepted}")),
        other => {
            let shown: String = other.chars().take(100).collect();
            unsupported(format!("{shown:?} is not supported here; send {accepted}"))
        }
    }
}

pub(crate) fn broken_escape(BrokenEscape(at): BrokenEscape) -> Problem {
    let detail = format!(
        "the body is not an urlencoded form: the % at byte {at} is not followed by two hexadecimal \
         digits; write % as %25, or let an HTTP client encode the form"
    );
    Problem::new(ErrorCode::InvalidRequest, detail)
}
