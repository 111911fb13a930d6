//! The public URL of the server, as its operator sets it. It may have a path, which a proxy removes
//! before it passes a request on.

use std::str::FromStr;
use std::sync::Arc;

use url::Url;

/// A public URL, without a slash at its end.
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
