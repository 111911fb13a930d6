//! `GET /v1/{domain}/issues` as JSON lines: every match once, a last line that confirms the end,
//! and a body that never looks complete if it is not.

use std::io::Read as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_model::issue_query::ListPosition;
use caseload_model::time::UnixMillis;
use caseload_store::{IssueStep, StepForm, StoreError};
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::time::sleep;

use super::list_by_cursor::{ISSUES, all, ids, with_issues};
use super::support::{create, put};
use crate::real_server::RealServer;
use crate::scripted_store::NOW;
use crate::server::{Server, snapshot};

on_each_store!(threads 4:
    a_stream_is_every_match_and_a_last_line_with_their_number,
    a_cut_stream_resumes_after_its_last_complete_line,
    a_page_number_overrides_the_stream_of_lines,
    the_form_of_a_list_is_chosen_by_format_else_by_accept_and_json_wins_a_tie,
    a_stream_without_its_last_line_is_issues_alone,
    a_stream_that_lacks_issues_never_looks_complete,
    each_change_of_a_domain_has_another_mark,
);

const PATH: &str = "/v1/acme/issues";
const LINES: &str = "application/x-ndjson";

async fn lines(real: &RealServer, query: &str) -> (Vec<Value>, Value) {
    let request = real.request(Method::GET, &format!("{PATH}?{query}"));
    let answer = request.header("accept", LINES).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], format!("{LINES}; charset=utf-8"));
    assert_eq!(answer.headers()["vary"], "Accept");
    let text = answer.text().await.unwrap();
    assert!(text.ends_with('\n'));
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().unwrap();
    assert_eq!(end["end"], true, "{end}");
    (lines, end)
}

async fn a_stream_is_every_match_and_a_last_line_with_their_number() {
    let real = with_issues().await;
    for query in ["sort-order=asc", "state=new", "sort-by=update-time", "state=rejected"] {
        let expected = all(&real, query).await;
        for size in ["", "&page-size=7", "&page-size=1000"] {
            let (issues, end) = lines(&real, &format!("{query}{size}")).await;
            assert_eq!(ids(&issues), expected, "{query}{size}");
            assert_eq!(end["count"], expected.len());
            // No issue follows the cursor yet; a later issue would.
            let cursor = end["next-cursor"].as_str().unwrap();
            let (more, again) = lines(&real, &format!("{query}&cursor={cursor}")).await;
            assert_eq!((more.len(), &again["count"]), (0, &0.into()));
            assert_eq!(cursor.is_empty(), expected.is_empty());
        }
    }
    let single = real.json(&format!("{PATH}/1")).await;
    let (issues, _) = lines(&real, "ids=%5B1%5D&includes=%5B%22custom_fields%22%5D").await;
    assert_eq!(issues[0], single["issues"][0], "a line is the issue as everywhere");
    real.stop().await;
}

async fn a_cut_stream_resumes_after_its_last_complete_line() {
    let real = with_issues().await;
    let (whole, _) = lines(&real, "sort-by=update-time&sort-order=asc").await;
    for cut in [1, 100, ISSUES - 1, ISSUES] {
        let last = &whole[cut - 1];
        let after = format!("after={},{}", last["updated_at"], last["id"]);
        let (rest, end) =
            lines(&real, &format!("sort-by=update-time&sort-order=asc&{after}")).await;
        assert_eq!(rest[..], whole[cut..], "cut after {cut}");
        assert_eq!(end["count"], ISSUES - cut);
    }
    let page = real.json(&format!("{PATH}?cursor=&page-size=30&sort-order=asc")).await;
    let cursor = page["next-cursor"].as_str().unwrap();
    let (rest, _) = lines(&real, &format!("sort-order=asc&cursor={cursor}")).await;
    assert_eq!(ids(&rest), all(&real, "sort-order=asc").await[30..]);
    // New issues follow the last cursor of a stream, oldest first.
    let (_, end) = lines(&real, "sort-order=asc").await;
    let entry = r#"{"id":5000,"created_at":1700000009999}"#;
    real.run("issues", "import_issues", entry).await;
    let cursor = end["next-cursor"].as_str().unwrap();
    let (rest, _) = lines(&real, &format!("sort-order=asc&cursor={cursor}")).await;
    assert_eq!(ids(&rest), [5000]);
    real.stop().await;
}

