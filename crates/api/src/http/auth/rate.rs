//! The limit on the requests of a key, and the limit of a domain on the requests of all its keys: a
//! number of requests in each window of [`WINDOW_SECONDS`], counted by this process alone and in
//! memory. A window begins with the first request after the
//! end of the previous one. A server that restarts counts from zero.
//!
//! The headers are those that clients of the API family read, and the `RateLimit` fields of the
//! IETF draft (draft-ietf-httpapi-ratelimit-headers).

use std::collections::HashMap;

use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::KeyGrant;
use http::HeaderValue;
use http::header::HeaderName;
use parking_lot::Mutex;

use crate::http::problem::Problem;

/// Length of a window.
const WINDOW_SECONDS: i64 = 60;
/// The most keys that are counted at a time. Operators create keys, so this limit on memory is
/// rarely reached; if it is, all counts start again from zero.
const WINDOWS_MAX: usize = 100_000;
/// The limit and the remaining requests that a server without a limit reports. Clients of the API
/// family read both as 32-bit integers, and stop if they are missing.
const NO_LIMIT: u32 = i32::MAX as u32;

const X_LIMIT: HeaderName = HeaderName::from_static("x-rate-limit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-rate-limit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-rate-limit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The requests of each key in its current window.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    windows: Mutex<HashMap<(DomainId, String), Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    ends_at: UnixMillis,
    used: u32,
}

/// The quota of a key at one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    limit: u32,
    remaining: u32,
    refused: bool,
    /// Whether the limit is that of the domain.
    of_domain: bool,
    now: UnixMillis,
    resets_at: UnixMillis,
}

impl RateLimiter {
    /// Counts a request of the key, and of its domain if that has a limit; the one that leaves less
    /// is the answer. A limit of 0 means no limit, and nothing is counted.
    pub(super) fn count(&self, grant: &KeyGrant, limit: u32, now: UnixMillis) -> Quota {
        let of_key = self.count_one((grant.domain, grant.key.id.clone()), limit, now);
        let Some(limit) = grant.domain_rate_limit.filter(|_| !of_key.refused) else {
            return of_key;
        };
        // No key has an empty id.
        let of_domain = self.count_one((grant.domain, String::new()), limit.max(1), now);
        let of_domain = Quota { of_domain: true, ..of_domain };
        if of_domain.refused || of_domain.remaining < of_key.remaining { of_domain } else { of_key }
    }

    fn count_one(&self, key: (DomainId, String), limit: u32, now: UnixMillis) -> Quota {
        if limit == 0 {
            return Quota::unused(limit, now);
        }
        let mut windows = self.windows.lock();
        if windows.len() >= WINDOWS_MAX && !windows.contains_key(&key) {
            windows.retain(|_, window| window.is_open(now));
            if windows.len() >= WINDOWS_MAX {
                windows.clear();
            }
        }
        let new = Window { ends_at: UnixMillis(now.0 + WINDOW_SECONDS * 1000), used: 0 };
        let window = windows.entry(key).or_insert(new);
        if !window.is_open(now) {
            *window = new;
        }
        let refused = window.used >= limit;
        if !refused {
            window.used += 1;
        }
        let remaining = limit.saturating_sub(window.used);
        Quota { limit, remaining, refused, of_domain: false, now, resets_at: window.ends_at }
    }
}

impl Window {
    /// Whether `now` is in this window. A clock that is set back begins a new window.
    const fn is_open(self, now: UnixMillis) -> bool {
        now.0 < self.ends_at.0 && now.0 >= self.ends_at.0 - WINDOW_SECONDS * 1000
    }
}

impl Quota {
    /// The quota of a key without requests. A limit of 0 means no limit.
    pub(super) const fn unused(limit: u32, now: UnixMillis) -> Self {
        let limit = if limit == 0 { NO_LIMIT } else { limit };
        let resets_at = UnixMillis(now.0 + WINDOW_SECONDS * 1000);
        Self { limit, remaining: limit, refused: false, of_domain: false, now, resets_at }
    }

    /// The refusal, if the request exceeds the limit.
    pub(super) fn refusal(&self) -> Option<Problem> {
        if !self.refused {
            return None;
        }
        let civil = UnixMillis(self.resets_at.0.saturating_add(999)).civil();
        let (whose, code) = if self.of_domain {
            ("domain, with all its API keys,", ErrorCode::QuotaExceeded)
        } else {
            ("API key", ErrorCode::RateLimited)
        };
        let detail = format!(
            "the {whose} may make {} requests in {WINDOW_SECONDS} s and has made them; retry after \
             {:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
            self.limit, civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        );
        Some(Problem::new(code, detail).retry_after(self.seconds_left()))
    }

