//! Which addresses a server may call for a caller. A webhook makes the server send a request to an
//! address of the caller's choice, so it must not reach what only the server can reach: the machine
//! itself, its networks, and the metadata services of clouds. An IPv6 address that contains an
//! IPv4 address is judged by that one, because the network may deliver to it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not public, as address and prefix length. The reserved networks of the
/// IANA registry, and the address of one cloud's metadata that is outside of them.
const PRIVATE_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),        // this network
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // shared by the customers of a provider
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // metadata of Azure
    ([169, 254, 0, 0], 16),   // link-local, metadata of most clouds
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocols, metadata of Oracle
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 88, 99, 0], 24),   // relays of 6to4
    ([192, 168, 0, 0], 16),   // private
    ([198, 18, 0, 0], 15),    // measurements
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, broadcast
];

/// Networks inside `2000::/3`, the public part of IPv6, that are not public.
const PRIVATE_V6: [([u16; 2], u32); 3] = [
    ([0x2001, 0x0000], 23), // protocols
    ([0x2001, 0x0db8], 32), // documentation
    ([0x3fff, 0x0000], 20), // documentation
];

/// Whether an address is on the public internet.
///
/// ```
/// use caseload_model::webhook::is_public;
///
/// let public = |text: &str| is_public(text.parse().expect("an address"));
/// assert!(public("8.8.8.8") && public("2606:4700::1111"));
/// assert!(!public("10.0.0.1") && !public("::ffff:10.0.0.1"));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !PRIVATE_V4
        .iter()
        .any(|(network, length)| (bits ^ Ipv4Addr::from(*network).to_bits()) >> (32 - length) == 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // The IPv4 address whose first half is the segment `at`.
    let inside = |at: usize| {
        let [a, b, c, d] =
            [segments[at] >> 8, segments[at] & 255, segments[at + 1] >> 8, segments[at + 1] & 255];
        Ipv4Addr::new(a as u8, b as u8, c as u8, d as u8)
    };
    match segments {
        // Mapped, and NAT64.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(inside(6)),
        // 6to4.
        [0x2002, ..] => is_public_v4(inside(1)),
        // Teredo: a server, and a client whose bits are inverted.
        [0x2001, 0, ..] => {
            is_public_v4(inside(2)) && is_public_v4(Ipv4Addr::from_bits(!inside(6).to_bits()))
        }
        [first, second, ..] => {
            let bits = u32::from(first) << 16 | u32::from(second);
            first >> 13 == 1
                && !PRIVATE_V6.iter().any(|([a, b], length)| {
                    (bits ^ (u32::from(*a) << 16 | u32::from(*b))) >> (32 - length) == 0
                })
        }
    }
}
