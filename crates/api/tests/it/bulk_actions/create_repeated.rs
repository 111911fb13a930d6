//! `Idempotency-Key` on POST of bulk actions, over the real store: a repeat gets the bytes of the
//! first answer, another content is refused, and any number of simultaneous requests make one task.

use std::collections::HashSet;
use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use futures_util::future::join_all;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::real_server::RealServer;
use crate::server::{READ, WRITE, until};
use crate::wire::rest;

on_each_store!(
    a_replayed_answer_of_any_call_says_so,
    a_repeat_gets_the_bytes_of_the_first_answer_in_every_task_state,
    a_used_key_with_other_content_is_refused_and_a_new_key_is_not,
    a_refused_request_leaves_its_key_free,
    faults_of_the_key_are_reported_with_the_other_faults,
    a_key_whose_first_request_still_arrives_is_in_progress,
    a_client_that_disconnects_leaves_its_key_free,
    a_key_lasts_a_day_at_least_and_expires_with_its_task,
    a_compressed_and_a_plain_repeat_are_the_same_request,
);
on_each_store!(threads 4:
    a_hundred_repeats_at_once_make_one_task,
);

/// The fields of a form.
type Fields<'f> = &'f [(&'f str, &'f str)];

const PATH: &str = "/v2/acme/identity/bulk_actions";
const LINES: &str = "{\"identities\":[{\"uid\":\"a\"}]}\n{\"identities\":[{\"uid\":\"b\"}]}\n";

/// A POST of form B with a boundary of its own.
fn lines(real: &RealServer, key: &str, lines: &str) -> RequestBuilder {
    let part = Part::text(lines.to_owned()).file_name("p.jsonl");
    let form = Form::new().text("action", "create_core_profiles").part("payload", part);
    real.request(Method::POST, PATH).header("Idempotency-Key", key).multipart(form)
}

/// Status, location and body of an answer.
async fn whole(answer: Response) -> (u16, String, String) {
    let location = answer.headers().get("location");
    let location = location.map(|at| at.to_str().unwrap().to_owned()).unwrap_or_default();
    (answer.status().as_u16(), location, answer.text().await.unwrap())
}

async fn sent(request: RequestBuilder) -> (u16, String, String) {
    whole(request.send().await.unwrap()).await
}

fn code(body: &str) -> String {
    serde_json::from_str::<Value>(body).unwrap()["code"].as_str().unwrap().to_owned()
}

async fn hits(real: &RealServer) -> u64 {
    real.json(PATH).await["total-hits"].as_u64().unwrap()
}

async fn a_repeat_gets_the_bytes_of_the_first_answer_in_every_task_state() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    let first = sent(lines(&real, "key", LINES)).await;
    assert_eq!(first.0, 201, "{}", first.2);
    let typed = Part::text(LINES).file_name("other.jsonl").mime_str("text/csv").unwrap();
    let turned = Form::new()
        .part("payload", typed)
        .text("dry-run", "false")
        .text("action", "create_core_profiles");
    let turned =
        real.request(Method::POST, PATH).header("idempotency-key", "key").multipart(turned);
    assert_eq!(sent(turned).await, first, "part order, file name, type and boundary do not count");
    let chunks: Vec<_> = LINES.bytes().map(|byte| Ok::<_, std::io::Error>(vec![byte])).collect();
    let chunked = Part::stream(Body::wrap_stream(futures_util::stream::iter(chunks)));
    let form = Form::new().text("action", "create_core_profiles").part("payload", chunked);
    let chunked = real.request(Method::POST, PATH).header("Idempotency-Key", "key");
    assert_eq!(sent(chunked.multipart(form)).await, first, "nor does how it arrives");
    real.run_tasks();
    real.completed(&first.1).await;
    assert_eq!(sent(lines(&real, "key", LINES)).await, first, "the task is completed now");
    assert_eq!(hits(&real).await, 1);
    real.stop().await;
}

