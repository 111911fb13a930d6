//! The cookie of a session of the console, and the credential of a request: its key, or else the
//! session in its cookie. The cookie counts only for requests of the server's own pages, because a
//! browser adds it to others, too.

use axum::extract::Request;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

use super::credentials::{Credential, key_hash};
use crate::config::ApiConfig;
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;
use crate::http::same_site;

/// The cookie of a session on plain HTTP, and the one over TLS. A browser takes the second from no
/// other host.
const PLAIN: &str = "caseload_session";
const OVER_TLS: &str = "__Host-caseload_session";

const TWO_SESSIONS: &str = "the request has two cookies of a session, and none of them counts; \
                            delete the cookies of this host, and sign in again";

/// Sets the cookie of a session for so many seconds. The one on plain HTTP is limited to the path
/// under which callers reach the server. The one over TLS cannot be.
pub(crate) fn session_cookie(
    base: &BaseUrl,
    is_tls: bool,
    text: &str,
    seconds: i64,
) -> Result<(HeaderName, HeaderValue), Problem> {
    let (name, path, secure) =
        if is_tls { (OVER_TLS, "", "; Secure") } else { (PLAIN, base.path(), "") };
    let cookie = format!(
        "{name}={text}; Path={path}/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    Ok((header::SET_COOKIE, cookie.try_into().map_err(|_| Problem::internal())?))
}

/// The credential of a request, or the advice for the caller.
pub(crate) fn credential_of(
    request: &Request,
    config: &ApiConfig,
) -> Result<Credential, &'static str> {
    let headers = request.headers();
    if !headers.contains_key(header::AUTHORIZATION)
        && let Some(session) = session_of(request, config)
    {
        return session;
    }
    key_hash(headers).map(Credential::Key)
}

/// The session of the request's cookie, if a page of this server sent the request. Of two cookies,
/// someone else may have planted one.
pub(crate) fn session_of(
    request: &Request,
    config: &ApiConfig,
) -> Option<Result<Credential, &'static str>> {
    let base = BaseUrl::of(request.uri(), request.headers(), request.extensions(), config);
    let name = if base.is_tls() { OVER_TLS } else { PLAIN };
    let mut texts = session_texts(request.headers(), name);
    let text = texts.next()?;
    if !same_site::is_of_own_page(request, config) {
        return None;
    }
    if texts.next().is_some() {
        return Some(Err(TWO_SESSIONS));
    }
    (!text.is_empty()).then(|| Ok(Credential::Session(Sha256::digest(text).into())))
}

/// Whether the request has the cookie of a session, which may have ended.
pub(super) fn has_session(headers: &HeaderMap) -> bool {
    [PLAIN, OVER_TLS].iter().any(|name| session_texts(headers, name).next().is_some())
}

/// The texts in the cookies of this name.
fn session_texts<'h>(headers: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|field| field.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';').map(str::trim));
    pairs.filter_map(move |pair| pair.strip_prefix(name)?.strip_prefix('='))
}
