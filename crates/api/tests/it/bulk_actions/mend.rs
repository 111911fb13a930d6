//! How an import is mended: the payload as a reject file, its faults by page and in groups, the run
//! of a dry run, and the fields of a task that say who sent what.

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::support::{DAY, ISSUES, PATH, create, forbidden, post, submit, this, uid};
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(
    a_task_shows_its_file_its_bytes_and_its_key,
    task_lists_are_filtered_and_tagged,
    a_reject_file_can_be_mended_and_sent_again_as_it_is,
    a_payload_shows_each_part_on_lines,
    errors_are_listed_by_page_and_by_cursor,
    errors_are_filtered_as_a_file_too,
    faults_are_summarised_in_groups,
    warnings_are_counted_and_summarised_by_code,
    a_dry_run_is_run_once,
    a_run_needs_a_completed_dry_run_and_a_write_key,
);

const GOOD: &str = "{\"identities\":[{\"uid\":\"a\"}]}";
const NO_JSON: &str = " no json ";
const OLD: &str = "{\"identities\":[{\"uid\":\"b\"}],\"age\":-1,\"last_country\":\"Atlantis\"}";
const TAGS: &str = "{\"identities\":[{\"uid\":\"c\"}],\"tags\":[\"x\",1],\"age\":200}";

/// A completed task: the first entry succeeds, the other three fail.
async fn faulty(real: &RealServer) -> Value {
    let lines = [GOOD, NO_JSON, "", OLD, TAGS].join("\n");
    let task = real.run("identity", "create_core_profiles", &lines).await;
    assert_eq!(task["counts"], json!({"total":4,"succeeded":1,"failed":3,"unprocessed":0}));
    task
}

async fn status(real: &RealServer, path: &str) -> (u16, Value) {
    let answer = real.request(Method::GET, path).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn a_task_shows_its_file_its_bytes_and_its_key() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let payload = [GOOD, NO_JSON].join("\r\n");
    let part = Part::text(payload.clone()).file_name("/tmp/People of acme.jsonl");
    let form = Form::new().text("action", "create_core_profiles").part("payload", part);
    let sent = real.request(Method::POST, PATH).multipart(form).send().await.unwrap();
    let task: Value = sent.json().await.unwrap();
    assert_eq!(task["file_name"], "People of acme.jsonl");
    assert_eq!(task["content_length"], payload.len());
    let by = &task["submitted_by"];
    assert!(by["key_id"].is_string() && by["key_name"].is_string(), "{task}");
    assert_eq!(real.json(&this(&task)).await["submitted_by"], *by);
    let plain = create(&real, &[uid("b")]).await;
    assert_eq!((&plain["file_name"], &plain["submitted_by"]), (&Value::Null, by));
    post(&real, &format!("{}/cancel", this(&task))).await;
    let retry = post(&real, &format!("{}/retry", this(&task))).await.1;
    assert_eq!(retry["file_name"], "People of acme.jsonl");
    assert_eq!(retry["content_length"], GOOD.len() + NO_JSON.len() + 2);
    real.stop().await;
}