    /// Adds the headers that describe the quota.
    pub(super) fn add_headers(&self, response: &mut Response) {
        let fields = [
            (RATE_LIMIT_POLICY, format!("\"key\";q={};w={WINDOW_SECONDS}", self.limit)),
            (RATE_LIMIT, format!("\"key\";r={};t={}", self.remaining, self.seconds_left())),
            (X_RESET, self.resets_at.0.to_string()),
        ];
        let headers = response.headers_mut();
        headers.insert(X_LIMIT, HeaderValue::from(self.limit));
        headers.insert(X_REMAINING, HeaderValue::from(self.remaining));
        for (name, text) in fields {
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        }
    }

    /// Whole seconds to the end of the window, rounded up.
    const fn seconds_left(&self) -> u64 {
        let left = self.resets_at.0 - self.now.0;
        if left <= 0 { 0 } else { left.unsigned_abs().div_ceil(1000) }
    }
}

#[cfg(test)]
mod tests {
    use caseload_model::ids::DomainName;
    use caseload_model::key::Access;
    use caseload_store::Key;

    use super::*;

    fn grant(domain: i64, id: &str) -> KeyGrant {
        KeyGrant {
            domain: DomainId(domain),
            domain_name: DomainName::parse("acme").expect("a domain name"),
            domain_rate_limit: None,
            key: Key {
                id: id.to_owned(),
                name: String::new(),
                access: Access::Read,
                created_at: UnixMillis(0),
                last_used_at: None,
                expires_at: None,
                revoked_at: None,
            },
        }
    }

    /// Remaining requests, or `None` for a refusal.
    fn at(limiter: &RateLimiter, grant: &KeyGrant, now: i64) -> Option<u32> {
        let quota = limiter.count(grant, 3, UnixMillis(now));
        (!quota.refused).then_some(quota.remaining)
    }

    #[test]
    fn a_window_ends_a_minute_after_its_first_request() {
        let (limiter, key) = (RateLimiter::default(), grant(1, "a"));
        for (now, left) in [
            (5_000, Some(2)),
            (6_000, Some(1)),
            (64_999, Some(0)),
            (64_999, None),
            (65_000, Some(2)),
            // The clock is set back by an hour.
            (65_000 - 3_600_000, Some(2)),
            (65_000 - 3_600_000, Some(1)),
        ] {
            assert_eq!(at(&limiter, &key, now), left, "{now}");
        }
    }

    #[test]
    fn each_key_has_its_own_count() {
        let limiter = RateLimiter::default();
        for key in [grant(1, "a"), grant(1, "b"), grant(2, "a")] {
            assert_eq!(
                [0, 1, 2, 3].map(|now| at(&limiter, &key, now)),
                [Some(2), Some(1), Some(0), None]
            );
        }
        let unlimited = limiter.count(&grant(1, "a"), 0, UnixMillis(0));
        assert_eq!((unlimited.limit, unlimited.remaining), (2_147_483_647, 2_147_483_647));
    }

    #[test]
    fn all_keys_of_a_domain_share_its_own_limit() {
        let limiter = RateLimiter::default();
        let limited = |id: &str| KeyGrant { domain_rate_limit: Some(3), ..grant(1, id) };
        let count = |key: &KeyGrant| limiter.count(key, 1500, UnixMillis(0));
        let left: Vec<u32> =
            ["a", "b", "a"].map(|id| count(&limited(id))).map(|quota| quota.remaining).to_vec();
        assert_eq!(left, [2, 1, 0]);
        let refused = count(&limited("b"));
        assert!(refused.refused && refused.of_domain);
        assert_eq!(refused.limit, 3);
        assert_eq!(refused.refusal().map(|problem| problem.status()), Some(429));
        assert!(!count(&grant(2, "a")).refused, "another domain");
        let of_key = limiter.count(&limited("c"), 1, UnixMillis(70_000));
        assert_eq!((of_key.limit, of_key.remaining), (1, 0), "the lower limit is shown");
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = RateLimiter::default();
        for n in 0..WINDOWS_MAX as i64 + 10 {
            at(&limiter, &grant(n, "a"), n / 10);
        }
        assert!(limiter.windows.lock().len() <= WINDOWS_MAX);
    }
}
