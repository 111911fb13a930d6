//! The body of calls that take no fields. Most clients send no body, an empty form or an empty
//! object. A body with fields is refused, because its sender expects the fields to have an effect.

use axum::extract::{FromRequest, Request};
use caseload_model::error_code::ErrorCode;
use http::header;

use crate::http::auth::Caller;
use crate::http::form::body_reader::BodyReader;
use crate::http::form::{Decoder, FieldSink, MemberSink, ObjectDecoder, ValueKind, broken_json};
use crate::http::problem::{Fault, Problem};
use crate::http::query::unknown;
use crate::state::AppState;

/// The faults of a form with fields.
#[derive(Debug)]
pub(crate) struct NoFields(pub(super) Vec<Fault>);

/// The most unknown fields that an answer names.
const NAMES_MAX: usize = 100;
/// The largest body of a call without fields.
const NO_FIELDS_BYTES_MAX: usize = 64 << 10;

impl FromRequest<AppState> for NoFields {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let given = content_type.map(|given| given.as_bytes().to_ascii_lowercase());
        let is = |kind: &[u8]| given.as_ref().is_some_and(|given| given.starts_with(kind));
        let (form, json) = (is(b"application/x-www-form-urlencoded"), is(b"application/json"));
        if !form && !json {
            return Ok(Self(Vec::new()));
        }
        let body = whole(state, request).await?;
        let names = if json { member_names(&body)? } else { form_names(&body) };
        Ok(Self(names.into_iter().map(|name| unknown(&name, &[], "field")).collect()))
    }
}

/// The whole body.
async fn whole(state: &AppState, request: Request) -> Result<Vec<u8>, Problem> {
    let caller = request.extensions().get::<Caller>().map(|caller| caller.domain_id);
    let owner = caller.ok_or_else(Problem::internal)?;
    let mut body = BodyReader::of_form(state, owner, request).await?;
    let mut whole = Vec::new();
    while let Some(piece) = body.next().await? {
        if whole.len() + piece.len() > NO_FIELDS_BYTES_MAX {
            let detail = "the body is too long: this call takes no fields";
            return Err(Problem::new(ErrorCode::InvalidRequest, detail));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

/// Names, each once, up to the number that an answer names.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn add(&mut self, name: &str) {
        if !self.0.iter().any(|known| known == name) && self.0.len() < NAMES_MAX {
            self.0.push(name.to_owned());
        }
    }
}

impl FieldSink for Names {
    fn begin(&mut self, name: &str) {
        self.add(name);
    }
    fn data(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
}

impl MemberSink for Names {
    fn begin(&mut self, name: &str, _: ValueKind) {
        self.add(name);
    }
    fn data(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
}

/// The names of the fields of an urlencoded form.
fn form_names(body: &[u8]) -> Vec<String> {
    let mut names = Names::default();
    let mut decoder = Decoder::default();
    // A broken form does not matter: its readable names are refused, and the rest is ignored.
    let _ = decoder.push(body, &mut names).and_then(|()| decoder.finish(&mut names));
    names.0
}

/// The names of the members of a JSON object. No body at all is an object without members.
fn member_names(body: &[u8]) -> Result<Vec<String>, Problem> {
    if body.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let mut names = Names::default();
    let mut decoder = ObjectDecoder::default();
    decoder.push(body, &mut names).and_then(|()| decoder.finish()).map_err(broken_json)?;
    Ok(names.0)
}