async fn a_replayed_answer_of_any_call_says_so() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    real.run_tasks();
    let replayed = async |request: RequestBuilder| {
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        let mark = answer.headers().get("idempotent-replayed").cloned();
        (mark.map(|mark| mark.to_str().unwrap().to_owned()), answer.text().await.unwrap())
    };
    let faulty = real.run("identity", "create_core_profiles", "{}").await;
    let retry = format!("{}/retry", faulty["links"]["self"].as_str().unwrap());
    let issue = real.request(Method::POST, "/v1/acme/issues").form(&[("message-body", "x")]);
    assert_eq!(replayed(issue).await.0, None, "without a key nothing is replayed");
    let calls: [(&str, Method, &str, Fields<'_>); 6] = [
        ("task", Method::POST, PATH, &[("action", "create_core_profiles"), ("payload", "[{}]")]),
        ("retry", Method::POST, &retry, &[]),
        ("issue", Method::POST, "/v1/acme/issues", &[("message-body", "x")]),
        ("message", Method::POST, "/v1/acme/issues/1/messages", &[("message-body", "x")]),
        ("note", Method::POST, "/v1/acme/issues/1/private-notes", &[("note-text", "x")]),
        ("edit", Method::PUT, "/v1/acme/issues/1", &[("title", "x")]),
    ];
    for (key, method, path, fields) in calls {
        let call = || {
            let request = real.request(method.clone(), path).header("Idempotency-Key", key);
            if fields.is_empty() { request } else { request.form(fields) }
        };
        let (mark, first) = replayed(call()).await;
        assert_eq!(mark, None, "{key}");
        assert_eq!(replayed(call()).await, (Some("true".to_owned()), first), "{key}");
    }
    real.stop().await;
}

async fn a_used_key_with_other_content_is_refused_and_a_new_key_is_not() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    assert_eq!(sent(lines(&real, "key", LINES)).await.0, 201);
    let form = |fields: &[(&'static str, &'static str)]| {
        let form = real.request(Method::POST, PATH).header("Idempotency-Key", "key");
        form.form(fields)
    };
    let (action, payload) = (("action", "create_core_profiles"), ("payload", "[{}]"));
    for (case, request) in [
        ("payload", lines(&real, "key", &LINES.replace('b', "c"))),
        ("a space in it", lines(&real, "key", &format!("{LINES} "))),
        ("action", form(&[("action", "update_core_profiles"), payload])),
        ("option", form(&[action, payload, ("dry_run", "true")])),
    ] {
        let (status, _, body) = sent(request).await;
        assert_eq!((status, code(&body).as_str()), (422, "idempotency_key_reused"), "{case}");
    }
    let other_path = Form::new().text("action", "import_issues").text("payload", LINES);
    let other_path = real
        .request(Method::POST, "/v2/acme/issues/bulk_actions")
        .header("Idempotency-Key", "key")
        .multipart(other_path);
    assert_eq!(sent(other_path).await.0, 422, "the other path");
    assert_eq!(sent(lines(&real, "fresh", LINES)).await.0, 201);
    assert_eq!(hits(&real).await, 2);
    real.stop().await;
}

async fn a_refused_request_leaves_its_key_free() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let (status, _, body) = sent(lines(&real, "key", "")).await;
    assert_eq!((status, code(&body).as_str()), (400, "empty_payload"));
    let denied = real
        .client
        .post(format!("http://{}{PATH}", real.address))
        .bearer_auth(READ)
        .header("Idempotency-Key", "key")
        .form(&[("action", "create_core_profiles"), ("payload", "[{}]")]);
    assert_eq!(sent(denied).await.0, 403);
    assert_eq!(sent(lines(&real, "key", LINES)).await.0, 201);
    real.stop().await;
}

async fn faults_of_the_key_are_reported_with_the_other_faults() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let long = "x".repeat(256);
    let form = [("payload", "[{}]"), ("dry_run", "yes")];
    for key in ["", &long] {
        let request = real.request(Method::POST, PATH).header("Idempotency-Key", key).form(&form);
        let (status, _, body) = sent(request).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        let faults: Vec<_> =
            body["errors"].as_array().unwrap().iter().map(|f| f["parameter"].as_str()).collect();
        let all = [Some("action"), Some("Idempotency-Key"), Some("dry_run")];
        assert_eq!((status, faults), (400, all.to_vec()), "{body}");
    }
    let (status, ..) = sent(lines(&real, &"ä".repeat(255), LINES)).await;
    assert_eq!(status, 201, "characters count, not bytes");
    real.stop().await;
}

/// A request with the key on a connection of its own, up to its body, which the server reads now.
async fn begun(real: &RealServer, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(real.address).await.unwrap();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nExpect: 100-continue\r\n\
         Authorization: Bearer {WRITE}\r\nIdempotency-Key: key\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n",
        real.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    stream
}

