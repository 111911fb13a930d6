//! Whether a server is up: one call without a key, for probes. It is sent once and has little time,
//! so that a probe learns of a server that hangs.

use std::time::Duration;

use serde::Deserialize;

use crate::error::{ClientError, error_of_answer, transport_error};
use crate::http::{builder_for, certificates, parse_url};

/// How long the answer may take.
pub const READY_SECONDS_MAX: u64 = 5;

#[derive(Deserialize)]
struct Ready {
    status: String,
}

/// Succeeds if the server at `url` runs and its store can be read and written. `authorities` are
/// those that it trusts, in PEM format, if not the public ones.
pub async fn ready(url: &str, authorities: Option<&[u8]>) -> Result<(), ClientError> {
    let address = parse_url(url)?;
    let authorities = authorities.map(certificates).transpose()?;
    let base = address.as_str().trim_end_matches('/');
    let broken = |error| transport_error(base, &error);
    let limit = Duration::from_secs(READY_SECONDS_MAX);
    let http =
        builder_for(&address, authorities.as_deref()).timeout(limit).build().map_err(broken)?;
    let response = http.get(format!("{base}/readyz")).send().await.map_err(broken)?;
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(broken)?;
    // Another program may answer at this address.
    let is_ok = |answer: Ready| answer.status == "ok";
    if status == 200 && serde_json::from_slice(&body).is_ok_and(is_ok) {
        return Ok(());
    }
    Err(error_of_answer(base, status, &body))
}
