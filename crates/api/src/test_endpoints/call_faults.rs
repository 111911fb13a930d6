//! The faults of calls: which calls they match, how often they act, and the answers that take the
//! place of the application's. The connection is cut in [`super::cut`].

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::time::UnixMillis;
use http::{Method, StatusCode};

use crate::http::auth::Quota;
use crate::http::problem::Problem;

/// What happens to a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// It is answered so, and does not reach the application.
    Status(StatusCode),
    /// It waits before it reaches the application.
    Delay(Duration),
    /// The head of its answer is sent, and a part of the body.
    CutBody,
    /// The application does it, and nothing is answered.
    LoseAnswer,
}

/// How often a fault acts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Uses {
    Times(u32),
    /// Of each matching call, this share. It is exact and not random, so that a test meets the same
    /// calls each time: a quarter is every fourth call.
    Share {
        each: f64,
        sum: f64,
    },
}

/// A fault of the calls that match.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallFault {
    pub(super) method: Option<Method>,
    /// See [`matches`].
    pub(super) path: Option<String>,
    pub(super) uses: Uses,
    pub(super) effect: Effect,
}

impl CallFault {
    /// The effect on this call, if it is one of those that meet the fault.
    pub(super) fn take(&mut self, method: &Method, path: &str) -> Option<Effect> {
        let fits = self.method.as_ref().is_none_or(|wanted| wanted == method)
            && self
                .path
                .as_ref()
                .is_none_or(|pattern| matches(pattern.as_bytes(), path.as_bytes()));
        let acts = fits
            && match &mut self.uses {
                Uses::Times(left) => {
                    *left = left.saturating_sub(1);
                    true
                }
                Uses::Share { each, sum } => {
                    *sum += *each;
                    // Ten tenths are a little less than one.
                    let acts = *sum > 1.0 - 1e-9;
                    *sum -= f64::from(u8::from(acts));
                    acts
                }
            };
        acts.then(|| self.effect.clone())
    }

    pub(super) const fn is_used_up(&self) -> bool {
        matches!(self.uses, Uses::Times(0))
    }
}

/// Whether a path fits a pattern, in which `*` fits any characters and `{name}` those of one
/// segment.
pub(super) fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let mut rest = pattern;
    // The positions of the path that the pattern so far can end at.
    let mut ends = vec![false; path.len() + 1];
    ends[0] = true;
    while let Some((first, after)) = rest.split_first() {
        let name = after.iter().position(|byte| *byte == b'}').filter(|_| *first == b'{');
        let mut next = vec![false; path.len() + 1];
        for from in (0..=path.len()).filter(|from| ends[*from]) {
            let reach = match (first, name) {
                (b'*', _) => from..=path.len(),
                (_, Some(_)) => {
                    let segment = path[from..].iter().take_while(|byte| **byte != b'/').count();
                    from + 1..=from + segment
                }
                _ if path.get(from) == Some(first) => from + 1..=from + 1,
                _ => continue,
            };
            next[reach].fill(true);
        }
        ends = next;
        rest = name.map_or(after, |end| &after[end + 1..]);
    }
    ends[path.len()]
}

/// The answer with a status, as the server or a proxy in front of it would give it.
pub(super) fn refusal(id: &str, status: StatusCode, now: UnixMillis) -> Response {
    let detail = format!("the fault {id} of this test server answers so");
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            let quota = Quota::used_up(now);
            let problem = Problem::new(ErrorCode::RateLimited, detail).retry_after(1);
            let mut response = problem.into_response();
            quota.add_headers(&mut response);
            response
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            Problem::new(ErrorCode::Unavailable, detail).retry_after(1).into_response()
        }
        // The server never says this; a proxy does, in words of its own.
        StatusCode::BAD_GATEWAY => (status, "Bad Gateway\n").into_response(),
        _ => Problem::new(ErrorCode::Internal, detail).into_response(),
    }
}
