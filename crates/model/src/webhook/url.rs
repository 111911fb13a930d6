//! The URL of a webhook. It is read as the sender reads it, so that a number such as
//! `http://2130706433/` is the address that it means. The server
//! judges the addresses of a name when it connects.

use core::net::IpAddr;

use url::{Host, Url};

use super::is_public;

/// The longest URL, in bytes.
pub const URL_BYTES_MAX: usize = 2048;

/// Which addresses a server calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AddressRule {
    /// Public ones; see [`is_public`].
    #[default]
    Public,
    /// All, because the operator allows it.
    All,
}

impl AddressRule {
    pub fn allows(self, address: IpAddr) -> bool {
        self == Self::All || is_public(address)
    }
}

/// The host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostKind {
    /// A name, whose addresses are known only if the sender connects.
    Name(String),
    Address(IpAddr),
}

/// A URL that obeys the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl {
    url: Url,
    host: HostKind,
}

impl WebhookUrl {
    /// Reads a URL. The error has every fault as a sentence.
    pub fn parse(text: &str, rule: AddressRule) -> Result<Self, Vec<String>> {
        if text.len() > URL_BYTES_MAX {
            return Err(vec![format!(
                "the URL has {} bytes; at most {URL_BYTES_MAX} are allowed",
                text.len()
            )]);
        }
        // The reader of URLs drops some of them: the URL would not be the one that is shown.
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let detail = "the URL has blanks or control characters; write them as %20 and the like";
            return Err(vec![detail.to_owned()]);
        }
        let url = Url::parse(text).map_err(|error| {
            vec![format!("not a URL ({error}); expected is one such as https://example.com/hook")]
        })?;
        let mut faults = Vec::new();
        if !matches!(url.scheme(), "http" | "https") {
            faults.push(format!("the scheme {} is neither https nor http", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let detail = "the URL has a user name or a password; the signature of each delivery \
                          proves its sender";
            faults.push(detail.to_owned());
        }
        if url.fragment().is_some() {
            faults.push("the URL has a fragment, which is never sent; leave # out".to_owned());
        }
        if url.port() == Some(0) {
            faults.push("the port 0 cannot be called".to_owned());
        }
        let host = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => Some(HostKind::Name(name.to_owned())),
            Some(Host::Ipv4(address)) => Some(HostKind::Address(address.into())),
            Some(Host::Ipv6(address)) => Some(HostKind::Address(address.into())),
            Some(Host::Domain(_)) | None => None,
        };
        match &host {
            None => faults.push("the URL has no host".to_owned()),
            Some(host) => faults.extend(refusal(host, rule)),
        }
        match host {
            Some(host) if faults.is_empty() => Ok(Self { url, host }),
            _ => Err(faults),
        }
    }

    /// The URL in the form in which it is called.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub const fn host(&self) -> &HostKind {
        &self.host
    }
}

/// The reason for which the server does not call a host. The addresses of a name are judged when
/// the sender connects, but `localhost` is always this machine.
fn refusal(host: &HostKind, rule: AddressRule) -> Option<String> {
    let named = match host {
        HostKind::Address(address) if !rule.allows(*address) => address.to_string(),
        HostKind::Name(name) if rule == AddressRule::Public && is_this_machine(name) => {
            name.clone()
        }
        _ => return None,
    };
    Some(format!(
        "{named} is not on the public internet: the server calls no loopback, private, link-local \
         or metadata address unless it runs with --webhook-allow-private"
    ))
}

fn is_this_machine(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}
