//! `GET /metrics`: figures of this process and its store in the text format of Prometheus. Routes
//! are named by their templates, so that no name of a domain and no id of a record ever stands in
//! them, and so that there are few. A counter by hand is less than the crates that would count, and
//! unlike theirs it belongs to one server and not to the process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use caseload_store::{CompletedTasks, DURATION_BOUNDS_SECONDS, DurationCounts, StoreMetrics};
use http::{Method, header};
use tokio::time::Instant;

use crate::AppState;

/// How long the store may take for its figures.
const STORE_SECONDS_MAX: u64 = 2;

/// What was counted since the server started.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    requests: Mutex<BTreeMap<Kind, DurationCounts>>,
}

/// A route, its method and the class of its answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    route: String,
    method: &'static str,
    status: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { started: Instant::now(), requests: Mutex::default() }
    }
}

impl Metrics {
    fn add(&self, kind: Kind, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.entry(kind).or_default().add(took);
    }

    fn write(&self, out: &mut Text) {
        out.head("caseload_build_info", "gauge", "The version of the program.");
        let version = env!("CARGO_PKG_VERSION");
        out.line("caseload_build_info", &format!("version=\"{version}\""), 1);
        out.head("caseload_uptime_seconds", "gauge", "Time since the server started.");
        out.line("caseload_uptime_seconds", "", self.started.elapsed().as_secs_f64());
        let name = "caseload_http_request_duration_seconds";
        out.head(name, "histogram", "Requests by the time from their head to that of the answer.");
        for (kind, times) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let Kind { route, method, status } = kind;
            let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
            out.histogram(name, &labels, times);
        }
    }
}

/// A request on its way. It is counted when this is dropped, so that a handler that panics and a
/// caller that leaves are counted too.
struct Ongoing {
    state: AppState,
    route: String,
    method: &'static str,
    begun: Instant,
    status: Option<&'static str>,
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        let unanswered = if std::thread::panicking() { "5xx" } else { "left" };
        let status = self.status.unwrap_or(unanswered);
        let kind = Kind { route: std::mem::take(&mut self.route), method: self.method, status };
        self.state.metrics.add(kind, self.begun.elapsed());
    }
}

/// Counts the requests of all routes.
pub(crate) async fn count(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str);
    let mut ongoing = Ongoing {
        state,
        route: route.to_owned(),
        method: method(request.method()),
        begun: Instant::now(),
        status: None,
    };
    let response = next.run(request).await;
    ongoing.status = Some(match response.status().as_u16() {
        ..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500.. => "5xx",
    });
    response
}

/// Methods are callers' words: those that no route has are one.
fn method(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// `GET /metrics`
pub(crate) async fn metrics(State(state): State<AppState>) -> Response {
    let mut out = Text::default();
    state.metrics.write(&mut out);
    let limit = Duration::from_secs(STORE_SECONDS_MAX);
    let store = tokio::time::timeout(limit, state.store.metrics()).await;
    out.head("caseload_store_up", "gauge", "Whether the store answered.");
    match store {
        Ok(Ok(figures)) => {
            out.line("caseload_store_up", "", 1);
            write_store(&figures, &mut out);
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the store gives no figures");
            out.line("caseload_store_up", "", 0);
        }
        Err(_) => out.line("caseload_store_up", "", 0),
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], out.0).into_response()
}

fn write_store(figures: &StoreMetrics, out: &mut Text) {
    for (name, kind, help, value) in [
        ("store_commits_total", "counter", "Transactions committed.", figures.commits),
        ("store_log_bytes", "gauge", "Log of writes, on disk.", figures.log_bytes),
        ("store_database_bytes", "gauge", "Database, on disk.", figures.database_bytes),
        ("tasks_waiting", "gauge", "Tasks that wait for a server.", figures.tasks_waiting),
        ("tasks_running", "gauge", "Tasks that a server works on.", figures.tasks_running),
    ] {
        let name = format!("caseload_{name}");
        out.head(&name, kind, help);
        out.line(&name, "", value);
    }
    let writes = "caseload_store_write_duration_seconds";
    let help = "Small writes, from their place in the queue until they were durable.";
    out.head(writes, "histogram", help);
    out.histogram(writes, "", &figures.writes);
    let tasks = "caseload_tasks_completed_total";
    out.head(tasks, "counter", "Tasks completed by this process.");
    for one in &figures.completed {
        let outcome = one.outcome.as_str();
        let labels = format!("action=\"{}\",outcome=\"{outcome}\"", one.action.as_str());
        out.line(tasks, &labels, one.tasks);
    }
    let entries = "caseload_entries_total";
    out.head(entries, "counter", "Entries of the tasks completed, by what became of them.");
    let mut by_action = BTreeMap::<_, [u64; 3]>::new();
    for CompletedTasks { action, succeeded, failed, unprocessed, .. } in &figures.completed {
        let sums = by_action.entry(action.as_str()).or_default();
        for (sum, more) in sums.iter_mut().zip([succeeded, failed, unprocessed]) {
            *sum += more;
        }
    }
    for (action, sums) in by_action {
        for (result, sum) in ["succeeded", "failed", "unprocessed"].into_iter().zip(sums) {
            out.line(entries, &format!("action=\"{action}\",result=\"{result}\""), sum);
        }
    }
}

/// A text in the making. Labels are words of our own and need no escapes.
#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn histogram(&mut self, name: &str, labels: &str, times: &DurationCounts) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket = format!("{name}_bucket");
        for (count, bound) in times.within.iter().zip(DURATION_BOUNDS_SECONDS) {
            self.line(&bucket, &format!("{labels}{comma}le=\"{bound}\""), count);
        }
        self.line(&bucket, &format!("{labels}{comma}le=\"+Inf\""), times.count);
        self.line(&format!("{name}_sum"), labels, times.total.as_secs_f64());
        self.line(&format!("{name}_count"), labels, times.count);
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }
}
