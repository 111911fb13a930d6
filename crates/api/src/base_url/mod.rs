//! The URL under which a caller reaches this server: the beginning of every link that the server
//! sends, such as `https://desk.example/support`. It is the public URL that the operator has set,
//! else the host that the request or a trusted proxy names. Without a usable host, links are paths.
//! Invariant: no stored byte contains it. It is added when an answer is sent.
//!
//! The text is safe in JSON, in headers and in HTML: it has only letters, digits and
//! `-._~:/%[]!$&()*+,;=@`, the last ones only as the operator wrote them.

mod answers;
mod base;
mod forwarded;
mod host;
mod own;
mod proxies;
mod public;
#[cfg(test)]
mod tests;
mod valid_host;

pub(crate) use answers::{PathsInBody, complete};
pub(crate) use base::BaseUrl;
pub(crate) use forwarded::client_of;
pub(crate) use own::{OwnUrls, authorities};
pub use proxies::{InvalidProxy, TrustedProxies};
pub use public::{InvalidPublicUrl, PublicUrl};
