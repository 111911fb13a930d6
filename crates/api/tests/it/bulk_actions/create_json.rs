//! `POST …/bulk_actions` with a JSON body: the same tasks, errors and memory as with forms, and
//! calls without fields.

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};

use super::support::{ISSUES, PATH, create, this, uid};
use crate::real_server::RealServer;
use crate::server::{READ, Server};

on_each_store!(
    a_json_body_makes_the_task_that_a_form_makes,
    a_json_repeat_of_a_form_is_the_same_request,
    calls_without_fields_take_an_empty_object_and_no_other,
);

/// A POST of this text as JSON.
fn post(request: RequestBuilder, body: impl Into<Body>) -> RequestBuilder {
    request.header("Content-Type", "application/json").body(body)
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// `parameter code` of each fault, or the code of a problem without any.
fn faults(body: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match body["errors"].as_array() {
        None => vec![text(&body["code"])],
        Some(all) => {
            all.iter().map(|f| format!("{} {}", text(&f["parameter"]), text(&f["code"]))).collect()
        }
    }
}

async fn a_json_body_makes_the_task_that_a_form_makes() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    real.run_tasks();
    let body = json!({
        "payload": [uid("a"), {"identities": [{"uid": "b"}], "names": {}}, 7, uid("a")],
        "dry-run": false, "action": "create_core_profiles",
    });
    let (status, task) = answer(real.request(Method::POST, PATH).json(&body)).await;
    assert_eq!(status, 201, "{task}");
    let done = real.completed(&this(&task)).await;
    assert_eq!(done["counts"], json!({"total": 4, "succeeded": 2, "failed": 2, "unprocessed": 0}));
    let errors = real.lines(&done, "errors").await;
    assert!(errors.contains("not_a_map") && errors.contains("identity_conflict"), "{errors}");
    let quoted = json!({
        "action": "create_core_profiles", "dry_run": "true",
        "payload": json!([uid("c")]).to_string(),
    });
    let (status, dry) = answer(real.request(Method::POST, PATH).json(&quoted)).await;
    assert_eq!((status, &dry["dry_run"]), (201, &json!(true)), "{dry}");
    let issues = json!({"action": "import_issues", "payload": [{"id": 1, "created_at": 5}]});
    let (status, task) = answer(real.request(Method::POST, ISSUES).json(&issues)).await;
    assert_eq!(status, 201, "{task}");
    assert_eq!(real.completed(&this(&task)).await["outcome"], "succeeded");
    let get = json!({"action": "create_core_profiles", "payload": [{}]});
    let url = format!("http://{}{PATH}", real.address);
    let denied = real.client.post(url).bearer_auth(READ).json(&get);
    assert_eq!(answer(denied).await.0, 403);
    real.stop().await;
}

async fn a_json_repeat_of_a_form_is_the_same_request() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let keyed = || real.request(Method::POST, PATH).header("Idempotency-Key", "k");
    let payload = r#"[{"identities":[{"uid":"a"}]}, {}]"#;
    let form = [("action", "create_core_profiles"), ("payload", payload)];
    let first = answer(keyed().form(&form)).await;
    assert_eq!(first.0, 201);
    let body =
        format!(r#"{{"payload": {payload} , "dry_run": null, "action":"create_core_profiles"}}"#);
    assert_eq!(answer(post(keyed(), body.clone())).await, first);
    let zstd = zstd::encode_all(body.as_bytes(), 3).unwrap();
    assert_eq!(answer(post(keyed(), zstd).header("Content-Encoding", "zstd")).await, first);
    let other = body.replace("}, {", "},{");
    assert_eq!(answer(post(keyed(), other)).await.0, 422, "the bytes of the payload count");
    real.stop().await;
}

