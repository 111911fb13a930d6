//! The one form of every error: `application/problem+json` (RFC 9457). A handler returns a
//! [`Problem`]. It travels as an extension of an empty response to the outermost middleware, which
//! knows the request id and renders it. The handlers and this module write the texts for callers;
//! the causes go to the log and never to a caller.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_store::StoreError;
use http::header::{self, HeaderName};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use crate::http::refusal::Refusal;

/// `Retry-After` of an answer that the server cannot give now, in seconds.
const RETRY_UNAVAILABLE_SECONDS: u64 = 5;
/// `Retry-After` of a request that finds no memory, in seconds.
const RETRY_MEMORY_SECONDS: u64 = 2;
/// `Retry-After` of a domain that has reached its quota, in seconds.
const RETRY_QUOTA_SECONDS: u64 = 60;
/// `Retry-After` of a full task queue, in seconds.
const RETRY_QUEUE_SECONDS: u64 = 10;

/// The detail for a key that does not work.
pub(crate) const NO_SUCH_KEY: &str =
    "the API key is not known, has expired or was revoked; use one that works";
/// The most faults that an answer lists.
pub(crate) const FAULTS_MAX: usize = 100;

/// One fault of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The query parameter, form field or part of the path.
    pub parameter: String,
    /// The line of the payload, from 1, if the fault is in the payload.
    pub line: Option<u32>,
    pub code: ErrorCode,
    /// The rule that was broken, and a value that would be right.
    pub detail: String,
}

impl Fault {
    pub(crate) fn parameter(
        name: impl Into<String>,
        code: ErrorCode,
        detail: impl Into<String>,
    ) -> Self {
        Self { parameter: name.into(), line: None, code, detail: detail.into() }
    }
}

/// An error in the words for callers.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    code: ErrorCode,
    detail: String,
    faults: Vec<Fault>,
    /// The task that retries or runs the one that was to be retried or run.
    taken_by: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
    refusal: Option<Refusal>,
}

