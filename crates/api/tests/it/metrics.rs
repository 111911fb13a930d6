//! `GET /metrics`: the counters, the text format, and that the text contains no data of a domain.

use std::collections::HashMap;

use caseload_api::ApiConfig;
use caseload_store::StoreError;
use caseload_teststore::{Backend, on_each_store};
use reqwest::Method;

use crate::real_server::RealServer;
use crate::server::{OTHER, Server, WRITE};

on_each_store!(tasks_entries_and_commits_are_counted, waiting_tasks_are_counted,);

/// Values by name and labels. Every line that is not a comment is one value.
fn figures(text: &str) -> HashMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let figure = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    let all: Vec<_> = lines.map(figure).collect();
    let count = all.len();
    let figures: HashMap<_, _> = all.into_iter().collect();
    assert_eq!(figures.len(), count, "each value has one line");
    for name in figures.keys() {
        let name = name.split('{').next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let typed = |name: &str| text.contains(&format!("# TYPE {name} "));
        assert!(typed(name) || family.is_some_and(typed), "{name} has a type");
    }
    figures
}

async fn scrape(server: &Server) -> String {
    let answer = server.bare(Method::GET, "/metrics").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    answer.text().await.unwrap()
}

fn requests(route: &str, method: &str, status: &str) -> String {
    let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
    format!("caseload_http_request_duration_seconds_count{{{labels}}}")
}

#[tokio::test]
async fn requests_are_counted_by_route_method_and_class() {
    let server = Server::start().await;
    for path in ["/v1/acme/issues", "/v1/acme/issues/", "/v1/acme/issues?x=1", "/nothing/at/all"] {
        server.get(path).await;
    }
    server.bare(Method::GET, "/v1/other/issues").bearer_auth(OTHER).send().await.unwrap();
    server.bare(Method::GET, "/v1/acme/issues").send().await.unwrap();
    server.request(Method::from_bytes(b"BREW").unwrap(), "/v1/acme/issues").send().await.unwrap();
    server.store.fail(|| panic!("words"));
    server.get("/v1/acme/issues").await;
    let found = figures(&scrape(&server).await);
    let list = "/v1/{domain}/issues";
    for (name, count) in [
        (requests(list, "GET", "2xx"), 3.0),
        (requests(list, "GET", "4xx"), 2.0),
        (requests(list, "GET", "5xx"), 1.0),
        (requests(list, "other", "4xx"), 1.0),
        (requests("other", "GET", "4xx"), 1.0),
    ] {
        assert_eq!(found.get(&name), Some(&count), "{name}");
    }
    let bucket = requests(list, "GET", "2xx").replace("_count", "_bucket");
    let within = |bound: &str| found[&bucket.replace("2xx\"}", &format!("2xx\",le=\"{bound}\"}}"))];
    assert_eq!((within("60"), within("+Inf")), (3.0, 3.0), "buckets add up");
    assert!(within("0.001") <= within("0.5"));
}