async fn a_stream_that_lacks_issues_never_looks_complete() {
    let real = with_issues().await;
    // Their counters stay, as if an index had lost a page.
    real.place.execute(
        "DELETE FROM issue_bodies
         WHERE row IN (SELECT row FROM issues WHERE id BETWEEN 50 AND 120);
         DELETE FROM issues WHERE id BETWEEN 50 AND 120",
    );
    let ask = |query: &str| {
        real.request(Method::GET, &format!("{PATH}?format=jsonl&sort-order=asc&{query}")).send()
    };
    for query in ["page-size=30", "page-size=30&trailer=false", "page-size=30&state=new"] {
        // The server may be so fast that not even the head of the answer is sent.
        let Ok(answer) = ask(query).await else { continue };
        broken(answer).await;
    }
    let table = format!("{PATH}?format=csv&page-size=30");
    if let Ok(answer) = real.request(Method::GET, &table).send().await {
        broken(answer).await;
    }
    let at_once = ask("").await.unwrap();
    assert_eq!(at_once.status(), 503);
    assert!(at_once.text().await.unwrap().contains("damaged"));
    // A part of the list has no total.
    let (rest, end) = lines(&real, "sort-order=asc&after=0,1").await;
    assert_eq!(end["count"], rest.len());
    real.stop().await;
}

async fn each_change_of_a_domain_has_another_mark() {
    let real = with_issues().await;
    let mut marks = vec![real.store.change_mark(real.domain).await.unwrap()];
    for (family, action, entry) in [
        ("issues", "import_issues", r#"{"id":7000,"created_at":1}"#),
        // It names nothing that does not exist yet.
        ("issues", "import_issues", r#"{"id":6999,"created_at":2}"#),
        ("identity", "create_core_profiles", r#"{"identities":[{"email":"a@example.org"}]}"#),
        ("issues", "delete_issues", r#"{"id":7000}"#),
        ("identity", "delete_core_profiles", r#"{"identities":[{"email":"a@example.org"}]}"#),
    ] {
        let task = real.run(family, action, entry).await;
        assert_eq!(task["counts"]["succeeded"], 1, "{task}");
        marks.push(real.store.change_mark(real.domain).await.unwrap());
    }
    let path = create(&real, &[("message-body", "B"), ("email", "a@example.org")]).await;
    marks.push(real.store.change_mark(real.domain).await.unwrap());
    put(&real, &path, &[("tags", "[\"x\"]")]).await;
    marks.push(real.store.change_mark(real.domain).await.unwrap());
    let shown = real.json(&path).await;
    let author = shown["issues"][0]["hs_user_id"].as_str().unwrap();
    for path in [path, format!("/v2/acme/identity/app_profiles/{author}")] {
        let deleted = real.request(Method::DELETE, &path).send().await.unwrap();
        assert_eq!(deleted.status(), 204, "{path}");
        marks.push(real.store.change_mark(real.domain).await.unwrap());
    }
    assert!(marks.is_sorted_by(|before, after| before < after), "{marks:?}");
    real.stop().await;
}

async fn a_page_number_overrides_the_stream_of_lines() {
    let real = with_issues().await;
    let request = real.request(Method::GET, &format!("{PATH}?page=1"));
    let answer = request.header("accept", LINES).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json; charset=utf-8");
    assert_eq!(answer.json::<Value>().await.unwrap()["total-hits"], ISSUES);
    real.stop().await;
}

async fn the_form_of_a_list_is_chosen_by_format_else_by_accept_and_json_wins_a_tie() {
    const JSON: &str = "application/json";
    const CSV: &str = "text/csv; charset=utf-8; header=present";
    let real = with_issues().await;
    let ask = |query: &str, accept: &'static str| {
        let request = real.request(Method::GET, &format!("{PATH}?{query}"));
        request.header("accept", accept).send()
    };
    for (query, accept, content_type) in [
        ("", "*/*", JSON),
        ("", "application/jsonl", "application/jsonl"),
        ("", "application/ndjson", "application/ndjson"),
        ("", "application/x-ndjson, application/json", JSON),
        ("", "application/x-ndjson, application/json;q=0.9", LINES),
        ("", "application/json;q=0.1, application/*;q=0.2", LINES),
        ("", "application/x-ndjson, */*", JSON),
        ("", "text/csv", CSV),
        ("", "text/csv;q=0.4, application/json;q=0.5", JSON),
        ("format=csv", JSON, CSV),
        ("page=2", "text/csv", JSON),
        ("format=jsonl", JSON, LINES),
        ("format=ndjson", "*/*", LINES),
        ("format=json", LINES, JSON),
        ("format=json&page=2", LINES, JSON),
        ("format=jsonl&page-size=7&cursor=*", "*/*", LINES),
    ] {
        let answer = ask(query, accept).await.unwrap();
        assert_eq!(answer.status(), 200, "{query} {accept}");
        let of_json = format!("{content_type}; charset=utf-8");
        let expected = if content_type == CSV { CSV } else { &of_json };
        assert_eq!(answer.headers()["content-type"], expected, "{query} {accept}");
        assert_eq!(answer.headers()["vary"], "Accept");
        let text = answer.text().await.unwrap();
        assert_eq!(text.ends_with('\n'), content_type != JSON, "{query} {accept}");
    }
    for (query, parameter, said) in [
        ("format=xml", "format", "accepted: json, jsonl, ndjson, csv"),
        ("format=", "format", "accepted: json, jsonl, ndjson, csv"),
        ("format=jsonl&page=1", "page", "leave page out"),
        ("format=csv&page=1", "page", "leave page out"),
        ("format=json&format=jsonl", "format", "different values"),
    ] {
        let answer = ask(query, "*/*").await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["errors"][0]["parameter"], parameter, "{body}");
        assert!(body["errors"][0]["detail"].as_str().unwrap().contains(said), "{body}");
    }
    // A wrong format is one fault among the others.
    let body: Value = ask("format=CSV&limit=5&page=0", "*/*").await.unwrap().json().await.unwrap();
    assert_eq!(body["errors"].as_array().unwrap().len(), 3, "{body}");
    real.stop().await;
}

async fn a_stream_without_its_last_line_is_issues_alone() {
    let real = with_issues().await;
    for word in ["false", "False", "0"] {
        let query = format!("format=jsonl&sort-order=asc&trailer={word}");
        let text = real.text(&format!("{PATH}?{query}")).await;
        let issues: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(ids(&issues), all(&real, "sort-order=asc").await, "{word}");
    }
    assert_eq!(real.text(&format!("{PATH}?format=jsonl&trailer=false&ids=[]")).await, "");
    let text = real.text(&format!("{PATH}?format=jsonl&trailer=true&ids=[]")).await;
    assert!(text.starts_with("{\"end\":true,\"count\":0"), "{text}");
    // Without a stream there is no last line to leave out.
    assert_eq!(real.json(&format!("{PATH}?trailer=false")).await["total-hits"], ISSUES);
    real.stop().await;
}

/// A step of the scripted store, with one line of about this many bytes.
fn step(bytes: usize, more: bool) -> IssueStep {
    IssueStep {
        count: 1,
        body: format!("{{\"id\":1,\"x\":\"{}\"}}\n", "x".repeat(bytes)).into_bytes(),
        last: Some(ListPosition { at: UnixMillis(5), id: 1 }),
        more,
        ..IssueStep::default()
    }
}

async fn stream(server: &Server) -> Response {
    let request = server.request(Method::GET, PATH).header("accept", LINES);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer
}

/// Reads a body until it breaks off, and returns the received text.
pub(crate) async fn broken(mut answer: Response) -> String {
    let mut text = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk),
            Ok(None) => panic!("the body ends as if it were whole"),
            Err(_) => break,
        }
    }
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("\"end\""), "a last line of a broken stream");
    text
}

