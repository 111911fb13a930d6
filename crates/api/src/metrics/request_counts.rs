//! The requests that this server has answered, counted by route. A route is named by its template:
//! then no domain name and no record id becomes a label, and there are few labels.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use caseload_store::DurationCounts;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::text::MetricsText;
use crate::http::refusal::Refusal;

/// Requests since the server started.
#[derive(Debug)]
pub(crate) struct RequestCounts {
    started: Instant,
    requests: Mutex<BTreeMap<RequestLabels, DurationCounts>>,
    refused: [AtomicU64; Refusal::ALL.len()],
}

/// A route, its method and the status class of the answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestLabels {
    pub(super) route: String,
    pub(super) method: &'static str,
    pub(super) status: &'static str,
}

impl Default for RequestCounts {
    fn default() -> Self {
        Self { started: Instant::now(), requests: Mutex::default(), refused: Default::default() }
    }
}

impl RequestCounts {
    pub(super) fn add(&self, kind: RequestLabels, took: Duration) {
        let mut requests = self.requests.lock();
        requests.entry(kind).or_default().add(took);
    }

    /// Counts a request that hyper could not parse. Its route and its method are not known.
    pub(crate) fn add_unreadable(&self) {
        let route = "other".to_owned();
        let labels = RequestLabels { route, method: "other", status: "4xx" };
        self.add(labels, Duration::ZERO);
    }

    /// Counts a request that was refused because of a limit.
    pub(crate) fn add_refused(&self, reason: Refusal) {
        self.refused[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn write(&self, out: &mut MetricsText) {
        out.head("caseload_build_info", "gauge", "The version of the program.");
        let version = env!("CARGO_PKG_VERSION");
        out.line("caseload_build_info", &format!("version=\"{version}\""), 1);
        out.head("caseload_uptime_seconds", "gauge", "Time since the server started.");
        out.line("caseload_uptime_seconds", "", self.started.elapsed().as_secs_f64());
        let name = "caseload_http_request_duration_seconds";
        out.head(name, "histogram", "Requests by the time from their head to that of the answer.");
        for (kind, times) in &*self.requests.lock() {
            let RequestLabels { route, method, status } = kind;
            let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
            out.histogram(name, &labels, times);
        }
        let name = "caseload_http_requests_refused_total";
        out.head(name, "counter", "Requests refused because of a limit, with 429 or 503.");
        for (reason, count) in Refusal::ALL.iter().zip(&self.refused) {
            let labels = format!("reason=\"{}\"", reason.as_str());
            out.line(name, &labels, count.load(Ordering::Relaxed));
        }
    }
}
