//! `GET …/bulk_actions/{task_id}` and `GET …/imports/{import_id}`: the record at once,
//! after a wait, or as a stream of events, one per change. A caller that waits always receives a
//! record: the completed one, or the current one when the time is up or the server stops.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use caseload_model::change::WAIT_SECONDS_MAX;
use caseload_model::error_code::ErrorCode;
use futures_util::{Stream, stream};
use http::{HeaderMap, header};

use super::followed_tasks::TaskFollower;
use super::path::OwnTask;
use crate::http::accept::Accept;
use crate::http::base_url::BaseUrl;
use crate::http::connection::LongAnswer;
use crate::http::follower::KEEP_ALIVE_SECONDS;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::imports::View;
use crate::state::AppState;

/// The query parameters of the call.
pub(crate) const PARAMETERS: [&str; 1] = ["wait"];

pub(crate) async fn status(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
    base: BaseUrl,
) -> Result<Response, Problem> {
    let wait = wait(&query)?;
    let OwnTask { caller, subject } = own;
    if wants_events(&headers) {
        let events = Sse::new(events(TaskFollower::new(&state, &caller, subject), base));
        let alive = KeepAlive::new().interval(Duration::from_secs(KEEP_ALIVE_SECONDS));
        let mut response = ([(header::VARY, "Accept")], events.keep_alive(alive)).into_response();
        response.extensions_mut().insert(LongAnswer);
        return Ok(response);
    }
    let domain = caller.domain_name.clone();
    let subject = if wait.is_zero() {
        subject
    } else {
        let mut follower = TaskFollower::new(&state, &caller, subject);
        let completed = async {
            while follower.advance().await? {}
            Ok::<_, Problem>(())
        };
        tokio::time::timeout(wait, completed).await.unwrap_or(Ok(()))?;
        follower.subject
    };
    let view = View::new(&subject, &domain, &base);
    Ok(([(header::VARY, "Accept")], Json(view)).into_response())
}

fn wait(query: &QueryPairs) -> Result<Duration, Problem> {
    let ([given], mut faults) = query.only(PARAMETERS);
    let digits = given.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let seconds = digits.and_then(|text| text.parse().ok()).filter(|s| *s <= WAIT_SECONDS_MAX);
    if let (Some(given), None) = (given, seconds) {
        let shown: String = given.chars().take(100).collect();
        let detail = format!("wait is 0 to {WAIT_SECONDS_MAX} whole seconds, not {shown:?}");
        faults.push(Fault::parameter("wait", ErrorCode::InvalidValue, detail));
    }
    Problem::check(faults)?;
    Ok(Duration::from_secs(seconds.unwrap_or(0)))
}

/// Whether the caller prefers events to one record.
fn wants_events(headers: &HeaderMap) -> bool {
    let offers: [&[&str]; 2] = [&["application/json"], &["text/event-stream"]];
    Accept::of(headers).preferred(&offers).0 == 1
}

/// The current record, then each later one.
fn events(
    follower: TaskFollower,
    base: BaseUrl,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold((follower, base, true), |(mut follower, base, is_first)| async move {
        if !is_first && !follower.advance().await.unwrap_or(false) {
            return None;
        }
        let view = View::new(&follower.subject, &follower.domain_name, &base);
        let event = Event::default().data(serde_json::to_string(&view).unwrap_or_default());
        Some((Ok(event), (follower, base, false)))
    })
}