#[tokio::test]
async fn a_store_that_fails_at_once_is_an_error_and_later_breaks_the_stream() {
    let server = Server::start().await;
    server.store.steps.lock().unwrap().extend([step(10, true), step(10, true)]);
    let text = broken(stream(&server).await).await;
    assert_eq!(text.lines().count(), 2);
    {
        let asked = server.store.stepped.lock().unwrap();
        assert_eq!((asked[0].after, asked[0].issues_max), (None, 1000));
        assert_eq!(asked[1].after, Some(ListPosition { at: UnixMillis(5), id: 1 }));
        assert_eq!(asked[0].form, StepForm::Lines);
        assert!(asked[0].bytes_max < 8 << 20, "a step is bounded for issues of any size");
    }
    server.store.fail(|| StoreError::DeadlinePassed);
    let request = server.request(Method::GET, &format!("{PATH}?state=new"));
    let answer = request.header("accept", LINES).send().await.unwrap();
    insta::assert_snapshot!(snapshot(answer).await);
}

#[tokio::test]
async fn a_cut_stream_without_a_last_line_is_a_broken_transfer() {
    let server = Server::start().await;
    server.store.steps.lock().unwrap().extend([step(10, true), step(10, true)]);
    let request = server.request(Method::GET, &format!("{PATH}?trailer=false"));
    let answer = request.header("accept", LINES).send().await.unwrap();
    assert_eq!(broken(answer).await.lines().count(), 2);
    server.store.steps.lock().unwrap().extend([step(10, true), step(10, false)]);
    let request = server.request(Method::GET, &format!("{PATH}?trailer=false"));
    let whole = request.header("accept", LINES).send().await.unwrap().text().await.unwrap();
    assert_eq!(whole.lines().count(), 2);
    assert!(!whole.contains("\"end\""), "{whole}");
}

