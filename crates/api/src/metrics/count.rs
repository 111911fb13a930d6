//! The middleware that counts requests. It runs for every route, with or without a key.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use super::request_counts::RequestLabels;
use crate::http::access_log::Facts;
use crate::http::current_request::method_name;
use crate::state::AppState;

/// A request that is being answered. Dropping the timer counts the request, so that it is counted
/// even if the handler panics or the caller disconnects.
struct RequestTimer {
    state: AppState,
    route: String,
    method: &'static str,
    begun: Instant,
    status: Option<&'static str>,
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        let unanswered = if std::thread::panicking() { "5xx" } else { "left" };
        let status = self.status.unwrap_or(unanswered);
        let labels =
            RequestLabels { route: std::mem::take(&mut self.route), method: self.method, status };
        self.state.request_counts.add(labels, self.begun.elapsed());
    }
}

/// Counts the requests of all routes.
pub(crate) async fn count(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str);
    Facts::note_route(&request);
    let mut timer = RequestTimer {
        state,
        route: route.to_owned(),
        method: method_name(request.method()),
        begun: Instant::now(),
        status: None,
    };
    let response = next.run(request).await;
    timer.status = Some(match response.status().as_u16() {
        ..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500.. => "5xx",
    });
    response
}
