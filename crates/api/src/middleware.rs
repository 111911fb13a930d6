//! What surrounds every request: its id, the rendering of problems, panics, and bodies that nobody
//! read. Nothing here knows a route. The invariant: every response that leaves has an
//! `X-Request-Id`, and every error is in problem form.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tracing::Instrument;
use uuid::Uuid;

use crate::problem::Problem;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request id that is taken over from a caller.
const REQUEST_ID_BYTES_MAX: usize = 128;
/// How long an unread body is still received after the answer, so that the answer arrives.
const LINGER_SECONDS: u64 = 2;

/// Gives the request its id, and renders the problem that comes back.
pub(crate) async fn request_id(request: Request, next: Next) -> Response {
    let id = sane_id(request.headers()).unwrap_or_else(fresh_id);
    let head = *request.method() == Method::HEAD;
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method = %request.method(),
        path = request.uri().path(),
    );
    let mut response = next.run(request).instrument(span.clone()).await;
    if let Some(problem) = response.extensions_mut().remove::<Arc<Problem>>() {
        let body = problem.body(id.to_str().unwrap_or_default());
        let content_type = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        *response.body_mut() = if head { Body::empty() } else { Body::from(body) };
    }
    response.headers_mut().insert(X_REQUEST_ID, id);
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "answered"));
    response
}

/// The caller's id, where it is one of 1 to 128 visible ASCII characters.
fn sane_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let id = headers.get(X_REQUEST_ID)?;
    let bytes = id.as_bytes();
    let sane =
        (1..=REQUEST_ID_BYTES_MAX).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    sane.then(|| id.clone())
}

fn fresh_id() -> HeaderValue {
    let text = Uuid::new_v4().to_string();
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("none"))
}

/// A handler panicked: the log has its words, the caller gets none of them.
#[expect(clippy::needless_pass_by_value, reason = "the signature that the panic layer asks for")]
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let words = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text");
    tracing::error!(panic = words, "a handler panicked");
    Problem::internal().into_response()
}

/// Keeps receiving a body that the handler did not read to its end. Closing the connection at once
/// would reset it, and a client that is still sending would never see why it was refused.
pub(crate) async fn linger(request: Request, next: Next) -> Response {
    let waits = request.headers().contains_key(header::EXPECT);
    if waits || request.body().is_end_stream() {
        return next.run(request).await;
    }
    next.run(request.map(|body| Body::new(Lingering { body: Some(body) }))).await
}

/// A request body that is drained in the background when it is dropped before its end.
struct Lingering {
    body: Option<Body>,
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(mut body) = self.body.take().filter(|body| !body.is_end_stream()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(tokio::time::timeout(Duration::from_secs(LINGER_SECONDS), async move {
            while let Some(Ok(_)) = body.frame().await {}
        }));
    }
}
