//! The settings of the operator about the address of the server: its public URL, and the proxies
//! whose word about the address and about clients is taken.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::Request;
use http::HeaderMap;
use ipnet::IpNet;
use url::Url;

use crate::http::peer::PeerAddress;

/// A public URL, without a slash at its end. It may have a path, which a proxy removes before it
/// passes a request on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(Arc<str>);

/// A text that cannot be a public URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the public URL {reason}; it is http:// or https:// with a host, such as \
         https://desk.example or https://example.org/desk"
)]
pub struct InvalidPublicUrl {
    reason: &'static str,
}

impl PublicUrl {
    pub(super) fn text(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let invalid = |reason| InvalidPublicUrl { reason };
        let url = Url::parse(text.trim()).map_err(|_| invalid("cannot be read"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("has another scheme"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("has a user name or a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("has a query or a fragment"));
        }
        let text = url.as_str().trim_end_matches('/');
        // Some that the parser does not encode could end a JSON string, a header or an attribute.
        if text.contains(['"', '\'', '\\', '<', '>', '`', '{', '}', '|', '^']) {
            return Err(invalid("has characters that need percent-encoding"));
        }
        Ok(Self(text.into()))
    }
}

impl std::fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

/// Trusted proxies; by default none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// A text that is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address such as 10.0.0.7 or a network such as 10.0.0.0/8 or fd00::/8")]
pub struct InvalidProxy(String);

impl TrustedProxies {
    /// Whether this is the address of a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client of a request, as far as trusted proxies name it.
    pub(crate) fn client_of(&self, request: &Request) -> IpAddr {
        let peer = request.extensions().get::<PeerAddress>();
        let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0);
        self.client(request.headers(), peer)
    }

    /// The address of the client by the word of trusted proxies; else that of `peer`.
    pub(super) fn client(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let fields = headers.get_all("x-forwarded-for").iter().rev();
        let texts = fields.filter_map(|field| field.to_str().ok());
        let mut client = peer;
        for text in texts.flat_map(|text| text.rsplit(',')) {
            let Some(address) = parse_address(text.trim()) else { break };
            if !self.contains(client) {
                break;
            }
            client = address;
        }
        client
    }
}

impl Extend<Self> for TrustedProxies {
    fn extend<I: IntoIterator<Item = Self>>(&mut self, more: I) {
        self.0.extend(more.into_iter().flat_map(|proxies| proxies.0));
    }
}

impl FromStr for TrustedProxies {
    type Err = InvalidProxy;

    /// One address or network.
    fn from_str(text: &str) -> Result<Self, InvalidProxy> {
        let invalid = || InvalidProxy(text.to_owned());
        let text = text.trim();
        let network = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address.to_canonical()),
            Err(_) => text.parse().map_err(|_| invalid())?,
        };
        Ok(Self(vec![network]))
    }
}

/// An address with or without a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}
