//! The host that a request names, with its port. RFC 3986 allows more in a host than any server is
//! named with; a host with such characters is valid, and not used for links.

use http::{HeaderMap, Uri, header};

/// The request names more than one host, or something that is not a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidHost;

/// The longest name of a host with its port.
const HOST_BYTES_MAX: usize = 255 + 6;

/// The host and port of the request: those of its target if it has any, else those of `Host`.
/// `None` if there are none. An invalid `Host` is an error in any case.
pub(super) fn requested<'r>(
    uri: &'r Uri,
    headers: &'r HeaderMap,
) -> Result<Option<&'r str>, InvalidHost> {
    let mut given = headers.get_all(header::HOST).iter();
    let host = match (given.next(), given.next()) {
        (None, _) => None,
        (Some(host), None) => Some(host.to_str().map_err(|_| InvalidHost)?),
        (Some(_), Some(_)) => return Err(InvalidHost),
    };
    if host.is_some_and(|host| !host.is_empty() && !is_valid(host)) {
        return Err(InvalidHost);
    }
    let target = uri.authority().map(http::uri::Authority::as_str);
    Ok(target.or(host).filter(|host| !host.is_empty()))
}

/// `uri-host [ ":" port ]` of RFC 9110.
fn is_valid(host: &str) -> bool {
    let (name, port) = split(host);
    let sub_delimiter = |b: u8| b"!$&'()*+,;=".contains(&b);
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let is_name = match name.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').is_some_and(|address| {
            !address.is_empty()
                && address.bytes().all(|b| unreserved(b) || sub_delimiter(b) || b == b':')
        }),
        None => name.bytes().all(|b| unreserved(b) || sub_delimiter(b) || b == b'%'),
    };
    is_name && !name.is_empty() && port.is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether links may begin with this host: a name of letters, digits, `-`, `.` and `_`, or an
/// address, with an optional port.
pub(super) fn is_usable(host: &str) -> bool {
    let (name, port) = split(host);
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        }
    };
    is_name && host.len() <= HOST_BYTES_MAX && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

pub(super) fn has_port(host: &str) -> bool {
    split(host).1.is_some()
}

/// The name and the port. The colons of an IPv6 address are within brackets.
pub(super) fn split(host: &str) -> (&str, Option<&str>) {
    let end = host.rfind(']').map_or(0, |at| at + 1);
    match host[end..].find(':') {
        Some(colon) => (&host[..end + colon], Some(&host[end + colon + 1..])),
        None => (host, None),
    }
}
