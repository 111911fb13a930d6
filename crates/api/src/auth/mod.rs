//! Who calls: the guard in front of every API path, the forms in which a key is sent, the cache of
//! keys and the limit on requests. The key's text is hashed and dropped: the server neither stores
//! nor logs it.

mod cache;
mod caller;
mod credentials;
mod guard;
mod rate;

pub(crate) use cache::KeyCache;
pub(crate) use caller::Caller;
pub(crate) use credentials::key_hash;
pub(crate) use guard::{demand_key, guard};
pub(crate) use rate::RateLimiter;
