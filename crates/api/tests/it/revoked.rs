//! A key that is revoked while a request is arriving: the request is refused, however far it has
//! come, and nothing of it takes effect.

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use futures_util::StreamExt as _;
use reqwest::{Body, Method, Response};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::real_server::RealServer;
use crate::server::WRITE;

on_each_store!(
    a_form_that_was_arriving_when_its_key_was_revoked_changes_nothing,
    an_upload_that_was_arriving_when_its_key_was_revoked_makes_no_task,
    a_call_that_a_cached_key_opens_is_refused_once_the_key_is_revoked,
);

const ISSUES: &str = "/v1/acme/issues";
const TASKS: &str = "/v2/acme/identity/bulk_actions";

/// Sends `first`, revokes the key once the server may have it, and sends `rest`.
async fn interrupted(
    real: &RealServer,
    (method, path): (Method, &str),
    content_type: &str,
    (first, rest): (String, String),
) -> Response {
    // The server knows the key from now on, and asks the store no more for some seconds.
    let warm = real.request(Method::GET, ISSUES).send().await.unwrap();
    assert_eq!(warm.status(), 200);
    let (revoked, is_revoked) = oneshot::channel::<()>();
    let first = futures_util::stream::once(async move { Ok::<_, std::io::Error>(first) });
    let rest = futures_util::stream::once(async move {
        is_revoked.await.unwrap();
        Ok(rest)
    });
    let body = Body::wrap_stream(first.chain(rest));
    let request = real.request(method, path).header("Content-Type", content_type).body(body);
    let sending = tokio::spawn(request.send());
    let key = format!("key-{WRITE}");
    assert!(real.store.revoke_key(real.domain, &key, real.clock.now().into()).await.unwrap());
    revoked.send(()).unwrap();
    sending.await.unwrap().unwrap()
}

async fn assert_unauthorized(answer: Response) {
    assert_eq!(answer.status(), 401);
    assert!(answer.headers().contains_key("www-authenticate"));
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], "unauthorized");
}

async fn a_form_that_was_arriving_when_its_key_was_revoked_changes_nothing() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let form = "application/x-www-form-urlencoded";
    let parts = ("message-body=too".to_owned(), "+late".to_owned());
    let answer = interrupted(&real, (Method::POST, ISSUES), form, parts).await;
    assert_unauthorized(answer).await;
    let read = real.client.get(real.url(ISSUES)).bearer_auth(crate::server::READ);
    let list: Value = read.send().await.unwrap().json().await.unwrap();
    assert_eq!(list["total-hits"], 0);
    real.stop().await;
}

async fn an_upload_that_was_arriving_when_its_key_was_revoked_makes_no_task() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let begin = concat!(
        "--b\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\ncreate_core_profiles\r\n",
        "--b\r\nContent-Disposition: form-data; name=\"payload\"; filename=\"p\"\r\n\r\n"
    );
    let entry = |n: usize| format!("{}\n", json!({"identities": [{"uid": format!("u{n}")}]}));
    let first = begin.to_owned() + &(0..100).map(entry).collect::<String>();
    let rest = (100..200).map(entry).collect::<String>() + "\r\n--b--\r\n";
    let content_type = "multipart/form-data; boundary=b";
    let answer = interrupted(&real, (Method::POST, TASKS), content_type, (first, rest)).await;
    assert_unauthorized(answer).await;
    let read = real.client.get(real.url(TASKS)).bearer_auth(crate::server::READ);
    let list: Value = read.send().await.unwrap().json().await.unwrap();
    assert_eq!(list["total-hits"], 0);
    real.stop().await;
}

async fn a_call_that_a_cached_key_opens_is_refused_once_the_key_is_revoked() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let fields = [("message-body", "x")];
    let made = real.request(Method::POST, ISSUES).form(&fields).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let task =
        [("action", "create_core_profiles"), ("payload", r#"[{"identities":[{"uid":"u"}]}]"#)];
    let task = real.request(Method::POST, TASKS).form(&task).send().await.unwrap();
    let task: Value = task.json().await.unwrap();
    let key = format!("key-{WRITE}");
    assert!(real.store.revoke_key(real.domain, &key, real.clock.now().into()).await.unwrap());
    let cancel = format!("{TASKS}/{}/cancel", task["task_id"].as_str().unwrap());
    for (method, path, fields) in [
        (Method::POST, format!("{ISSUES}/1/messages"), vec![("message-body", "x")]),
        (Method::POST, format!("{ISSUES}/1/private-notes"), vec![("note-text", "x")]),
        (Method::PUT, format!("{ISSUES}/1"), vec![("title", "x")]),
        (Method::PUT, ISSUES.to_owned(), vec![("issue-ids", "1"), ("status", "resolved")]),
        (Method::POST, cancel, vec![]),
    ] {
        assert_unauthorized(real.request(method, &path).form(&fields).send().await.unwrap()).await;
    }
    real.stop().await;
}