impl Problem {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        let (detail, headers, refusal) = (detail.into(), Vec::new(), Refusal::of(code));
        Self { code, detail, faults: Vec::new(), taken_by: None, headers, refusal }
    }

    /// The refusal of a request with these faults, at least one. The first one sets code and
    /// status.
    pub(crate) fn faults(mut faults: Vec<Fault>) -> Self {
        assert!(!faults.is_empty(), "a refused request has at least one fault");
        let count = faults.len();
        faults.truncate(FAULTS_MAX);
        let first = &faults[0];
        let code = first.code;
        let listed = if count > FAULTS_MAX { "the first of them" } else { "all" };
        let detail = match count {
            1 => first.detail.clone(),
            n => format!(
                "the request has {n} faults, {listed} under errors; the first: {}",
                first.detail
            ),
        };
        Self { faults, ..Self::new(code, detail) }
    }

    /// Refuses the request if there are any faults.
    pub(crate) fn check(faults: Vec<Fault>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::faults(faults)) }
    }

    fn already_retried(by: String) -> Self {
        let detail = format!(
            "the task {by} runs the failed and unprocessed entries of this one again; retry that \
             task if entries of it fail"
        );
        Self { taken_by: Some(by), ..Self::new(ErrorCode::AlreadyRetried, detail) }
    }

    fn already_run(by: String) -> Self {
        let detail = format!("the task {by} runs the payload of this dry run; look at that task");
        Self { taken_by: Some(by), ..Self::new(ErrorCode::AlreadyRun, detail) }
    }

    pub(crate) fn internal() -> Self {
        let detail = "the server had an internal error; its log has the cause under this \
                      request_id. Try again, and report it to the operator if it persists";
        Self::new(ErrorCode::Internal, detail)
    }

    /// The refusal of a request without a key that works.
    pub(crate) fn unauthorized(detail: &'static str) -> Self {
        let challenge = HeaderValue::from_static("Basic realm=\"caseload\", Bearer");
        Self::new(ErrorCode::Unauthorized, detail).header(header::WWW_AUTHENTICATE, challenge)
    }

    /// The same for a page: a browser shows a box of its own if it is offered `Basic`.
    pub(crate) fn unauthorized_page(detail: &'static str) -> Self {
        let challenge = HeaderValue::from_static("Bearer");
        Self::new(ErrorCode::Unauthorized, detail).header(header::WWW_AUTHENTICATE, challenge)
    }

    pub(crate) fn unavailable(detail: &str) -> Self {
        Self::new(ErrorCode::Unavailable, detail).retry_after(RETRY_UNAVAILABLE_SECONDS)
    }

    /// The database does not answer, so that the outcome of the request is not known.
    fn unreachable(cause: &str) -> Self {
        tracing::error!(%cause, "the database cannot be reached");
        let detail = "the server cannot reach its database now, and does not know whether this \
                      request took effect; try again, with the same Idempotency-Key if the \
                      request has one";
        Self::unavailable(detail)
    }

    /// Stored bytes that do not have their checksum, or cannot be read. They are never served.
    fn damaged(cause: &str) -> Self {
        tracing::error!(%cause, "stored data is damaged");
        let detail = "stored data that this answer needs is damaged, and the server does not \
                      serve it; send the operator this request_id: caseload check names the \
                      damage, and a backup has the data";
        Self::new(ErrorCode::Damaged, detail)
    }

    /// The log of changes has lost changes that the caller has not seen.
    fn cursor_expired(dropped: u64) -> Self {
        let detail = format!(
            "changes after this cursor were dropped, up to position {dropped}, because the server \
             stores changes for a limited time; take a new cursor with cursor=latest, then read \
             all records again and drop those that are gone, then follow the log from that cursor"
        );
        Self::new(ErrorCode::CursorExpired, detail)
    }

    /// Staged data that was discarded before the request ended.
    fn lost(staged: &str) -> Self {
        let detail = format!(
            "the body took too long to arrive, and the server discarded the {staged} received so \
             far; send the request again"
        );
        Self::new(ErrorCode::InvalidRequest, detail)
    }

    fn quota_exceeded(quota: &str) -> Self {
        tracing::warn!(%quota, "a domain has reached its quota");
        let detail = format!(
            "the domain has reached its quota: {quota}; this request changed nothing. The operator \
             can raise the quota"
        );
        Self::new(ErrorCode::QuotaExceeded, detail).retry_after(RETRY_QUOTA_SECONDS)
    }

    /// The limit that it names is this one.
    pub(crate) const fn because(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(refusal);
        self
    }

    /// The limit, if the request was refused because of one.
    pub(crate) const fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// Adds `Retry-After`, in seconds.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) const fn faults_count(&self) -> usize {
        self.faults.len()
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.code.status()
    }

    /// The body, with the id of the request it answers.
    pub(crate) fn body(&self, request_id: &str) -> Vec<u8> {
        let errors = self.faults.iter().map(WireFault::from).collect();
        let taken_by = |code| self.taken_by.as_deref().filter(|_| self.code == code);
        let wire = WireProblem {
            r#type: format!("/problems/{}", self.code.as_str()),
            title: self.code.title(),
            status: self.status(),
            detail: &self.detail,
            code: self.code.as_str(),
            request_id,
            errors,
            retried_by: taken_by(ErrorCode::AlreadyRetried),
            run_by: taken_by(ErrorCode::AlreadyRun),
        };
        serde_json::to_vec(&wire).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status());
        let mut response = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        response.headers_mut().extend(self.headers.iter().cloned());
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::QueueFull { unfinished, limit } => {
                let detail = format!(
                    "the domain has {unfinished} unfinished tasks and may have {limit}; wait for \
                     some to complete, then try again"
                );
                Self::new(ErrorCode::QueueFull, detail).retry_after(RETRY_QUEUE_SECONDS)
            }
            StoreError::QuotaExceeded(quota) => Self::quota_exceeded(&quota),
            StoreError::Corrupt(cause) => Self::damaged(&cause),
            StoreError::AlreadyRetried { by } => Self::already_retried(by),
            StoreError::AlreadyRun { by } => Self::already_run(by),
            StoreError::IdempotencyKeyReused => {
                let detail = "this idempotency key belongs to another request of this domain; \
                              send a new key with a new request, and this key only to repeat \
                              the first request";
                Self::new(ErrorCode::IdempotencyKeyReused, detail)
            }
            StoreError::Refused(faults) if !faults.is_empty() => {
                Self::faults(faults.into_iter().map(Fault::from).collect())
            }
            StoreError::KeyEnded => Self::unauthorized(NO_SUCH_KEY),
            StoreError::AttachmentLost => Self::lost("files"),
            StoreError::ChangesDropped { dropped } => Self::cursor_expired(dropped),
            StoreError::UploadLost => Self::lost("part"),
            StoreError::NotFound { what } => {
                tracing::info!(%what, "not found");
                Self::new(ErrorCode::NotFound, "the domain has no such record")
            }
            StoreError::DeadlinePassed => {
                let detail = "the read did not finish within its deadline; request less at once";
                Self::new(ErrorCode::QueryTooExpensive, detail)
            }
            StoreError::NoMemory => {
                let detail = "the memory that the server has for requests is used up now; try \
                              again, with fewer requests at once or a smaller page-size";
                let problem = Self::new(ErrorCode::Unavailable, detail).because(Refusal::Memory);
                problem.retry_after(RETRY_MEMORY_SECONDS)
            }
            StoreError::Closed => Self::unavailable("the server is shutting down; try again"),
            StoreError::NotWritten(cause) => {
                tracing::error!(%cause, "the store could not be written");
                let detail = "the server cannot write to its store now; this request changed \
                              nothing; try again";
                Self::unavailable(detail)
            }
            fault @ (StoreError::Unreachable(_) | StoreError::NodeAway { .. }) => {
                Self::unreachable(fault.outage().unwrap_or_default())
            }
            StoreError::Unavailable(cause) => {
                tracing::error!(%cause, "the store cannot answer");
                Self::unavailable("the store cannot answer now; try again")
            }
            other => {
                tracing::error!(error = %other, "the store failed");
                Self::internal()
            }
        }
    }
}

/// The wire form; members in this order.
#[derive(Serialize)]
struct WireProblem<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<WireFault<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retried_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_by: Option<&'a str>,
}

#[derive(Serialize)]
struct WireFault<'a> {
    parameter: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    code: &'a str,
    detail: &'a str,
}

impl<'a> From<&'a Fault> for WireFault<'a> {
    fn from(fault: &'a Fault) -> Self {
        let Fault { parameter, line, code, detail } = fault;
        Self { parameter, line: *line, code: code.as_str(), detail }
    }
}
