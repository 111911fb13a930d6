//! The cookie of a session of the console, and the credential of a request: its key, or else the
//! session in its cookie. The cookie counts only for requests of the server's own pages, because a
//! browser adds it to others, too.

use axum::extract::Request;
use http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use super::credentials::{Credential, key_hash};
use crate::config::ApiConfig;
use crate::http::same_site;

/// The cookie of a session.
pub(crate) const SESSION_COOKIE: &str = "caseload_session";

/// The credential of a request, or the advice for the caller.
pub(crate) fn credential_of(
    request: &Request,
    config: &ApiConfig,
) -> Result<Credential, &'static str> {
    let headers = request.headers();
    if !headers.contains_key(header::AUTHORIZATION)
        && let Some(session) = session_of(request, config)
    {
        return Ok(session);
    }
    key_hash(headers).map(Credential::Key)
}

/// The session of the request's cookie, if a page of this server sent the request.
pub(crate) fn session_of(request: &Request, config: &ApiConfig) -> Option<Credential> {
    let text = session_text(request.headers())?;
    let is_own = same_site::is_of_own_page(request, config);
    (is_own && !text.is_empty()).then(|| Credential::Session(Sha256::digest(text).into()))
}

/// The text in the cookie of a session, which may have ended.
pub(super) fn session_text(headers: &HeaderMap) -> Option<&str> {
    headers.get_all(header::COOKIE).iter().find_map(|cookies| {
        let mut pairs = cookies.to_str().ok()?.split(';').map(str::trim);
        pairs.find_map(|pair| pair.strip_prefix(SESSION_COOKIE)?.strip_prefix('='))
    })
}
