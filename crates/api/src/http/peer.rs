//! The two ends of a connection, as extensions of each request on it: the address of the other end,
//! and whether this server has encrypted the connection.

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

/// Marks a request that came over TLS to this server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverTls;