async fn task_lists_are_filtered_and_tagged() {
    let real = RealServer::start().await;
    let parent = faulty(&real).await;
    let retry = post(&real, &format!("{}/retry", this(&parent))).await.1;
    real.completed(&this(&retry)).await;
    let dry = [("action", "create_core_profiles"), ("payload", "[{}]"), ("dry_run", "true")];
    let dry = submit(&real, PATH, &dry).await.1;
    real.completed(&this(&dry)).await;
    let hits =
        async |query: &str| real.json(&format!("{PATH}?{query}")).await["total-hits"].clone();
    let key = parent["submitted_by"]["key_id"].as_str().unwrap();
    let name = parent["submitted_by"]["key_name"].as_str().unwrap();
    let id = parent["task_id"].as_str().unwrap();
    for (query, count) in [
        ("dry_run=true", 1),
        ("dry-run=False", 2),
        ("outcome=completed_with_errors", 3),
        ("outcome=succeeded,cancelled", 0),
        ("created-since=2026-01-01T00:00:00Z&created-until=0", 0),
        ("created_since=1", 3),
        (&format!("parent_task_id={id}"), 1),
        (&format!("submitted_by={key}"), 3),
        (&format!("submitted_by={name}&dry_run=true"), 1),
        ("submitted_by=nobody", 0),
    ] {
        assert_eq!(hits(query).await, count, "{query}");
    }
    let answer = real.request(Method::GET, PATH).send().await.unwrap();
    let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
    let again = async || {
        let request = real.request(Method::GET, PATH).header("If-None-Match", &tag);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(again().await, 304);
    let other = real.request(Method::GET, &format!("{PATH}?page-size=1")).send().await.unwrap();
    assert_ne!(other.headers()["etag"], tag.as_str());
    create(&real, &[uid("new")]).await;
    assert_eq!(again().await, 200);
    let refused = status(&real, &format!("{PATH}?outcome=done&dry_run=2&created-since=x")).await;
    assert_eq!((refused.0, refused.1["errors"].as_array().unwrap().len()), (400, 3));
    real.stop().await;
}

async fn a_reject_file_can_be_mended_and_sent_again_as_it_is() {
    let real = RealServer::start().await;
    let task = faulty(&real).await;
    let path = format!("{}/payload?only=failed", this(&task));
    let answer = real.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/x-ndjson; charset=utf-8");
    let disposition = answer.headers()["content-disposition"].to_str().unwrap().to_owned();
    assert!(disposition.ends_with("-payload.jsonl\""), "{disposition}");
    let tag = answer.headers()["etag"].clone();
    let rejects = answer.text().await.unwrap();
    assert_eq!(rejects, format!("{NO_JSON}\n{OLD}\n{TAGS}\n"));
    let request = real.request(Method::GET, &path).header("If-None-Match", &tag);
    assert_eq!(request.send().await.unwrap().status(), 304);
    let same = real.run("identity", "create_core_profiles", &rejects).await;
    assert_eq!(same["counts"]["failed"], 3);
    let mended = rejects
        .replace(NO_JSON, "{\"identities\":[{\"uid\":\"d\"}]}")
        .replace("-1", "1")
        .replace("Atlantis", "Norway")
        .replace("\"x\",1", "\"x\"")
        .replace("200", "20");
    let mended = real.run("identity", "create_core_profiles", &mended).await;
    assert_eq!(mended["outcome"], "succeeded", "{mended}");
    let succeeded = real.text(&format!("{}/payload", this(&mended))).await;
    assert_eq!(succeeded, "", "entries that succeeded are gone");
    real.stop().await;
}

async fn a_payload_shows_each_part_on_lines() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    let array = "[{\"identities\":\n [{\"uid\":\"a\"}]},\n 5]";
    let fields = [("action", "create_core_profiles"), ("payload", array)];
    let task = submit(&real, PATH, &fields).await.1;
    let path = format!("{}/payload", this(&task));
    let lines = "{\"identities\":  [{\"uid\":\"a\"}]}\n5\n";
    assert_eq!(real.text(&path).await, lines, "all of it until the task completes");
    let (code, problem) = status(&real, &format!("{path}?only=failed")).await;
    assert_eq!((code, &problem["code"]), (409, &json!("not_completed")));
    post(&real, &format!("{}/cancel", this(&task))).await;
    for (query, text) in [
        ("", lines),
        ("?only=unprocessed", lines),
        ("?only=failed", ""),
        ("?only=failed,unprocessed", lines),
        ("?only=[]", ""),
    ] {
        assert_eq!(real.text(&format!("{path}{query}")).await, text, "{query}");
    }
    let download = format!("{path}?download=true");
    let packed = real.request(Method::GET, &download).send().await.unwrap();
    assert_eq!(packed.headers()["content-type"], "application/gzip");
    let (code, problem) = status(&real, &format!("{path}?only=succeeded&page=1")).await;
    assert_eq!((code, problem["errors"].as_array().unwrap().len()), (400, 2));
    let elsewhere = path.replace("identity", "issues");
    assert_eq!(status(&real, &elsewhere).await.0, 404);
    real.run_tasks();
    let issues = [("action", "import_issues"), ("payload", "[{\"title\":1}]")];
    let issue = submit(&real, ISSUES, &issues).await.1;
    real.completed(&this(&issue)).await;
    let rejected = real.text(&format!("{}/payload?only=failed", this(&issue))).await;
    assert_eq!(rejected, "{\"title\":1}\n");
    real.turned.store(31 * DAY, std::sync::atomic::Ordering::SeqCst);
    let (code, problem) = status(&real, &path).await;
    assert_eq!((code, &problem["code"]), (404, &json!("expired")));
    real.stop().await;
}

