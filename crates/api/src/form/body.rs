//! The rules for the body of every call that takes a form: the accepted content types, how long a
//! body may be and how long it may pause, and the answers to a body that cannot be read.

use std::error::Error;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::multipart::MultipartError;
use axum::extract::{FromRequest, Multipart, Request};
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::LengthLimitError;

use super::decompress::{BrokenCompression, caused_by};
use super::urlencoded::BrokenEscape;
use crate::ApiConfig;
use crate::problem::Problem;

/// The encoding of the fields of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormKind {
    Urlencoded,
    Multipart,
    /// One object with the fields as members.
    Json,
}

/// The kind of form of the content type; `accepted` lists the accepted types for the caller.
pub(crate) fn kind(headers: &HeaderMap, accepted: &str) -> Result<FormKind, Problem> {
    let unsupported = |detail| Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let given = String::from_utf8_lossy(given);
    match given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => Ok(FormKind::Urlencoded),
        "multipart/form-data" => Ok(FormKind::Multipart),
        "application/json" => Ok(FormKind::Json),
        "" => unsupported(format!("the request has no Content-Type; send {accepted}")),
        other => {
            let shown: String = other.chars().take(100).collect();
            unsupported(format!("{shown:?} is not supported here; send {accepted}"))
        }
    }
}

/// Refuses a body whose stated length is too large, before any of it is read.
pub(crate) fn check_length(request: &Request, config: &ApiConfig) -> Result<(), Problem> {
    let length = request.body().size_hint().exact();
    if length.is_some_and(|length| length > config.body_bytes_max as u64) {
        return Err(too_large(config));
    }
    Ok(())
}

/// The parts of a multipart body.
pub(crate) async fn multipart(request: Request) -> Result<Multipart, Problem> {
    Multipart::from_request(request, &()).await.map_err(|_| {
        let detail = "the Content-Type multipart/form-data needs a boundary; HTTP clients add it \
                      when they build the form";
        Problem::new(ErrorCode::InvalidRequest, detail)
    })
}

/// Awaits `read`. Fails if the client pauses for too long.
pub(crate) async fn in_time<T>(
    config: &ApiConfig,
    read: impl Future<Output = T>,
) -> Result<T, Problem> {
    let pause: Duration = config.body_pause_max;
    tokio::time::timeout(pause, read).await.map_err(|_| {
        let detail =
            format!("no part of the body arrived for {} s; send it again", pause.as_secs());
        Problem::new(ErrorCode::InvalidRequest, detail)
    })
}

fn too_large(config: &ApiConfig) -> Problem {
    let detail = format!(
        "the body has more than {} bytes, compressed or decompressed; send less in one request",
        config.body_bytes_max
    );
    Problem::new(ErrorCode::TooLarge, detail)
}

pub(crate) fn read_error(error: &(dyn Error + 'static), config: &ApiConfig) -> Problem {
    if caused_by::<LengthLimitError>(error) {
        return too_large(config);
    }
    let detail = if caused_by::<BrokenCompression>(error) {
        "the body cannot be decompressed: it does not match its Content-Encoding, it ends early, \
         or (zstd) it needs a window of more than 8 MiB"
    } else {
        "the body ended before it was complete; send it again"
    };
    Problem::new(ErrorCode::InvalidRequest, detail)
}

pub(crate) fn broken_escape(BrokenEscape(at): BrokenEscape) -> Problem {
    let detail = format!(
        "the body is not an urlencoded form: the % at byte {at} is not followed by two hexadecimal \
         digits; write % as %25, or let an HTTP client encode the form"
    );
    Problem::new(ErrorCode::InvalidRequest, detail)
}

pub(crate) fn broken_multipart(error: &MultipartError, config: &ApiConfig) -> Problem {
    if caused_by::<LengthLimitError>(error) || caused_by::<BrokenCompression>(error) {
        return read_error(error, config);
    }
    tracing::debug!(%error, "a multipart body is broken");
    let detail = "the body is not multipart/form-data with the boundary of its Content-Type, \
                  or it ended before it was complete";
    Problem::new(ErrorCode::InvalidRequest, detail)
}