#[tokio::test]
async fn a_stream_is_compared_with_its_total_if_the_domain_does_not_change() {
    let server = Server::start().await;
    let total = |hits| IssueStep { total_hits: Some(hits), ..step(1, true) };
    let steps = |last| [step(10, true), step(10, false), last];
    server.store.is_still.store(true, Ordering::SeqCst);
    server.store.steps.lock().unwrap().extend(steps(total(3)));
    broken(stream(&server).await).await;
    server.store.steps.lock().unwrap().extend(steps(total(2)));
    let whole = stream(&server).await.text().await.unwrap();
    assert!(whole.contains("\"end\":true,\"count\":2"), "{whole}");
    server.store.is_still.store(false, Ordering::SeqCst);
    server.store.steps.lock().unwrap().extend([step(10, true), step(10, false)]);
    let whole = stream(&server).await.text().await.unwrap();
    assert!(whole.contains("\"end\":true,\"count\":2"), "{whole}");
}

#[tokio::test]
async fn the_server_waits_for_a_client_that_does_not_read() {
    let server = Server::start().await;
    server.store.steps.lock().unwrap().extend((0..400).map(|n| step(1 << 20, n < 399)));
    let mut answer = stream(&server).await;
    answer.chunk().await.unwrap().unwrap();
    sleep(Duration::from_millis(300)).await;
    let asked = server.store.stepped.lock().unwrap().len();
    assert!(asked < 100, "{asked} steps were read ahead");
    let text = answer.text().await.unwrap();
    assert!(text.ends_with("\"next-cursor\":\"\"}\n") || text.contains("\"count\":400"));
}

#[tokio::test]
async fn a_server_that_stops_breaks_its_streams() {
    let server = Server::start().await;
    server.store.steps.lock().unwrap().extend((0..400).map(|n| step(1 << 20, n < 399)));
    let mut answer = stream(&server).await;
    answer.chunk().await.unwrap().unwrap();
    let stopping = server.stop();
    let text = broken(answer).await;
    assert!(text.lines().count() < 400);
    stopping.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_key_that_stops_working_breaks_its_streams() {
    let server = Server::start().await;
    for grant in server.store.keys.lock().unwrap().values_mut() {
        grant.key.expires_at = Some(UnixMillis(NOW.0 + 1000));
    }
    server.store.steps.lock().unwrap().extend((0..400).map(|n| step(1 << 20, n < 399)));
    let mut answer = stream(&server).await;
    answer.chunk().await.unwrap().unwrap();
    server.now.fetch_add(1000, Ordering::SeqCst);
    broken(answer).await;
    assert!(!server.store.steps.lock().unwrap().is_empty());
}

#[tokio::test]
async fn compressed_pieces_arrive_complete_as_they_are_read() {
    for coding in ["zstd", "gzip"] {
        let server = Server::start().await;
        *server.store.step_takes.lock().unwrap() = Duration::from_millis(1);
        server.store.steps.lock().unwrap().extend([step(10, true), step(20, true)]);
        let request = server.request(Method::GET, PATH).header("accept", LINES);
        let mut answer = request.header("accept-encoding", coding).send().await.unwrap();
        assert_eq!(answer.headers()["content-encoding"], coding);
        let vary: Vec<_> = answer.headers().get_all("vary").iter().collect();
        assert_eq!(vary, ["Accept", "Accept-Encoding"]);
        // The third step never arrives; the bytes before it can be decompressed all the same.
        *server.store.step_takes.lock().unwrap() = Duration::from_millis(200);
        let mut packed = Vec::new();
        while let Ok(Some(chunk)) = answer.chunk().await {
            packed.extend_from_slice(&chunk);
        }
        let mut plain = Vec::new();
        // The end is missing; both decoders report that after the readable part.
        let unpacked = match coding {
            "zstd" => {
                zstd::stream::read::Decoder::new(&packed[..]).unwrap().read_to_end(&mut plain)
            }
            _ => flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut plain),
        };
        assert!(unpacked.is_err(), "{coding}: a cut stream unpacks as if it were whole");
        assert_eq!(String::from_utf8(plain).unwrap().lines().count(), 2, "{coding}");
    }
}