async fn calls_without_fields_take_an_empty_object_and_no_other() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    let task = create(&real, &[uid("a"), json!(1)]).await;
    let cancel = || real.request(Method::POST, &format!("{}/cancel", this(&task)));
    for (body, expected) in [
        (r#"{"dry_run":true}"#, "dry_run unknown_parameter"),
        (r#"{"a":{"b":[1]}}"#, "a unknown_parameter"),
        ("{", "invalid_request"),
        ("7", "invalid_request"),
    ] {
        let (status, found) = answer(post(cancel(), body)).await;
        assert_eq!((status, faults(&found)), (400, vec![expected.to_owned()]), "{body}");
    }
    for (body, expected) in [("", 200), (" ", 409), ("{}", 409), ("[]", 409)] {
        assert_eq!(answer(post(cancel(), body)).await.0, expected, "{body}: it is cancelled once");
    }
    let task = create(&real, &[json!(1)]).await;
    real.run_tasks();
    let done = real.completed(&this(&task)).await;
    let retry = real.request(Method::POST, &format!("{}/retry", this(&done)));
    assert_eq!(answer(post(retry, "{}")).await.0, 201);
    real.stop().await;
}

#[tokio::test]
async fn faults_of_a_json_body_have_the_codes_of_form_a() {
    let server = Server::start().await;
    let many = format!("[{}{{}}]", "{},".repeat(10_000));
    let with = |rest: &str| format!(r#"{{"action":"create_core_profiles"{rest}}}"#);
    for (body, expected) in [
        ("{}".to_owned(), &["action missing_field", "payload missing_field"][..]),
        (with(""), &["payload missing_field"]),
        (with(r#","payload":null"#), &["payload missing_field"]),
        (r#"{"payload":[{}]}"#.to_owned(), &["action missing_field"]),
        (r#"{"action":5,"payload":[{}]}"#.to_owned(), &["action unknown_action"]),
        (
            r#"{"action":["create_core_profiles"],"payload":[{}]}"#.to_owned(),
            &["action unknown_action"],
        ),
        (with(r#","payload":[]"#), &["payload empty_payload"]),
        (with(r#","payload":{}"#), &["payload invalid_payload"]),
        (with(r#","payload":7"#), &["payload invalid_payload"]),
        (with(r#","payload":true"#), &["payload invalid_payload"]),
        (with(r#","payload":"{}""#), &["payload invalid_payload"]),
        (with(r#","payload":[{},]"#), &["payload invalid_payload"]),
        (with(r#","payload":[{}"#), &["payload invalid_payload"]),
        (with(&format!(",\"payload\":{many}")), &["payload too_many_entries"]),
        (with(r#","payload":[{}],"payload":[{}]"#), &["payload conflicting_parameter"]),
        (with(r#","payload":[{}],"dry_ran":true"#), &["dry_ran unknown_parameter"]),
        (with(r#","payload":[{}],"dry_run":7"#), &["dry_run invalid_value"]),
        (with(r#","payload":[{}],"dry_run":"maybe""#), &["dry_run invalid_value"]),
        (with(r#","payload":[{}] 7"#), &["invalid_request"]),
        ("[{}]".to_owned(), &["invalid_request"]),
        (String::new(), &["invalid_request"]),
    ] {
        let (status, found) = answer(post(server.request(Method::POST, PATH), body.clone())).await;
        let expected: Vec<_> = expected.iter().map(|&fault| fault.to_owned()).collect();
        assert_eq!((status, faults(&found)), (400, expected), "{body:.200}: {found}");
    }
    assert!(server.store.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_long_json_payload_is_staged_while_it_arrives() {
    let mut number = 1_u64;
    let mut word = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{number:016x}")
    };
    let mut entry = |n| {
        let note: String = (0..60).map(|_| word()).collect();
        format!("{{\"identities\":[{{\"uid\":\"u{n}\",\"note\":\"{note}\"}}]}}")
    };
    let entries: Vec<_> = (0..9000).map(&mut entry).collect();
    let body =
        format!(r#"{{"payload":[{}],"action":"create_core_profiles"}}"#, entries.join(",\n"));
    let pieces: Vec<_> = body
        .into_bytes()
        .chunks(50_000)
        .map(|piece| Ok::<_, std::io::Error>(piece.to_vec()))
        .collect();
    let server =
        Server::configured(ApiConfig { upload_bytes_held: 1000, ..ApiConfig::default() }).await;
    let body = Body::wrap_stream(futures_util::stream::iter(pieces));
    let (status, task) = answer(post(server.request(Method::POST, PATH), body)).await;
    assert_eq!(status, 201, "{task}");
    let command = server.store.created.lock().unwrap().remove(0);
    assert_eq!(command.total, 9000);
    let staged = server.store.staged.lock().unwrap();
    assert!(staged.len() > 5, "{} parts", staged.len());
    assert!(staged.iter().all(|part| part.task_id == command.id));
}

#[tokio::test]
async fn a_json_body_over_the_limit_is_refused() {
    let config = ApiConfig { body_bytes_max: 10_000, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let payload = format!("[{}{{}}]", "{},".repeat(4000));
    let body = format!(r#"{{"action":"create_core_profiles","payload":{payload}}}"#);
    let (status, found) = answer(post(server.request(Method::POST, PATH), body)).await;
    assert_eq!((status, &found["code"]), (413, &json!("too_large")));
}
