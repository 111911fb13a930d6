//! The body of calls that take no fields. Most clients send no body or an empty form. A form with
//! fields is refused, because its sender expects the fields to have an effect.

use axum::extract::{FromRequest, Request};
use caseload_model::error_code::ErrorCode;
use http::header;

use crate::AppState;
use crate::form::{Decoder, FieldSink};
use crate::problem::{Fault, Problem};
use crate::query::unknown;

/// The faults of a form with fields.
#[derive(Debug)]
pub(crate) struct NoFields(pub(super) Vec<Fault>);

/// The most unknown fields that an answer names.
const NAMES_MAX: usize = 100;
/// The largest body of a call without fields.
const NO_FIELDS_BYTES_MAX: usize = 64 << 10;

impl FromRequest<AppState> for NoFields {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, Problem> {
        let form = request.headers().get(header::CONTENT_TYPE).is_some_and(|given| {
            let given = given.as_bytes().to_ascii_lowercase();
            given.starts_with(b"application/x-www-form-urlencoded")
        });
        if !form {
            return Ok(Self(Vec::new()));
        }
        let body = axum::body::to_bytes(request.into_body(), NO_FIELDS_BYTES_MAX).await;
        let body = body.map_err(|_| {
            let detail = "the body cannot be read, or is too long: this call takes no fields";
            Problem::new(ErrorCode::InvalidRequest, detail)
        })?;
        let names = form_names(&body).into_iter().take(NAMES_MAX);
        Ok(Self(names.map(|name| unknown(&name, &[], "field")).collect()))
    }
}

/// The names of the fields of an urlencoded form, each once.
fn form_names(body: &[u8]) -> Vec<String> {
    struct Names(Vec<String>);
    impl FieldSink for Names {
        fn begin(&mut self, name: &str) {
            if !self.0.iter().any(|known| known == name) && self.0.len() < NAMES_MAX {
                self.0.push(name.to_owned());
            }
        }
        fn data(&mut self, _: &[u8]) {}
        fn end(&mut self) {}
    }
    let mut names = Names(Vec::new());
    let mut decoder = Decoder::default();
    // A broken form does not matter: its readable names are refused, and the rest is ignored.
    let _ = decoder.push(body, &mut names).and_then(|()| decoder.finish(&mut names));
    names.0
}