#[tokio::test]
async fn refused_requests_are_counted_by_the_limit_that_they_met() {
    let config = ApiConfig { rate_limit: 4, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    server.get("/v1/acme/issues").await;
    server.store.fail(|| StoreError::NoMemory);
    server.get("/v1/acme/issues").await;
    server.store.fail(|| StoreError::Closed);
    server.get("/v1/acme/issues").await;
    server.store.fail(|| StoreError::DeadlinePassed);
    for _ in 0..3 {
        server.get("/v1/acme/issues").await;
    }
    let found = figures(&scrape(&server).await);
    let refused =
        |reason| found[&format!("caseload_http_requests_refused_total{{reason=\"{reason}\"}}")];
    for (reason, count) in [
        ("rate", 2.0),
        ("quota", 0.0),
        ("queue", 0.0),
        ("memory", 1.0),
        ("connections", 0.0),
        ("deadline", 1.0),
        ("unavailable", 1.0),
    ] {
        assert!((refused(reason) - count).abs() < f64::EPSILON, "{reason}: {}", refused(reason));
    }
}

#[tokio::test]
async fn connections_and_memory_are_shown_with_their_limits() {
    let config = ApiConfig { memory_bytes: 64 << 20, connections_max: 100, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let found = figures(&scrape(&server).await);
    assert_eq!(found.get("caseload_http_connections_max"), Some(&100.0));
    assert_eq!(found.get("caseload_memory_budget_bytes"), Some(&f64::from(64 << 20)));
    assert_eq!(found.get("caseload_tls_reload_failures_total"), Some(&0.0));
    let (open, used) =
        (found["caseload_http_connections"], found["caseload_memory_budget_used_bytes"]);
    assert!((1.0..=9.0).contains(&open), "{open}");
    assert!((24_576.0..1e6).contains(&used), "{used}");
}

#[tokio::test]
async fn metrics_show_no_data_of_a_domain() {
    let server = Server::start().await;
    for path in
        ["/v1/acme/issues/471147114711", "/v2/acme/identity/bulk_actions/secret-id", "/acme"]
    {
        server.get(path).await;
    }
    let text = scrape(&server).await;
    for word in ["acme", "471147114711", "secret-id", WRITE] {
        assert!(!text.contains(word), "{word} is in {text}");
    }
}

#[tokio::test]
async fn the_metrics_of_the_process_do_not_need_the_store() {
    let server = Server::start().await;
    let found = figures(&scrape(&server).await);
    assert_eq!(found.get("caseload_store_up"), Some(&0.0));
    assert!(found["caseload_uptime_seconds"] >= 0.0);
    let build = format!("caseload_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(found.get(&build), Some(&1.0));
    assert!(!found.contains_key("caseload_store_commits_total"));
}

async fn tasks_entries_and_commits_are_counted() {
    let real = RealServer::start().await;
    let entries =
        "{\"identities\":[{\"uid\":\"u1\"}]}\nno json\n{\"identities\":[{\"uid\":\"u2\"}]}\n";
    real.run("identity", "create_core_profiles", entries).await;
    real.run("identity", "get_core_profiles", "{\"core-profile-id\":\"1\"}\n").await;
    let found = figures(&real.text("/metrics").await);
    let create = "action=\"create_core_profiles\"";
    let get = "action=\"get_core_profiles\"";
    for (name, value) in [
        ("caseload_store_up".to_owned(), 1.0),
        ("caseload_tasks_waiting".to_owned(), 0.0),
        ("caseload_tasks_running".to_owned(), 0.0),
        ("caseload_tasks_delayed".to_owned(), 0.0),
        (
            format!("caseload_tasks_completed_total{{{create},outcome=\"completed_with_errors\"}}"),
            1.0,
        ),
        (format!("caseload_tasks_completed_total{{{get},outcome=\"completed_with_errors\"}}"), 1.0),
        (format!("caseload_entries_total{{{create},result=\"succeeded\"}}"), 2.0),
        (format!("caseload_entries_total{{{create},result=\"failed\"}}"), 1.0),
        (format!("caseload_entries_total{{{get},result=\"failed\"}}"), 1.0),
    ] {
        assert_eq!(found.get(&name), Some(&value), "{name}");
    }
    assert!(found["caseload_store_commits_total"] > 1.0);
    let is_embedded = Backend::current() == Backend::Sqlite;
    assert_eq!(found.contains_key("caseload_store_disk_free_bytes"), is_embedded);
    // A database knows a server by its session for notifications, which begins after the start.
    assert!(!is_embedded || found["caseload_store_servers"] > 0.0);
    assert!(found["caseload_store_log_bytes"] + found["caseload_store_database_bytes"] > 4096.0);
    real.stop().await;
}

async fn waiting_tasks_are_counted() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
    let mut path = String::new();
    for _ in 0..4 {
        let post = real.request(Method::POST, "/v2/acme/identity/bulk_actions").form(&form);
        let answer = post.send().await.unwrap();
        assert_eq!(answer.status(), 201);
        answer.headers()["location"].to_str().unwrap().clone_into(&mut path);
    }
    let cancel = real.request(Method::POST, &format!("{path}/cancel"));
    assert_eq!(cancel.send().await.unwrap().status(), 200);
    let found = figures(&real.text("/metrics").await);
    assert_eq!((found["caseload_tasks_waiting"], found["caseload_tasks_running"]), (3.0, 0.0));
    let labels = "action=\"create_core_profiles\",outcome=\"cancelled\"";
    let cancelled = found.get(&format!("caseload_tasks_completed_total{{{labels}}}"));
    assert_eq!(cancelled, Some(&1.0));
    real.stop().await;
}
