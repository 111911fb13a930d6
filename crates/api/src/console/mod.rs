//! The console at `/console/`: its files, and the sessions of the people who use it. The console is
//! a client of the API and has no other way to the data. Every answer here forbids foreign scripts,
//! styles, frames and requests.

mod features;
mod files;
pub(crate) mod openapi;
mod session;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderName};
use http::{HeaderValue, Method, StatusCode};

pub(crate) use features::Features;
pub(crate) use files::{file, page};
pub(crate) use session::{begin, end, get};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every answer below `/console`.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Adds the headers of the console to its answers. `/console` without a slash leads to `/console/`,
/// so that the addresses in the page are relative to it, below any path that a proxy adds.
pub(crate) async fn around(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    if path == "/console" && reads {
        let to = [(header::LOCATION, "console/")];
        return with_headers((StatusCode::PERMANENT_REDIRECT, to).into_response());
    }
    if path != "/console" && !path.starts_with("/console/") {
        return next.run(request).await;
    }
    with_headers(next.run(request).await)
}

fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
