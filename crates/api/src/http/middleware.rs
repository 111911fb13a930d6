//! The middleware around every request: its id, its line in the log, the rendering of problems, the
//! charset of JSON, and panics. No route is known here. Invariant: every response has an
//! `X-Request-Id`, every error is in problem form, and JSON names its charset.

use std::any::Any;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method};

use crate::config::ApiConfig;
use crate::http::access_log::{AccessLine, Facts, follow};
use crate::http::cpu::CpuPool;
use crate::http::current_request::CurrentRequest;
use crate::http::format::{PROBLEM, utf8_type};
use crate::http::problem::Problem;
use crate::http::request_id::new_request_id;
use crate::metrics::RequestCounts;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest request id that the server accepts from a caller.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// From so many faults on, a problem is rendered on another thread.
const FAULTS_INLINE_MAX: usize = 16;

/// Marks a request whose path has an empty segment. The layer that removes slashes at the end runs
/// before the routes and would hide it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmptySegment;

/// Marks an answer with a caller's file, whose type is the one that the caller gave it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallersFile;

/// The parts of the state that the outermost middleware needs.
#[derive(Debug, Clone)]
pub(crate) struct Outermost {
    pub(crate) config: Arc<ApiConfig>,
    pub(crate) counts: Arc<RequestCounts>,
    pub(crate) cpu: CpuPool,
}

/// Sets the request id, writes the line of the request, and renders the problem that a handler
/// returns.
pub(crate) async fn request_id(
    State(own): State<Outermost>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.uri().path().contains("//") {
        request.extensions_mut().insert(EmptySegment);
    }
    let id = valid_id(request.headers()).unwrap_or_else(new_request_id);
    let head = *request.method() == Method::HEAD;
    let current = CurrentRequest::new(&id, &request);
    let line = AccessLine::begin(&current, &mut request, |request| {
        own.config.trusted_proxies.client_of(request)
    });
    Facts::note_route(&request);
    let response = current.clone().during(answer(own, request, next, id)).await;
    follow(current, line, head, response)
}

async fn answer(own: Outermost, request: Request, next: Next, id: HeaderValue) -> Response {
    let head = *request.method() == Method::HEAD;
    let mut response = match check_transfer_coding(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(problem) = response.extensions_mut().remove::<Arc<Problem>>() {
        if let Some(reason) = problem.refusal() {
            own.counts.add_refused(reason);
        }
        let text = id.to_str().unwrap_or_default().to_owned();
        let body = if problem.faults_count() > FAULTS_INLINE_MAX {
            own.cpu.run(move || problem.body(&text)).await.unwrap_or_default()
        } else {
            problem.body(&text)
        };
        let content_type = HeaderValue::from_static(PROBLEM);
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        *response.body_mut() = if head { Body::empty() } else { Body::from(body) };
    }
    let is_own = response.extensions_mut().remove::<CallersFile>().is_none();
    if let Some(kind) = response.headers_mut().get_mut(header::CONTENT_TYPE).filter(|_| is_own)
        && let Some(with_charset) = utf8_type(kind.as_bytes())
    {
        *kind = HeaderValue::from_static(with_charset);
    }
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}

/// Refuses a request with a transfer coding other than `chunked`, which is the only one that the
/// server knows. hyper refuses those that do not end with `chunked`.
fn check_transfer_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let fields = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings: Vec<_> = fields.map(|field| String::from_utf8_lossy(field.as_bytes())).collect();
    let coding = codings.join(", ");
    if codings.is_empty() || coding.trim().eq_ignore_ascii_case("chunked") {
        return Ok(());
    }
    let shown: String = coding.chars().take(100).collect();
    let detail = format!(
        "the server does not know the transfer coding {shown:?}; send the body with a \
         Content-Length or in chunks, and a compressed one with Content-Encoding"
    );
    let problem = Problem::new(ErrorCode::UnknownCoding, detail);
    Err(problem.header(header::CONNECTION, HeaderValue::from_static("close")))
}

/// The caller's id, if it has 1 to 128 visible ASCII characters.
fn valid_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let id = headers.get(X_REQUEST_ID)?;
    let bytes = id.as_bytes();
    let is_valid =
        (1..=REQUEST_ID_BYTES_MAX).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    is_valid.then(|| id.clone())
}

/// The answer after a panic of a handler. The text of the panic goes to the log only.
#[expect(clippy::needless_pass_by_value, reason = "the panic layer requires this signature")]
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text");
    tracing::error!(panic = text, "a handler panicked");
    Problem::internal().into_response()
}
