//! The address of the other end of a connection, as an extension of each request on it.

use std::net::IpAddr;

/// The address that a request came from: a client's or a proxy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerAddress(pub IpAddr);

impl PeerAddress {
    /// An IPv4 address that a socket of both versions shows as an IPv6 address is itself again.
    pub(crate) fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }
}
