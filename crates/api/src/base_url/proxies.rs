//! The proxies whose word about the caller's address of the server is taken: addresses and networks
//! that the operator names.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

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
