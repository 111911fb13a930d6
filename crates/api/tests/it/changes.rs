//! The log of changes: pages by cursor, filters, waits, lines and events.

use std::time::{Duration, Instant};

use caseload_model::key::Access;
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::issues::support::create;
use crate::real_server::RealServer;
use crate::server::{PATIENCE, WRITE};

on_each_store!(threads 2:
    a_reader_follows_the_log_page_by_page,
    a_filter_selects_changes_in_either_spelling,
    a_faulty_request_names_all_faults,
    a_page_waits_for_the_first_change_that_matches,
    a_wait_ends_without_a_change_when_the_time_is_up,
    a_wait_ends_when_the_key_is_revoked,
    lines_are_all_changes_up_to_the_end,
    events_go_on_and_continue_after_the_last_one,
    a_change_is_shown_with_its_record_as_it_is,
    the_last_change_of_each_record_of_a_page_is_left,
    a_time_is_a_place_to_begin,
    the_log_of_another_domain_is_closed,
);

const LOG: &str = "/v1/acme/changes";

/// Creates an issue and returns its id.
async fn issue(real: &RealServer, text: &str) -> u64 {
    let path = create(real, &[("message-body", text)]).await;
    path.rsplit_once('/').unwrap().1.parse().unwrap()
}

async fn edit(real: &RealServer, id: u64, title: &str) {
    let path = format!("/v1/acme/issues/{id}");
    let answer = real.request(Method::PUT, &path).form(&[("title", title)]).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
}

/// Resource, id and action of a change.
fn about(change: &Value) -> String {
    let part = |name: &str| change[name].as_str().unwrap().to_owned();
    format!("{} {} {}", part("resource"), part("id"), part("action"))
}

fn all_about(page: &Value) -> Vec<String> {
    page["changes"].as_array().unwrap().iter().map(about).collect()
}

async fn page(real: &RealServer, query: &str) -> Value {
    real.json(&format!("{LOG}?{query}")).await
}

/// The cursor after the last change.
async fn latest(real: &RealServer) -> String {
    let page = page(real, "cursor=latest").await;
    assert_eq!(page["changes"], json!([]));
    page["next-cursor"].as_str().unwrap().to_owned()
}

async fn a_reader_follows_the_log_page_by_page() {
    let real = RealServer::start().await;
    let from = latest(&real).await;
    let first = issue(&real, "a").await;
    edit(&real, first, "t").await;
    let entries = "{\"identities\":[{\"uid\":\"a\"}]}\n{\"identities\":[{\"uid\":\"b\"}]}\n";
    let task = real.run("identity", "create_core_profiles", entries).await;
    let (mut cursor, mut seen) = (from.clone(), Vec::new());
    loop {
        let page = page(&real, &format!("cursor={cursor}&page_size=2")).await;
        let next = page["next-cursor"].as_str().unwrap().to_owned();
        assert!(page["changes"].as_array().unwrap().len() <= 2);
        seen.extend(page["changes"].as_array().unwrap().clone());
        if next == cursor {
            break;
        }
        assert_eq!(next, seen.last().unwrap()["position"], "the position of the last change");
        cursor = next;
    }
    let positions: Vec<u64> =
        seen.iter().map(|one| one["position"].as_str().unwrap().parse().unwrap()).collect();
    let begin: u64 = from.parse().unwrap();
    assert_eq!(positions, (begin + 1..=begin + seen.len() as u64).collect::<Vec<_>>());
    let edited = seen.iter().find(|one| one["action"] == "updated").unwrap();
    assert_eq!(edited["changes"]["title"]["to"], "t");
    assert_eq!(edited["by"]["key_id"], format!("key-{WRITE}"));
    let made: Vec<_> = seen.iter().filter(|one| one["resource"] == "core_profile").collect();
    assert_eq!(made.len(), 2);
    assert_eq!(made[1]["by"], json!({"task_id": task["task_id"], "index": 1}));
    assert_eq!(seen.last().unwrap()["action"], "completed");
    for oldest in ["", "cursor=", "cursor=*"] {
        let page = page(&real, oldest).await;
        assert!(page["changes"].as_array().unwrap().ends_with(&seen), "{oldest}");
    }
    real.stop().await;
}

