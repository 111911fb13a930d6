//! `GET /v1/{domain}/changes`: a page of the log, at once or once it has a change; all of it as
//! lines; or its tail as events.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::change::{ChangeRequest, parse_changes, parse_place};
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, header};
use tokio::time::{Instant, timeout_at};

use super::reader::{Form, LogReader, Portion};
use super::stream::{self, EVENTS};
use crate::http::accept::Accept;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::format::LINES;
use crate::http::memory::WAIT;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::state::AppState;

const JSON: &str = "application/json";
/// The header with which a browser continues a stream of events.
const LAST_EVENT_ID: &str = "Last-Event-ID";

pub(crate) async fn get(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let (form, content_type, mut request) = accepted(&query, &headers)?;
    let mut named_by = "cursor";
    if form == Form::Events
        && let Some(id) = headers.get(LAST_EVENT_ID)
    {
        named_by = LAST_EVENT_ID;
        let place = parse_place(id.to_str().unwrap_or("?"));
        request.from = place.map_err(|detail| {
            Problem::faults(vec![Fault::parameter(named_by, ErrorCode::InvalidValue, detail)])
        })?;
    }
    let mut reader = LogReader { state, caller, base, request, form, after: 0 };
    reader.begin(named_by).await?;
    match form {
        Form::Commas => page(reader).await,
        Form::Lines => stream::lines(reader, content_type).await,
        Form::Events => Ok(stream::events(reader)),
    }
}

/// The form of the answer with its media type, and the request.
fn accepted(
    query: &QueryPairs,
    headers: &HeaderMap,
) -> Result<(Form, &'static str, ChangeRequest), Problem> {
    let (form, content_type, unknown) = chosen(query, headers);
    let mut faults: Vec<Fault> = unknown.into_iter().collect();
    let request = parse_changes(&query.0)
        .map_err(|wrong| faults.extend(wrong.into_iter().map(Fault::from)))
        .unwrap_or_default();
    if form != Form::Commas && request.wait_seconds > 0 {
        let detail = "wait is for a page; leave it out of a stream: lines end with the log, and \
                      events go on as changes are committed";
        faults.push(Fault::parameter("wait", ErrorCode::ConflictingParameter, detail));
    }
    Problem::check(faults)?;
    Ok((form, content_type, request))
}

/// The form that the caller chose, and the fault of an unknown one.
fn chosen(query: &QueryPairs, headers: &HeaderMap) -> (Form, &'static str, Option<Fault>) {
    let offers: [&[&str]; 3] = [&[JSON], &LINES, &[EVENTS]];
    match query.first("format") {
        None => {
            let (at, content_type) = Accept::of(headers).preferred(&offers);
            ([Form::Commas, Form::Lines, Form::Events][at], content_type, None)
        }
        Some("json") => (Form::Commas, JSON, None),
        Some("jsonl" | "ndjson") => (Form::Lines, LINES[0], None),
        Some(other) => {
            let shown: String = other.chars().take(100).collect();
            let detail = format!("the log has no format {shown:?}; accepted: json, jsonl, ndjson");
            let fault = Fault::parameter("format", ErrorCode::InvalidValue, detail);
            (Form::Commas, JSON, Some(fault))
        }
    }
}

/// The changes after the place of the request. If there are none, the answer waits for one.
async fn page(mut reader: LogReader) -> Result<Response, Problem> {
    let wait = Duration::from_secs(reader.request.wait_seconds);
    let deadline = Instant::now() + wait;
    let mut follower = (!wait.is_zero()).then(|| reader.follower());
    let mut seen = reader.end();
    loop {
        let portion = reader.portion(WAIT).await?;
        let Some(follower) = follower.as_mut().filter(|_| portion.count == 0) else {
            return Ok(envelope(&reader, portion));
        };
        if portion.moved && Instant::now() < deadline {
            // None of many matched.
            continue;
        }
        seen = seen.max(reader.end());
        match timeout_at(deadline, follower.later_than(&seen)).await {
            Ok(end) => match end? {
                Some(end) => seen = end,
                None => return Ok(envelope(&reader, portion)),
            },
            Err(_) => return Ok(envelope(&reader, portion)),
        }
    }
}

fn envelope(reader: &LogReader, portion: Portion) -> Response {
    let Portion { bytes, memory, .. } = portion;
    let end = format!("],\"next-cursor\":\"{}\"}}", reader.after);
    let body = [b"{\"changes\":[", bytes.as_slice(), end.as_bytes()].concat();
    let headers = [(header::CONTENT_TYPE, JSON), (header::VARY, "Accept")];
    (headers, memory.hold(body)).into_response()
}
