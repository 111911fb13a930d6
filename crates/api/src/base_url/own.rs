//! The base URLs that are this server's own for one request: an import takes them off the URLs of
//! attachments, so that no host is stored. They are the public URL and the base URL by the request.
//! On a loopback address every name of it counts: `localhost` today and `127.0.0.1` tomorrow are
//! one server.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Request};
use http::request::Parts;

use super::base::BaseUrl;
use super::{forwarded, host};
use crate::peer::PeerAddress;
use crate::{ApiConfig, AppState};

/// The names of the loopback address, as hosts have them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The base URLs of this server, each with its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnUrls(pub(crate) Vec<String>);

/// The hosts, with their ports, under which the server may be known to the sender of a request.
pub(crate) fn authorities(request: &Request, config: &ApiConfig) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(public) = &config.public_url {
        let text = public.text();
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        found.extend(rest.split('/').next().map(str::to_owned));
    }
    let host = host::requested(request.uri(), request.headers());
    found.extend(host.ok().flatten().map(str::to_owned));
    let peer = request.extensions().get::<PeerAddress>();
    if peer.is_some_and(|peer| config.trusted_proxies.contains(peer.0)) {
        let named = forwarded::read(request.headers(), &config.trusted_proxies);
        let port = named.port.map(|port| format!(":{port}")).unwrap_or_default();
        let with_port = |host: String| if host::has_port(&host) { host } else { host + &port };
        found.extend(named.host.map(with_port));
    }
    found
}

impl OwnUrls {
    pub(super) fn of(parts: &Parts, config: &ApiConfig) -> Self {
        let mut urls = Vec::new();
        for base in [BaseUrl::of(parts, config), BaseUrl::of_request(parts, config)] {
            let Some((scheme, rest)) = base.as_str().split_once("://") else { continue };
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let (name, _) = host::split(authority);
            let port = &authority[name.len()..];
            let names = if LOOPBACK.contains(&name) { &LOOPBACK[..] } else { &[name] };
            urls.extend(names.iter().map(|name| format!("{scheme}://{name}{port}{path}")));
        }
        urls.sort_unstable();
        urls.dedup();
        Self(urls)
    }

    /// Those whose host occurs in `bytes`, however the slashes before it are written.
    pub(crate) fn occurring_in(&self, bytes: &[u8]) -> Vec<String> {
        let occurs = |url: &&String| {
            let rest = url.split_once("://").map_or("", |(_, rest)| rest);
            let authority = rest.split('/').next().unwrap_or_default();
            memchr::memmem::find(bytes, authority.as_bytes()).is_some()
        };
        self.0.iter().filter(occurs).cloned().collect()
    }
}

impl FromRequestParts<AppState> for OwnUrls {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        Ok(Self::of(parts, &state.config))
    }
}
