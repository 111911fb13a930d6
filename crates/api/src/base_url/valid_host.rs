//! The check of `Host`, which precedes every handler. It only decides whether the request is valid.
//! Whether links can begin with its host is another question.

use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, Uri, Version, header};

use super::host;
use crate::problem::Problem;

/// Refuses a request without a valid host, as RFC 9112, 3.2 requires: one `Host`, which HTTP/1.0
/// alone may leave out.
pub(super) fn check_host(version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let is_missing = !headers.contains_key(header::HOST) && version > Version::HTTP_10;
    if !is_missing && host::requested(uri, headers).is_ok() {
        return Ok(());
    }
    let detail = if is_missing {
        "the header Host is missing; send it once, with the name and port of the server"
    } else {
        "the header Host is given more than once, or is not a host with an optional port; send it \
         once, such as desk.example or 127.0.0.1:8080"
    };
    Err(Problem::new(ErrorCode::InvalidRequest, detail))
}