async fn a_key_whose_first_request_still_arrives_is_in_progress() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let form = "action=create_core_profiles&payload=%5B%7B%7D%5D";
    let mut slow = begun(&real, form).await;
    let repeat = || {
        let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
        real.request(Method::POST, PATH).header("Idempotency-Key", "key").form(&form)
    };
    let answer = repeat().send().await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "1");
    let (status, _, body) = whole(answer).await;
    assert_eq!((status, code(&body).as_str()), (409, "idempotency_in_progress"));
    assert_eq!(hits(&real).await, 0);
    slow.write_all(form.as_bytes()).await.unwrap();
    let first = rest(&mut slow).await;
    let (status, location, body) = sent(repeat()).await;
    assert_eq!(status, 201);
    for part in ["\r\nHTTP/1.1 201 ", &format!("\r\nlocation: {location}\r\n"), &body] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    real.stop().await;
}

async fn a_client_that_disconnects_leaves_its_key_free() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let gone = begun(&real, LINES).await;
    assert_eq!(sent(lines(&real, "key", LINES)).await.0, 409);
    drop(gone);
    let mut status = 409;
    until("the mark goes", async || {
        status = sent(lines(&real, "key", LINES)).await.0;
        status != 409
    })
    .await;
    assert_eq!(status, 201);
    real.stop().await;
}

async fn a_hundred_repeats_at_once_make_one_task() {
    let real = RealServer::start().await;
    for round in 0..3 {
        let key = format!("key-{round}");
        let answers = join_all((0..100).map(|_| sent(lines(&real, &key, LINES)))).await;
        let mut created = HashSet::new();
        for (status, location, body) in answers {
            match status {
                201 => drop(created.insert((location, body))),
                409 => assert_eq!(code(&body), "idempotency_in_progress"),
                other => panic!("{other}: {body}"),
            }
        }
        assert_eq!(created.len(), 1, "all have the same answer");
        let later = sent(lines(&real, &key, LINES)).await;
        assert!(created.contains(&(later.1, later.2)));
        assert_eq!(hits(&real).await, round + 1);
    }
    real.stop().await;
}

async fn a_key_lasts_a_day_at_least_and_expires_with_its_task() {
    let day = 24 * 3_600_000;
    let keep_results = Duration::from_mins(1);
    let real = RealServer::without_runner(ApiConfig { keep_results, ..ApiConfig::default() }).await;
    let first = sent(lines(&real, "key", LINES)).await;
    real.turned.store(day - 10_000, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(sent(lines(&real, "key", LINES)).await, first);
    real.turned.store(day, std::sync::atomic::Ordering::SeqCst);
    while real.store.purge_expired(real.clock.now()).await.unwrap() {}
    let next = sent(lines(&real, "key", &LINES.replace('b', "c"))).await;
    assert_eq!(next.0, 201);
    assert_ne!(next.1, first.1);
    real.stop().await;
}

async fn a_compressed_and_a_plain_repeat_are_the_same_request() {
    let gzip = |plain: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, plain).unwrap();
        encoder.finish().unwrap()
    };
    let part = |name, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let form_b = |lines: &str| {
        let form = part("action", "create_core_profiles") + &part("payload", lines) + "--b--\r\n";
        (form.into_bytes(), "multipart/form-data; boundary=b")
    };
    let array = "[{\"identities\":[{\"uid\":\"a\"}]}]";
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("action", "create_core_profiles").append_pair("payload", array);
    let form_a = (form.finish().into_bytes(), "application/x-www-form-urlencoded");
    let real = RealServer::without_runner(ApiConfig::default()).await;
    for (key, (body, kind)) in [("b", form_b(LINES)), ("a", form_a)] {
        let send = |coding: &'static str, body: Vec<u8>| {
            let request = real.request(Method::POST, PATH).header("Idempotency-Key", key);
            let request = request.header("Content-Type", kind);
            sent(request.header("Content-Encoding", coding).body(body))
        };
        let first = send("gzip", gzip(&body)).await;
        assert_eq!(first.0, 201, "{}", first.2);
        assert_eq!(send("identity", body.clone()).await, first);
        assert_eq!(send("zstd", zstd::encode_all(&*body, 3).unwrap()).await, first);
        let other = send("gzip", gzip(&form_b("{}\n").0)).await;
        assert_ne!(other.0, 201, "{}", other.2);
    }
    assert_eq!(hits(&real).await, 2);
    real.stop().await;
}
