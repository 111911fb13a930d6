//! Authentication: the guard in front of every API path, the forms of the key in a request, the
//! cache of keys and the limit on requests. The server hashes the text of a key and drops it: it
//! neither stores nor logs it.

mod cache;
mod caller;
mod cookie;
mod credentials;
mod guard;
mod rate;
mod watched;

pub(crate) use cache::KeyCache;
pub(crate) use caller::Caller;
pub(crate) use cookie::{session_cookie, session_of};
pub(crate) use credentials::{Credential, key_hash};
pub(crate) use guard::{
    authenticate, guard, log_failure, log_over_limit, no_longer_works, require_any_key,
    require_working_key, watch_key,
};
pub(crate) use rate::{Quota, RateLimiter};
pub(crate) use watched::WatchedKeys;
