//! The URL under which a caller reaches this server: the beginning of every link that the server
//! sends, such as `https://desk.example/support`. It is the public URL that the operator has set,
//! else the host that the request or a trusted proxy names. Without a host, links are paths.
//! Invariant: no stored byte contains it. It is added when an answer is sent, and an import takes
//! it off again.
//!
//! The text is safe in JSON, in headers and in HTML: it has only letters, digits and
//! `-._~:/%[]!$&()*+,;=@`, the last ones only as the operator wrote them.

mod settings;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::attachment_url::find_in_answer;
use caseload_model::json::members_at;
use http::request::Parts;
use http::uri::Authority;
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri, Version, header};

use crate::config::ApiConfig;
use crate::http::peer::{OverTls, PeerAddress};
use crate::http::problem::Problem;
use crate::state::AppState;

pub use settings::{InvalidProxy, InvalidPublicUrl, PublicUrl, TrustedProxies};

/// The longest name of a host with its port.
const HOST_BYTES_MAX: usize = 255 + 6;

/// The beginning of links in an answer; empty if links are paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BaseUrl(Arc<str>);

impl BaseUrl {
    /// The public URL, else the base URL by the request: its host and its scheme are those that the
    /// nearest proxy names, if it is trusted, or else those of the connection.
    pub(crate) fn of(
        uri: &Uri,
        headers: &HeaderMap,
        extensions: &Extensions,
        config: &ApiConfig,
    ) -> Self {
        match &config.public_url {
            Some(public) => Self(public.text()),
            None => Self::of_request(uri, headers, extensions, config),
        }
    }

    fn of_request(
        uri: &Uri,
        headers: &HeaderMap,
        extensions: &Extensions,
        config: &ApiConfig,
    ) -> Self {
        let peer = extensions.get::<PeerAddress>();
        let is_trusted = peer.is_some_and(|peer| config.trusted_proxies.contains(peer.0));
        let (forwarded, is_tls) = if is_trusted { forwarded(headers) } else { (None, None) };
        let is_tls = is_tls.unwrap_or_else(|| extensions.get::<OverTls>().is_some());
        let own = || uri.authority().map(Authority::as_str).or_else(|| host(headers));
        match forwarded.or_else(own).filter(|host| is_plain_host(host)) {
            Some(host) => {
                let scheme = if is_tls { "https" } else { "http" };
                Self(format!("{scheme}://{}", host.to_ascii_lowercase()).into())
            }
            None => Self::default(),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The host with its port.
    fn authority(&self) -> Option<&str> {
        self.0.split_once("://")?.1.split('/').next()
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// The path before every path of the server, without a slash at its end.
    pub(crate) fn path(&self) -> &str {
        let after_scheme = self.0.split_once("://").map_or("", |(_, rest)| rest);
        after_scheme.find('/').map_or("", |at| &after_scheme[at..])
    }

    /// Whether the host is this machine by a name that no foreign page can have.
    pub(crate) fn is_loopback(&self) -> bool {
        let authority = self.authority().and_then(|text| text.parse::<Authority>().ok());
        authority.is_some_and(|authority| {
            let host = authority.host().trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
        })
    }

    /// The URL of a path.
    pub(crate) fn of_path(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// `body` with the base URL inserted at these positions, which ascend.
    pub(crate) fn inserted(&self, body: Vec<u8>, positions: &[usize]) -> Vec<u8> {
        if self.0.is_empty() || positions.is_empty() {
            return body;
        }
        let mut out = Vec::with_capacity(body.len() + positions.len() * self.0.len());
        let mut from = 0;
        for &at in positions {
            out.extend_from_slice(&body[from..at]);
            out.extend_from_slice(self.0.as_bytes());
            from = at;
        }
        out.extend_from_slice(&body[from..]);
        out
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromRequestParts<AppState> for BaseUrl {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.uri, &parts.headers, &parts.extensions, &state.config))
    }
}

/// The base URLs under which the sender of a request may know this server: the public URL and the
/// base URL by the request. An import takes them off the URLs of attachments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnUrls(Vec<BaseUrl>);

impl OwnUrls {
    pub(crate) fn of(
        uri: &Uri,
        headers: &HeaderMap,
        extensions: &Extensions,
        config: &ApiConfig,
    ) -> Self {
        let mut urls = vec![BaseUrl::of_request(uri, headers, extensions, config)];
        urls.extend(config.public_url.as_ref().map(|public| BaseUrl(public.text())));
        urls.retain(|url| !url.0.is_empty());
        urls.dedup();
        Self(urls)
    }

    /// The hosts with their ports.
    pub(crate) fn authorities(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(BaseUrl::authority)
    }

    /// Those whose host occurs in `bytes`, however the slashes before it are written.
    pub(crate) fn occurring_in(&self, bytes: &[u8]) -> Vec<String> {
        let occurs = |url: &&BaseUrl| {
            let host = url.authority().unwrap_or_default();
            memchr::memmem::find(bytes, host.as_bytes()).is_some()
        };
        self.0.iter().filter(occurs).map(BaseUrl::to_string).collect()
    }
}

impl FromRequestParts<AppState> for OwnUrls {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.uri, &parts.headers, &parts.extensions, &state.config))
    }
}

