//! `GET /metrics`: the figures of this process and of its store.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_store::{CompletedTasks, StoreMetrics, WebhookCounts};
use http::{HeaderMap, header};

use super::text::MetricsText;
use crate::http::auth::require_any_key;
use crate::http::base_url::{BaseUrl, TrustedProxies};
use crate::http::peer::PeerAddress;
use crate::http::problem::Problem;
use crate::http::tls::Tls;
use crate::state::AppState;

/// Headers that a proxy adds.
const FORWARDED: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/// How long the store may take for its figures.
const STORE_SECONDS_MAX: u64 = 2;

/// `GET /metrics`: with a key, or from this machine under a name of its own.
pub(crate) async fn get(
    State(state): State<AppState>,
    peer: Option<Extension<PeerAddress>>,
    base: BaseUrl,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if state.config.has_admin_address {
        let detail = "the metrics have an address of their own; the operator has set it with \
                      --admin-listen";
        return Err(Problem::new(ErrorCode::NotFound, detail));
    }
    // A proxy on this machine passes on the requests of others, and a browser on it sends those of
    // a foreign page whose name leads here.
    let config = &state.config;
    let has_proxy = config.public_url.is_some()
        || config.trusted_proxies != TrustedProxies::default()
        || FORWARDED.iter().any(|name| headers.contains_key(*name));
    let is_near = peer.is_some_and(|Extension(peer)| peer.0.is_loopback()) && base.is_loopback();
    if has_proxy || !is_near {
        require_any_key(&state, &headers).await?;
    }
    Ok(get_open(State(state)).await)
}

/// `GET /metrics` at the address for operators.
pub(crate) async fn get_open(State(state): State<AppState>) -> Response {
    let mut out = MetricsText::default();
    state.request_counts.write(&mut out);
    write_room(&state, &mut out);
    if let Some(counts) = &state.webhook_counts {
        write_webhooks(&counts(), &mut out);
    }
    let limit = Duration::from_secs(STORE_SECONDS_MAX);
    let store = tokio::time::timeout(limit, state.store.metrics()).await;
    out.head("caseload_store_up", "gauge", "Whether the store answered.");
    match store {
        Ok(Ok(figures)) => {
            out.line("caseload_store_up", "", 1);
            write_store(&figures, &mut out);
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the store has no figures");
            out.line("caseload_store_up", "", 0);
        }
        Err(_) => out.line("caseload_store_up", "", 0),
    }
    let headers = [
        (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, out.0).into_response()
}

/// How full the server is, and whether its certificate follows its files.
fn write_room(state: &AppState, out: &mut MetricsText) {
    let (open, open_max) = state.slots.open_and_max();
    let (used, budget) = state.memory.used_and_budget();
    let failures = state.config.tls.as_ref().map_or(0, Tls::reload_failures);
    for (name, kind, help, value) in [
        ("http_connections", "gauge", "Connections of callers.", open as u64),
        ("http_connections_max", "gauge", "The most connections at a time.", open_max as u64),
        ("memory_budget_used_bytes", "gauge", "Memory of connections and requests.", used as u64),
        ("memory_budget_bytes", "gauge", "The most memory for them.", budget as u64),
        ("tls_reload_failures_total", "counter", "New certificates that are unusable.", failures),
    ] {
        let name = format!("caseload_{name}");
        out.head(&name, kind, help);
        out.line(&name, "", value);
    }
}

fn write_webhooks(counts: &WebhookCounts, out: &mut MetricsText) {
    let WebhookCounts { succeeded, failed, changes, paused, in_flight } = *counts;
    let deliveries = "caseload_webhook_deliveries_total";
    out.head(deliveries, "counter", "Deliveries of webhooks that this process sent.");
    for (result, count) in [("succeeded", succeeded), ("failed", failed)] {
        out.line(deliveries, &format!("result=\"{result}\""), count);
    }
    for (name, kind, help, value) in [
        ("webhook_changes_total", "counter", "Changes in deliveries that succeeded.", changes),
        ("webhook_pauses_total", "counter", "Webhooks that this process paused.", paused),
        ("webhook_deliveries_in_flight", "gauge", "Deliveries without an answer yet.", in_flight),
    ] {
        let name = format!("caseload_{name}");
        out.head(&name, kind, help);
        out.line(&name, "", value);
    }
}

fn write_store(figures: &StoreMetrics, out: &mut MetricsText) {
    let delayed = figures.tasks_delayed;
    let free = figures
        .disk_free_bytes
        .map(|bytes| ("store_disk_free_bytes", "gauge", "Free on the disk of the store.", bytes));
    let known = [
        ("store_commits_total", "counter", "Transactions committed.", figures.commits),
        ("store_log_bytes", "gauge", "Log of writes, on disk.", figures.log_bytes),
        ("store_database_bytes", "gauge", "Database, on disk.", figures.database_bytes),
        ("tasks_waiting", "gauge", "Tasks that wait for a server.", figures.tasks_waiting),
        ("tasks_running", "gauge", "Tasks that a server works on.", figures.tasks_running),
        (
            "webhooks_waiting",
            "gauge",
            "Webhooks with changes to deliver.",
            figures.webhooks_waiting,
        ),
        ("webhooks_paused", "gauge", "Webhooks that are paused.", figures.webhooks_paused),
        ("store_servers", "gauge", "Servers that have the store open.", figures.servers),
        ("tasks_delayed", "gauge", "Waiting tasks whose server died or failed.", delayed),
    ];
    for (name, kind, help, value) in known.into_iter().chain(free) {
        let name = format!("caseload_{name}");
        out.head(&name, kind, help);
        out.line(&name, "", value);
    }
    let writes = "caseload_store_write_duration_seconds";
    let help = "Small writes, from entering the queue until they were durable.";
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
    out.head(entries, "counter", "Entries of completed tasks, by outcome.");
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
