//! The base URL of a request, found in its head and in the settings, and put into its answer.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::{forwarded, host};
use crate::peer::PeerAddress;
use crate::{ApiConfig, AppState};

/// The beginning of links in an answer; empty if links are paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BaseUrl(Arc<str>);

impl BaseUrl {
    pub(super) fn of(parts: &Parts, config: &ApiConfig) -> Self {
        match &config.public_url {
            Some(public) => Self(public.text()),
            None => Self::of_request(parts, config),
        }
    }

    /// The base URL by the request alone.
    pub(super) fn of_request(parts: &Parts, config: &ApiConfig) -> Self {
        let peer = parts.extensions.get::<PeerAddress>();
        let is_trusted = peer.is_some_and(|peer| config.trusted_proxies.contains(peer.0));
        let named = is_trusted.then(|| forwarded::read(&parts.headers, &config.trusted_proxies));
        let named = named.unwrap_or_default();
        let host = match &named.host {
            Some(host) => Some(host.as_str()),
            None => host::requested(&parts.uri, &parts.headers).ok().flatten(),
        };
        let Some(host) = host.filter(|host| host::is_usable(host)) else { return Self::default() };
        let scheme = if named.is_tls { "https" } else { "http" };
        let port = named.port.filter(|_| !host::has_port(host));
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let prefix = named.prefix.unwrap_or_default();
        Self(format!("{scheme}://{}{port}{prefix}", host.to_ascii_lowercase()).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
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
        Ok(Self::of(parts, &state.config))
    }
}