/// The host that the nearest proxy names, and whether it says it was reached by TLS: by `Forwarded`
/// (RFC 7239), else by `X-Forwarded-Host` and `X-Forwarded-Proto`.
fn forwarded(headers: &HeaderMap) -> (Option<&str>, Option<bool>) {
    let (mut host, mut scheme) = (None, None);
    for pair in last(headers, "forwarded").unwrap_or_default().split(';') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "host" => host = Some(value),
            "proto" => scheme = Some(value),
            _ => {}
        }
    }
    if host.is_none() && scheme.is_none() {
        host = last(headers, "x-forwarded-host");
        scheme = last(headers, "x-forwarded-proto");
    }
    let is_tls = scheme.map(|scheme| scheme.eq_ignore_ascii_case("https"));
    (host.filter(|host| !host.is_empty()), is_tls)
}

/// The last element of a list: the nearest proxy has appended it.
fn last<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let field = headers.get_all(name).iter().next_back()?;
    field.to_str().ok()?.rsplit(',').next().map(str::trim)
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// Whether this is a name of letters, digits, `-`, `.` and `_`, or an address, with an optional
/// port. RFC 3986 allows more in a host than any server is named with.
fn is_plain_host(host: &str) -> bool {
    // The colons of an IPv6 address are within brackets.
    let end = host.rfind(']').map_or(0, |at| at + 1);
    let (name, port) = match host[end..].find(':') {
        Some(colon) => (&host[..end + colon], Some(&host[end + colon + 1..])),
        None => (host, None),
    };
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        }
    };
    is_name && host.len() <= HOST_BYTES_MAX && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// Refuses a request without a valid host, as RFC 9112, 3.2 requires: one `Host`, which HTTP/1.0
/// alone may leave out. It may be empty.
fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(header::HOST).iter();
    let detail = match (given.next(), given.next()) {
        (None, _) if version <= Version::HTTP_10 => return Ok(()),
        (None, _) => {
            "the header Host is missing; send it once, with the name and port of the server"
        }
        (Some(host), None) if host.is_empty() => return Ok(()),
        (Some(host), None) if host.to_str().is_ok_and(is_plain_host) => return Ok(()),
        _ => {
            "the header Host is given more than once, or is not a host with an optional port; send \
             it once, such as desk.example or 127.0.0.1:8080"
        }
    };
    Err(Problem::new(ErrorCode::InvalidRequest, detail))
}

/// The paths in the body of an answer that the store holds, or that is stored while it is sent. It
/// travels as an extension of the response. Such answers are answers to POST.
#[derive(Debug, Clone)]
pub(crate) struct PathsInBody {
    body: Bytes,
    positions: Vec<usize>,
}

impl PathsInBody {
    /// Those of the URLs of attachments and of the links of a task; `None` without any.
    pub(crate) fn find(body: &Bytes) -> Option<Self> {
        let mut positions = find_in_answer(body);
        let links = members_at(body, 0).find(|(key, _)| *key == b"links");
        if let Some((_, links)) = links {
            let paths = members_at(body, links.start).map(|(_, value)| value.start);
            positions.extend(paths.filter(|at| body[*at..].starts_with(b"\"/")).map(|at| at + 1));
        }
        (!positions.is_empty()).then(|| Self { body: body.clone(), positions })
    }
}

/// Checks the host of a request, and adds the base URL to an answer with paths.
pub(crate) async fn complete(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    check_host(request.version(), request.headers())?;
    if request.method() != Method::POST {
        return Ok(next.run(request).await);
    }
    let base = BaseUrl::of(request.uri(), request.headers(), request.extensions(), &state.config);
    let mut response = next.run(request).await;
    if let Some(path) = response.headers().get(header::LOCATION)
        && path.as_bytes().starts_with(b"/")
        && let Ok(url) = HeaderValue::try_from([base.as_str().as_bytes(), path.as_bytes()].concat())
    {
        response.headers_mut().insert(header::LOCATION, url);
    }
    if let Some(paths) = response.extensions_mut().remove::<PathsInBody>() {
        let body = base.inserted(paths.body.into(), &paths.positions);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        *response.body_mut() = Body::from(body);
    }
    Ok(response)
}
