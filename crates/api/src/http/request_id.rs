//! The id of a request whose caller has sent none, or none that is valid. It is random, so it says
//! nothing about the server or about other requests.

use http::HeaderValue;
use uuid::Uuid;

/// A fresh id.
pub(crate) fn new_request_id() -> HeaderValue {
    let text = Uuid::new_v4().to_string();
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("none"))
}
