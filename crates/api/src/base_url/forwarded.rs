//! How a caller addressed the server, by the word of the proxies in front of it: `Forwarded`
//! (RFC 7239), or the headers `X-Forwarded-…`. Each proxy appends to a list, so its last element is
//! the nearest proxy's. The list is read from its end, and each further element only if a trusted
//! proxy has vouched for it. A part that is missing, or that cannot be read, counts as absent.

use std::net::IpAddr;

use http::HeaderMap;

use super::proxies::TrustedProxies;

/// The words of the proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Forwarded {
    pub(super) host: Option<String>,
    pub(super) is_tls: bool,
    /// The port, if the host may lack it; never the usual one of the scheme.
    pub(super) port: Option<u16>,
    /// A path that a proxy has removed from the beginning of the target.
    pub(super) prefix: Option<String>,
}

/// Reads the headers of a request from a trusted proxy.
pub(super) fn read(headers: &HeaderMap, trusted: &TrustedProxies) -> Forwarded {
    let prefix = last(headers, "x-forwarded-prefix").and_then(path_prefix);
    let standard = standard(headers, trusted);
    if standard.host.is_some() || standard.proto.is_some() {
        let is_tls = standard.proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
        return Forwarded { host: standard.host, is_tls, port: None, prefix };
    }
    let hops = hops(headers, trusted);
    let nth = |name| nth_from_end(headers, name, hops);
    let is_tls = nth("x-forwarded-proto").is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
    let usual = if is_tls { 443 } else { 80 };
    let port = nth("x-forwarded-port").and_then(|port| port.parse().ok());
    Forwarded {
        host: nth("x-forwarded-host").map(str::to_owned),
        is_tls,
        port: port.filter(|port| *port != usual),
        prefix,
    }
}

/// The address of the client, by the word of trusted proxies; else that of the peer.
pub(crate) fn client_of(headers: &HeaderMap, peer: IpAddr, trusted: &TrustedProxies) -> IpAddr {
    if !trusted.contains(peer) {
        return peer;
    }
    let listed = elements(headers, "x-forwarded-for");
    let clients = listed.iter().rev().map_while(|text| address(text));
    let mut last = peer;
    for client in clients {
        last = client;
        if !trusted.contains(client) {
            break;
        }
    }
    last
}

/// The host and the scheme of `Forwarded`.
#[derive(Debug, Default)]
struct Standard {
    host: Option<String>,
    proto: Option<String>,
}

/// The element of the farthest proxy that trusted ones vouch for.
fn standard(headers: &HeaderMap, trusted: &TrustedProxies) -> Standard {
    let mut found = Standard::default();
    for element in elements(headers, "forwarded").iter().rev() {
        let mut client = None;
        found = Standard::default();
        for pair in split_quoted(element, b';') {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let value = unquoted(value.trim());
            match name.trim().to_ascii_lowercase().as_str() {
                "for" => client = address(&value),
                "host" => found.host = Some(value),
                "proto" => found.proto = Some(value),
                _ => {}
            }
        }
        if !client.is_some_and(|client| trusted.contains(client)) {
            break;
        }
    }
    found
}

/// How many of the addresses at the end of `X-Forwarded-For` are trusted proxies.
fn hops(headers: &HeaderMap, trusted: &TrustedProxies) -> usize {
    let addresses = elements(headers, "x-forwarded-for");
    let is_trusted = |text: &&&str| address(text).is_some_and(|one| trusted.contains(one));
    addresses.iter().rev().take_while(is_trusted).count()
}

/// The element of a list before the last `skipped` ones, or else the first.
fn nth_from_end<'h>(headers: &'h HeaderMap, name: &str, skipped: usize) -> Option<&'h str> {
    let all = elements(headers, name);
    let at = all.len().checked_sub(1)?.saturating_sub(skipped);
    Some(all[at]).filter(|value| !value.is_empty())
}

fn last<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    nth_from_end(headers, name, 0)
}

/// The elements of all fields of a list, in order.
fn elements<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    let fields = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    fields.flat_map(|field| split_quoted(field, b',')).map(str::trim).collect()
}

/// The parts between separators that are not within quotes.
fn split_quoted(text: &str, separator: u8) -> Vec<&str> {
    let (mut parts, mut from, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if byte == separator && !quoted => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// A token, or the content of a quoted string.
fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut escaped = false;
    for c in inner.chars() {
        escaped = c == '\\' && !escaped;
        if !escaped {
            out.push(c);
        }
    }
    out
}

/// An address with or without a port; an IPv6 address may be in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let whole = text.parse().ok();
    let found = match bracketed {
        Some((inner, _)) => inner.parse().ok(),
        None => whole.or_else(|| text.rsplit_once(':').and_then(|(ip, _)| ip.parse().ok())),
    };
    found.map(|ip: IpAddr| ip.to_canonical())
}

/// A path without a slash at its end; `None` if it could not begin a link.
fn path_prefix(text: &str) -> Option<String> {
    let path = text.trim_end_matches('/');
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b);
    let is_path = path.starts_with('/') && !path.starts_with("//") && path.bytes().all(plain);
    is_path.then(|| path.to_owned())
}