async fn a_filter_selects_changes_in_either_spelling() {
    let real = RealServer::start().await;
    let (one, two) = (issue(&real, "a").await, issue(&real, "b").await);
    edit(&real, one, "t").await;
    let task =
        real.run("identity", "create_core_profiles", r#"{"identities":[{"uid":"a"}]}"#).await;
    let task = task["task_id"].as_str().unwrap();
    let made = |id: u64| format!("issue {id} created");
    let edited = format!("issue {one} updated");
    for (query, wanted) in [
        (format!("resources=issue&actions=created&ids={two}"), vec![made(two)]),
        (format!("resources[]=issue&ids=[{one},\"x\"]"), vec![made(one), edited.clone()]),
        ("resources=issue,webhook&actions=%5B%22updated%22%5D".to_owned(), vec![edited]),
        (format!("by-key=key-{WRITE}&resources=issue&ids={two}"), vec![made(two)]),
        ("by_key=another".to_owned(), vec![]),
        ("resources=%5B%5D".to_owned(), vec![]),
    ] {
        let page = page(&real, &query).await;
        assert_eq!(all_about(&page), wanted, "{query}");
        assert_eq!(page["next-cursor"], latest(&real).await, "{query}");
    }
    for name in ["by-task", "by_task"] {
        let page = page(&real, &format!("{name}={task}&actions=created")).await;
        assert_eq!(page["changes"].as_array().unwrap().len(), 1, "{page}");
        assert_eq!(page["changes"][0]["resource"], "core_profile");
    }
    real.stop().await;
}

async fn faults(answer: Response) -> (Vec<String>, String) {
    assert_eq!(answer.status(), 400);
    let body: Value = answer.json().await.unwrap();
    let named = body["errors"].as_array().unwrap().iter();
    let named = named.map(|fault| fault["parameter"].as_str().unwrap().to_owned()).collect();
    (named, body["errors"][0]["detail"].as_str().unwrap().to_owned())
}

async fn a_faulty_request_names_all_faults() {
    let real = RealServer::start().await;
    issue(&real, "a").await;
    let last = latest(&real).await;
    let get = async |query: &str| {
        let request = real.request(Method::GET, &format!("{LOG}?{query}"));
        faults(request.send().await.unwrap()).await
    };
    let (named, _) = get("format=csv&cursor=abc&wait=61&resources=issues&page=2").await;
    assert_eq!(
        named,
        ["format", "page", "cursor", "resources", "wait"].map(str::to_owned).to_vec()
    );
    let (named, detail) = get("cursor=MTIz").await;
    assert_eq!((named.len(), &*named[0]), (1, "cursor"));
    assert!(detail.contains("latest for the changes from now on"), "{detail}");
    let (named, detail) = get(&format!("cursor={}", last.parse::<u64>().unwrap() + 1)).await;
    assert_eq!(named, ["cursor"]);
    assert!(detail.contains("restored from an older backup"), "{detail}");
    let (named, _) = get("cursor=0&since=1").await;
    assert_eq!(named, ["cursor"]);
    let (named, detail) = get("format=jsonl&wait=1").await;
    assert_eq!(named, ["wait"]);
    assert!(detail.starts_with("wait is for a page"), "{detail}");
    for id in ["x", "99999"] {
        let request = real.request(Method::GET, LOG).header("Accept", "text/event-stream");
        let (named, _) = faults(request.header("Last-Event-ID", id).send().await.unwrap()).await;
        assert_eq!(named, ["Last-Event-ID"]);
    }
    real.stop().await;
}

async fn a_page_waits_for_the_first_change_that_matches() {
    let real = RealServer::start().await;
    let one = issue(&real, "a").await;
    let cursor = latest(&real).await;
    let query = format!("cursor={cursor}&wait=60&actions=updated");
    let at_once = page(&real, "wait=60&resources=issue").await;
    assert_eq!(all_about(&at_once), [format!("issue {one} created")]);
    let request = real.request(Method::GET, &format!("{LOG}?{query}"));
    let waiting = tokio::spawn(async move { request.send().await.unwrap().json::<Value>().await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    issue(&real, "b").await;
    assert!(!waiting.is_finished(), "a created issue does not match");
    edit(&real, one, "t").await;
    let committed = Instant::now();
    let page = timeout(PATIENCE, waiting).await.expect("the waiting reader sees the change");
    let page = page.unwrap().unwrap();
    assert_eq!(all_about(&page), [format!("issue {one} updated")]);
    assert!(committed.elapsed() < Duration::from_secs(20), "{:?}", committed.elapsed());
    assert_eq!(page["next-cursor"], latest(&real).await);
    real.stop().await;
}

async fn a_wait_ends_without_a_change_when_the_time_is_up() {
    let real = RealServer::start().await;
    let cursor = latest(&real).await;
    issue(&real, "a").await;
    let (last, began) = (latest(&real).await, Instant::now());
    let page = page(&real, &format!("cursor={cursor}&wait=1&actions=deleted")).await;
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(page, json!({"changes": [], "next-cursor": last}));
    real.stop().await;
}

async fn a_wait_ends_when_the_key_is_revoked() {
    let real = RealServer::start().await;
    let cursor = latest(&real).await;
    let request = real.request(Method::GET, &format!("{LOG}?cursor={cursor}&wait=60&ids=none"));
    let events = real.request(Method::GET, LOG).header("Accept", "text/event-stream");
    let events = events.send().await.unwrap();
    let waiting = tokio::spawn(async move { request.send().await.unwrap().status() });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let key = format!("key-{WRITE}");
    assert!(real.store.revoke_key(real.domain, &key, real.clock.now().into()).await.unwrap());
    let status = timeout(Duration::from_secs(30), waiting).await.expect("the wait ends");
    assert_eq!(status.unwrap(), 401);
    let rest = timeout(Duration::from_secs(30), events.bytes()).await.expect("the events end");
    rest.unwrap();
    real.stop().await;
}

async fn lines_are_all_changes_up_to_the_end() {
    let real = RealServer::start().await;
    for n in 0..7 {
        issue(&real, &format!("x{n}")).await;
    }
    let whole = page(&real, "").await;
    for query in ["format=jsonl", "format=ndjson&page-size=2"] {
        let text = real.text(&format!("{LOG}?{query}")).await;
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = lines.pop().unwrap();
        assert_eq!(json!(lines), whole["changes"], "{query}");
        let wanted =
            json!({"end": true, "count": lines.len(), "next-cursor": whole["next-cursor"]});
        assert_eq!(end, wanted);
    }
    let accept = real.request(Method::GET, &format!("{LOG}?actions=deleted&trailer=false"));
    let answer = accept.header("Accept", "application/jsonl").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/jsonl; charset=utf-8");
    assert_eq!(answer.text().await.unwrap(), "");
    real.stop().await;
}

/// The next piece of a stream that has a change: the id of its event, and the change.
async fn event(stream: &mut Response) -> (String, Value) {
    loop {
        let piece = timeout(PATIENCE, stream.chunk()).await.expect("an event").unwrap();
        let text = String::from_utf8(piece.expect("the stream goes on").to_vec()).unwrap();
        if let Some((id, data)) = text.trim_end().split_once("\ndata: ") {
            let change = serde_json::from_str(data).unwrap();
            return (id.strip_prefix("id: ").unwrap().to_owned(), change);
        }
        assert!(text.starts_with(":\nid: "), "a comment with the position: {text:?}");
    }
}

async fn events_go_on_and_continue_after_the_last_one() {
    let real = RealServer::start().await;
    let first = issue(&real, "a").await;
    let events = async |last: Option<&str>| {
        let path = format!("{LOG}?cursor=latest&resources=issue");
        let mut request = real.request(Method::GET, &path).header("Accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        answer
    };
    let mut stream = events(None).await;
    let mut ids = Vec::new();
    for title in ["t", "u"] {
        edit(&real, first, title).await;
        let (id, change) = event(&mut stream).await;
        assert_eq!(
            (&change["position"], &change["changes"]["title"]["to"]),
            (&json!(id), &json!(title))
        );
        ids.push(id);
    }
    drop(stream);
    let (id, change) = event(&mut events(Some(&ids[0])).await).await;
    assert_eq!((&id, change["changes"]["title"]["to"].as_str()), (&ids[1], Some("u")));
    real.stop().await;
}

async fn a_change_is_shown_with_its_record_as_it_is() {
    let real = RealServer::start().await;
    let from = latest(&real).await;
    let (one, two) = (issue(&real, "a").await, issue(&real, "b").await);
    edit(&real, one, "now").await;
    let gone = real.request(Method::DELETE, &format!("/v1/acme/issues/{two}")).send().await;
    assert_eq!(gone.unwrap().status(), 204);
    let person = r#"{"identities":[{"uid":"a"}]}"#;
    real.run("identity", "create_core_profiles", person).await;
    let page = page(&real, &format!("cursor={from}&includes=[\"record\"]")).await;
    let changes = page["changes"].as_array().unwrap();
    let of = |resource: &str, id: &str| {
        let shown = changes.iter().filter(|one| one["resource"] == resource && one["id"] == id);
        shown.map(|one| one["record"].clone()).collect::<Vec<_>>()
    };
    let includes = "includes=%5B%22feedback%22,%22custom_fields%22,%22queue%22,%22private_notes%22,\
                    %22predict_labels%22,%22sentiment_analysis%22,%22smart_intents%22%5D";
    let whole = real.json(&format!("/v1/acme/issues/{one}?{includes}")).await["issues"][0].clone();
    assert_eq!(whole["title"], "now");
    assert_eq!(of("issue", &one.to_string()), [whole.clone(), whole]);
    assert_eq!(of("issue", &two.to_string()), [Value::Null, Value::Null, Value::Null][..2]);
    let mut kinds = 0;
    for change in changes.iter().filter(|one| one["resource"] != "issue") {
        let record = &change["record"];
        let id = match change["resource"].as_str().unwrap() {
            "core_profile" => &record["core-profile-id"],
            "app_profile" => &record["pid"],
            "task" => &record["task_id"],
            other => panic!("{other}"),
        };
        assert_eq!(*id, change["id"], "{change}");
        kinds += 1;
    }
    assert!(kinds >= 3, "{page}");
    let without = real.json(&format!("{LOG}?cursor={from}")).await;
    assert!(without["changes"][0].get("record").is_none());
    real.stop().await;
}

async fn the_last_change_of_each_record_of_a_page_is_left() {
    let real = RealServer::start().await;
    let (one, two) = (issue(&real, "a").await, issue(&real, "b").await);
    let from = latest(&real).await;
    for (id, title) in [(one, "1"), (two, "2"), (one, "3"), (two, "4"), (one, "5")] {
        edit(&real, id, title).await;
    }
    let titles = async |query: &str| {
        let page = page(&real, &format!("cursor={from}&resources=issue&{query}")).await;
        let all = page["changes"].as_array().unwrap().iter();
        all.map(|one| one["changes"]["title"]["to"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(titles("collapse=false").await, ["1", "2", "3", "4", "5"]);
    assert_eq!(titles("collapse=true").await, ["4", "5"]);
    assert_eq!(titles("collapse=true&page-size=3").await, ["2", "3"]);
    real.stop().await;
}

async fn a_time_is_a_place_to_begin() {
    let real = RealServer::start().await;
    for n in 0..12 {
        issue(&real, &format!("x{n}")).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let whole = page(&real, "").await;
    let changes = whole["changes"].as_array().unwrap();
    let times: Vec<u64> = changes.iter().map(|one| one["at"].as_u64().unwrap()).collect();
    for since in times.iter().flat_map(|at| [at - 1, *at, at + 1]).chain([0]) {
        let wanted: Vec<_> =
            changes.iter().filter(|one| one["at"].as_u64() >= Some(since)).collect();
        let page = page(&real, &format!("since={since}")).await;
        assert_eq!(page["changes"], json!(wanted), "{since}");
        assert_eq!(page["next-cursor"], whole["next-cursor"]);
    }
    real.stop().await;
}

async fn the_log_of_another_domain_is_closed() {
    let real = RealServer::start().await;
    issue(&real, "a").await;
    real.add_other_domain(Access::Read).await;
    let get = |path: &str| real.client.get(real.url(path)).bearer_auth("other").send();
    assert_eq!(get(LOG).await.unwrap().status(), 403);
    let own = get("/v1/other/changes?resources=issue").await.unwrap();
    assert_eq!(own.status(), 200, "a key that may only read");
    assert_eq!(own.json::<Value>().await.unwrap()["changes"], json!([]));
    let waiting = tokio::spawn(get("/v1/other/changes?cursor=latest&resources=issue&wait=1"));
    issue(&real, "b").await;
    assert_eq!(
        waiting.await.unwrap().unwrap().json::<Value>().await.unwrap()["changes"],
        json!([])
    );
    real.stop().await;
}
