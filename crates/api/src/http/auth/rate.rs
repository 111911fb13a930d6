//! The limit on the requests of a key, the limit of a domain on the requests of all its keys, and
//! the limit of an address on wrong sign-ins: a number in each window of [`WINDOW_SECONDS`],
//! counted by this process alone and in memory. A window begins with the first request after the
//! end of the previous one. A server that restarts counts from zero.
//!
//! The headers are those that clients of the API family read, and the `RateLimit` fields of the
//! IETF draft (draft-ietf-httpapi-ratelimit-headers).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

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
/// The wrong sign-ins of an address in a window.
const WRONG_SIGN_INS_MAX: u32 = 10;
/// The most keys, domains and addresses that are counted at a time. If there are more, the counts
/// of addresses start again from zero. Operators create keys, so keys alone are rarely so many; if
/// they are, all counts start again.
const WINDOWS_MAX: usize = 100_000;
/// The limit and the remaining requests that a server without a limit reports. Clients of the API
/// family read both as 32-bit integers, and stop if they are missing.
const NO_LIMIT: u32 = i32::MAX as u32;

const X_LIMIT: HeaderName = HeaderName::from_static("x-rate-limit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-rate-limit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-rate-limit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The requests of each one that is counted, in its current window.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    windows: Mutex<HashMap<Counted, Window>>,
}

/// Whose requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Counted {
    Key(DomainId, String),
    Domain(DomainId),
    /// The wrong sign-ins of an address.
    Address(IpAddr),
}

#[derive(Debug, Clone, Copy)]
struct Window {
    ends_at: UnixMillis,
    used: u32,
}

/// The quota of a key at one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
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
    pub(crate) fn count(&self, grant: &KeyGrant, limit: u32, now: UnixMillis) -> Quota {
        let key = Counted::Key(grant.domain, grant.key.id.clone());
        let of_key = self.count_one(key, 1, limit, now);
        let Some(limit) = grant.domain_rate_limit.filter(|_| !of_key.refused) else {
            return of_key;
        };
        let of_domain = self.count_one(Counted::Domain(grant.domain), 1, limit.max(1), now);
        let of_domain = Quota { of_domain: true, ..of_domain };
        if of_domain.refused || of_domain.remaining < of_key.remaining { of_domain } else { of_key }
    }

    /// Counts a wrong sign-in.
    pub(crate) fn count_wrong_sign_in(&self, address: IpAddr, now: UnixMillis) {
        self.count_one(Counted::address(address), 1, WRONG_SIGN_INS_MAX, now);
    }

    /// Refuses a sign-in from an address with too many wrong ones.
    pub(crate) fn check_sign_in(&self, address: IpAddr, now: UnixMillis) -> Result<(), Problem> {
        let quota = self.count_one(Counted::address(address), 0, WRONG_SIGN_INS_MAX, now);
        if !quota.refused {
            return Ok(());
        }
        Err(quota.problem(ErrorCode::RateLimited, "address of this request", "wrong sign-ins"))
    }

    /// Counts `more` requests, unless the limit is reached.
    fn count_one(&self, counted: Counted, more: u32, limit: u32, now: UnixMillis) -> Quota {
        if limit == 0 {
            return Quota::unused(limit, now);
        }
        let mut windows = self.windows.lock();
        if windows.len() >= WINDOWS_MAX && !windows.contains_key(&counted) {
            windows.retain(|_, window| window.is_open(now));
            if windows.len() >= WINDOWS_MAX {
                windows.retain(|counted, _| !matches!(counted, Counted::Address(_)));
            }
            if windows.len() >= WINDOWS_MAX {
                windows.clear();
            }
        }
        let new = Window { ends_at: UnixMillis(now.0 + WINDOW_SECONDS * 1000), used: 0 };
        let window = windows.entry(counted).or_insert(new);
        if !window.is_open(now) {
            *window = new;
        }
        let refused = window.used >= limit;
        if !refused {
            window.used += more;
        }
        let remaining = limit.saturating_sub(window.used);
        Quota { limit, remaining, refused, of_domain: false, now, resets_at: window.ends_at }
    }
}

impl Counted {
    /// A client with IPv6 has a whole network of addresses.
    fn address(address: IpAddr) -> Self {
        Self::Address(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        })
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

    /// The quota of a key that has no request left for a second.
    pub(crate) const fn used_up(now: UnixMillis) -> Self {
        let resets_at = UnixMillis(now.0 + 1000);
        Self { limit: 1, remaining: 0, refused: true, of_domain: false, now, resets_at }
    }

    /// The refusal, if the request exceeds the limit.
    pub(crate) fn refusal(&self) -> Option<Problem> {
        if !self.refused {
            return None;
        }
        let (whose, code) = if self.of_domain {
            ("domain, with all its API keys,", ErrorCode::QuotaExceeded)
        } else {
            ("API key", ErrorCode::RateLimited)
        };
        Some(self.problem(code, whose, "requests"))
    }

    fn problem(&self, code: ErrorCode, whose: &str, what: &str) -> Problem {
        let civil = UnixMillis(self.resets_at.0.saturating_add(999)).civil();
        let detail = format!(
            "the {whose} may make {} {what} in {WINDOW_SECONDS} s and has made them; retry after \
             {:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
            self.limit, civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        );
        Problem::new(code, detail).retry_after(self.seconds_left())
    }

    /// Adds the headers that describe the quota.
    pub(crate) fn add_headers(&self, response: &mut Response) {
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
    fn an_address_makes_ten_wrong_sign_ins_in_a_window() {
        let limiter = RateLimiter::default();
        let refused = |address: &str, now| {
            let address = address.parse().expect("an address");
            limiter.check_sign_in(address, UnixMillis(now)).is_err_and(|it| it.status() == 429)
        };
        for now in 0..10 {
            assert!(!refused("192.0.2.1", now) && !refused("2001:db8::1", now), "{now}");
            limiter.count_wrong_sign_in([192, 0, 2, 1].into(), UnixMillis(now));
            let v6 = format!("2001:db8::{now}").parse().expect("an address");
            limiter.count_wrong_sign_in(v6, UnixMillis(now));
        }
        assert!(refused("192.0.2.1", 59_999) && !refused("192.0.2.2", 59_999));
        assert!(refused("2001:db8::ffff", 59_999) && !refused("2001:db8:0:1::1", 59_999));
        assert!(!refused("192.0.2.1", 60_000));
    }

    #[test]
    fn memory_is_bounded_and_no_number_of_addresses_resets_the_count_of_a_key() {
        let limiter = RateLimiter::default();
        for _ in 0..3 {
            at(&limiter, &grant(-1, "a"), 0);
        }
        for n in 0..WINDOWS_MAX as u32 + 10 {
            limiter.count_wrong_sign_in(IpAddr::from(n.to_be_bytes()), UnixMillis(0));
        }
        assert!(limiter.windows.lock().len() <= WINDOWS_MAX);
        assert_eq!(at(&limiter, &grant(-1, "a"), 0), None);
        for n in 0..WINDOWS_MAX as i64 + 10 {
            at(&limiter, &grant(n, "a"), n / 10);
        }
        assert!(limiter.windows.lock().len() <= WINDOWS_MAX);
    }
}