/// A completed task of `count` entries that all fail: the even ones by age, the odd ones by tag.
async fn many(real: &RealServer, count: usize) -> Value {
    let line = |n: usize| match n % 2 {
        0 => format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}],\"age\":-{}}}", n + 1),
        _ => format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}],\"tags\":[{n}]}}"),
    };
    let lines: Vec<_> = (0..count).map(line).collect();
    let task = real.run("identity", "create_core_profiles", &lines.join("\n")).await;
    assert_eq!(task["counts"]["failed"], count);
    task
}

fn indexes(page: &Value) -> Vec<u64> {
    let errors = page["errors"].as_array().unwrap().iter();
    errors.map(|error| error["index"].as_u64().unwrap()).collect()
}

async fn errors_are_listed_by_page_and_by_cursor() {
    let real = RealServer::start().await;
    let task = many(&real, 25).await;
    let path = format!("{}/errors", this(&task));
    let page = real.json(&format!("{path}?page=2&page-size=10")).await;
    assert_eq!(indexes(&page), (10..20).collect::<Vec<_>>());
    assert_eq!((&page["total-hits"], &page["total-pages"]), (&json!(25), &json!(3)));
    assert!(page["errors"][0]["entry"].is_object(), "{page}");
    let odd = real.json(&format!("{path}?page_size=5&code=wrong_type&excludes=entry")).await;
    assert_eq!(indexes(&odd), [1, 3, 5, 7, 9]);
    assert_eq!(odd["total-hits"], 12);
    assert!(odd["errors"][0].get("entry").is_none(), "{odd}");
    let beyond = real.json(&format!("{path}?page=9&page-size=10&pointer=/age")).await;
    assert_eq!((indexes(&beyond), &beyond["total-hits"]), (vec![], &json!(13)));
    for (filter, wanted) in
        [("", (0..25).collect::<Vec<u64>>()), ("&pointer=/tags/0", (1..25).step_by(2).collect())]
    {
        let (mut cursor, mut found, mut pages) = ("*".to_owned(), Vec::new(), 0);
        loop {
            let query = format!("{path}?cursor={cursor}&page-size=4{filter}");
            let page = real.json(&query).await;
            assert!(page.get("total-hits").is_none(), "{page}");
            found.extend(indexes(&page));
            pages += 1;
            assert_eq!(page["page"], pages);
            match page["next-cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        assert_eq!(found, wanted, "{filter}");
        assert_eq!(pages, wanted.len().div_ceil(4));
        let other = status(&real, &format!("{path}?cursor={cursor}&code=too_long")).await;
        assert_eq!(other.0, 400, "a cursor of another list");
    }
    let counted = real.json(&format!("{path}?cursor=&count=true&code=out_of_range")).await;
    assert_eq!(counted["total-hits"], 13);
    let answer = real.request(Method::GET, &format!("{path}?page=1")).send().await.unwrap();
    assert!(answer.headers().contains_key("link"));
    let tag = answer.headers()["etag"].clone();
    let again = real.request(Method::GET, &format!("{path}?page=1")).header("If-None-Match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    let lines = real.text(&format!("{path}?page=1&page-size=2&format=jsonl")).await;
    assert_eq!(lines.lines().count(), 2);
    let rows = real.text(&format!("{path}?page=1&page-size=2&format=csv")).await;
    assert_eq!(rows.lines().count(), 3, "{rows}");
    let (code, problem) = status(&real, &format!("{path}?page=0&code=odd&excludes=raw&a=1")).await;
    assert_eq!((code, problem["errors"].as_array().unwrap().len()), (400, 4), "{problem}");
    assert_eq!(status(&real, &format!("{path}?page=1&download=true")).await.0, 400);
    real.stop().await;
}

async fn errors_are_filtered_as_a_file_too() {
    let real = RealServer::start().await;
    let task = many(&real, 9).await;
    let path = format!("{}/errors?code=wrong_type&excludes=[\"entry\"]", this(&task));
    let whole = real.json(&path).await;
    let found: Vec<_> = whole.as_array().unwrap().iter().map(|e| e["index"].clone()).collect();
    assert_eq!(found, [1, 3, 5, 7]);
    let text = real.text(&path).await;
    assert!(!text.contains("\"entry\""), "{text}");
    let range = real.request(Method::GET, &path).header("Range", "bytes=5-20");
    let range = range.send().await.unwrap();
    assert_eq!(range.status(), 206);
    assert_eq!(range.text().await.unwrap(), text[5..21]);
    assert_eq!(real.text(&path.replace("wrong_type", "not_found")).await, "[]");
    real.stop().await;
}

async fn faults_are_summarised_in_groups() {
    let real = RealServer::start().await;
    let task = faulty(&real).await;
    let path = format!("{}/errors/summary", this(&task));
    let summary = real.json(&path).await;
    assert_eq!((&summary["faults"], &summary["entries"]), (&json!(5), &json!(3)));
    let groups = summary["groups"].as_array().unwrap();
    let shown = groups.iter().map(|g| json!([g["code"], g["pointer"], g["count"]]));
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown[0], json!(["out_of_range", "/age", 2]), "{summary}");
    assert!(shown.contains(&json!(["invalid_json", null, 1])), "{summary}");
    assert!(shown.contains(&json!(["wrong_type", "/tags/1", 1])), "{summary}");
    let example = &groups[0]["example"];
    assert_eq!((&example["index"], &example["line"]), (&json!(2), &json!(4)), "{summary}");
    assert_eq!(example["value"], -1);
    assert!(example["detail"].is_string());
    let answer = real.request(Method::GET, &path).send().await.unwrap();
    let tag = answer.headers()["etag"].clone();
    let again = real.request(Method::GET, &path).header("If-None-Match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    let lines: Vec<_> = (0..150)
        .map(|n| format!("{{\"identities\":[{{\"uid\":\"v{n}\"}}],\"field{n}\":1}}"))
        .collect();
    let wide = real.run("identity", "create_core_profiles", &lines.join("\n")).await;
    let summary = real.json(&format!("{}/errors/summary", this(&wide))).await;
    assert_eq!(summary["groups"].as_array().unwrap().len(), 100);
    assert_eq!(summary["faults"], 150);
    assert_eq!(summary["groups"][99]["pointer"], "/field99");
    let one = uid("z").to_string();
    let clean = real.run("identity", "create_core_profiles", &one).await;
    let none = real.text(&format!("{}/errors/summary", this(&clean))).await;
    assert_eq!(none, "{\"faults\":0,\"entries\":0,\"groups\":[]}");
    real.stop().await;
}

async fn warnings_are_counted_and_summarised_by_code() {
    let real = RealServer::start().await;
    let people = [
        json!({"identities": [{"email": " N/A"}, {"uid": "a"}]}),
        json!({"identities": [{"email": "ann@example.org"}]}),
        json!({"identities": [{"email": "n/a"}, {"uid": "b"}]}),
        json!({"identities": [{"email": "a@b@c"}]}),
        json!({"identities": [{"email": "none"}], "age": -1}),
    ];
    let payload = Value::from(people.to_vec()).to_string();
    let fields =
        [("action", "upsert_core_profiles"), ("payload", payload.as_str()), ("dry_run", "true")];
    let dry = real.completed(&this(&submit(&real, PATH, &fields).await.1)).await;
    assert_eq!((&dry["warnings"], &dry["counts"]["failed"]), (&json!(4), &json!(1)), "{dry}");
    let path = format!("{}/warnings/summary", this(&dry));
    let summary = real.json(&path).await;
    assert_eq!((&summary["warnings"], &summary["entries"]), (&json!(4), &json!(3)), "{summary}");
    let groups = summary["groups"].as_array().unwrap();
    let shown = groups.iter().map(|g| json!([g["code"], g["count"], g["example"]["pointer"]]));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            json!(["placeholder", 2, "/identities/0/email"]),
            json!(["joins_people", 1, "/identities/1/uid"]),
            json!(["suspicious_identity", 1, "/identities/0/email"]),
        ]
    );
    let example = &groups[0]["example"];
    assert_eq!((&example["line"], &example["value"]), (&json!(1), &json!("N/A")));
    let tag = real.request(Method::GET, &path).send().await.unwrap().headers()["etag"].clone();
    let again = real.request(Method::GET, &path).header("If-None-Match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    real.store
        .set_placeholders(real.domain, Some("ann@".to_owned()), real.clock.now().into())
        .await
        .unwrap();
    let lines = people.map(|person| person.to_string()).join("\n");
    let task = real.run("identity", "upsert_core_profiles", &lines).await;
    let summary = real.json(&format!("{}/warnings/summary", this(&task))).await;
    assert_eq!(summary["groups"][0]["code"], "suspicious_identity", "{summary}");
    assert_eq!(summary["groups"][1]["example"]["value"], "ann@example.org", "{summary}");
    real.stop().await;
}

async fn a_dry_run_is_run_once() {
    let real = RealServer::start().await;
    let payload = Value::from(vec![uid("a"), json!(5), uid("b")]).to_string();
    let fields =
        [("action", "create_core_profiles"), ("payload", payload.as_str()), ("dry_run", "true")];
    let dry = submit(&real, PATH, &fields).await.1;
    let dry = real.completed(&this(&dry)).await;
    let path = format!("{}/run", this(&dry));
    let all = real.text(&format!("{}/payload", this(&dry))).await;
    assert_eq!(all.lines().count(), 3, "a dry run has its whole payload");
    let keyed = async || {
        let request = real.request(Method::POST, &path).header("Idempotency-Key", "once");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let first = keyed().await;
    let started: Value = serde_json::from_str(&first.1).unwrap();
    assert_eq!((first.0, &started["parent_task_id"]), (201, &dry["task_id"]));
    assert_eq!(started["dry_run"], false);
    assert_eq!(started["content_length"], dry["content_length"]);
    let run = real.completed(&this(&started)).await;
    assert_eq!(run["counts"], json!({"total":3,"succeeded":2,"failed":1,"unprocessed":0}));
    assert_eq!(keyed().await, first, "the repeat is answered as before");
    let (code, problem) = post(&real, &path).await;
    assert_eq!((code, &problem["code"]), (409, &json!("already_run")));
    assert_eq!(problem["run_by"], run["task_id"]);
    assert_eq!(real.json(&this(&dry)).await["run_by"], run["task_id"]);
    let retried = post(&real, &format!("{}/retry", this(&dry))).await;
    assert_eq!((retried.0, &retried.1["counts"]["total"]), (201, &json!(1)));
    let report = real.store.check().await.unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    real.stop().await;
}

async fn a_run_needs_a_completed_dry_run_and_a_write_key() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    let fields = [("action", "create_core_profiles"), ("payload", "[{}]"), ("dry_run", "true")];
    let dry = submit(&real, PATH, &fields).await.1;
    let path = format!("{}/run", this(&dry));
    let (code, problem) = post(&real, &path).await;
    assert_eq!((code, &problem["code"]), (409, &json!("not_completed")));
    assert!(forbidden(&real, &path).await, "a read key may submit a dry run, not run it");
    let real_task = create(&real, &[uid("a")]).await;
    let (code, problem) = post(&real, &format!("{}/run", this(&real_task))).await;
    assert_eq!((code, &problem["code"]), (409, &json!("not_a_dry_run")));
    real.run_tasks();
    real.completed(&this(&dry)).await;
    let url = real.url(&format!("{}/payload", this(&dry)));
    let read = real.client.get(url).bearer_auth(READ).send().await.unwrap();
    assert_eq!(read.status(), 200);
    real.turned.store(31 * DAY, std::sync::atomic::Ordering::SeqCst);
    let (code, problem) = post(&real, &path).await;
    assert_eq!((code, &problem["code"]), (404, &json!("expired")));
    real.stop().await;
}
