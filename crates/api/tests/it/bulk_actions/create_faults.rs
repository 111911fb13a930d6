//! `POST …/bulk_actions`: the refused requests and their answers. A refused request never reaches
//! the store.

use caseload_api::ApiConfig;
use caseload_store::StoreError;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::server::{Server, snapshot};

const PATH: &str = "/v2/acme/identity/bulk_actions";

fn post(server: &Server, path: &str) -> RequestBuilder {
    server.request(Method::POST, path)
}

async fn refused(request: RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    assert_eq!(answer.headers()["content-type"], "application/problem+json; charset=utf-8");
    (status, answer.json().await.unwrap())
}

/// `parameter code` of each fault.
fn faults(body: &Value) -> Vec<String> {
    let fault =
        |f: &Value| format!("{} {}", f["parameter"].as_str().unwrap(), f["code"].as_str().unwrap());
    body["errors"].as_array().unwrap().iter().map(fault).collect()
}

#[tokio::test]
async fn every_fault_of_a_form_is_reported_at_once() {
    let server = Server::start().await;
    let form =
        [("acton", "create_core_profiles"), ("payload", "{}"), ("payload", "[]"), ("x", "1")];
    let answer = post(&server, &format!("{PATH}?dryrun=true")).form(&form).send().await.unwrap();
    insta::assert_snapshot!(snapshot(answer).await);
    assert!(server.store.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn faults_of_form_a_have_their_codes() {
    let server = Server::start().await;
    let action = ("action", "create_core_profiles");
    let payload = ("payload", "[{}]");
    let many = format!("[{}{{}}]", "{},".repeat(10_000));
    let many = ("payload", many.as_str());
    for (form, expected) in [
        (&[][..], &["action missing_field", "payload missing_field"][..]),
        (&[action], &["payload missing_field"]),
        (&[payload], &["action missing_field"]),
        (&[("action", ""), payload], &["action missing_field"]),
        (&[("action", "create"), payload], &["action unknown_action"]),
        (&[("action", "import_issues"), payload], &["action unknown_action"]),
        (&[("action", "CREATE_CORE_PROFILES"), payload], &["action unknown_action"]),
        (&[action, ("payload", "")], &["payload empty_payload"]),
        (&[action, ("payload", "[]")], &["payload empty_payload"]),
        (&[action, ("payload", "{}")], &["payload invalid_payload"]),
        (&[action, ("payload", "{}\n{}")], &["payload invalid_payload"]),
        (&[action, ("payload", "[{},]")], &["payload invalid_payload"]),
        (&[action, ("payload", "[{}] x")], &["payload invalid_payload"]),
        (&[action, many], &["payload too_many_entries"]),
        (&[action, payload, payload], &["payload conflicting_parameter"]),
        (&[action, ("action", "get_core_profiles"), payload], &["action conflicting_parameter"]),
        (
            &[action, payload, ("dry_run", "true"), ("dry_run", "false")],
            &["dry_run conflicting_parameter"],
        ),
        (&[action, payload, ("dry_ran", "true")], &["dry_ran unknown_parameter"]),
        (&[action, payload, ("dry-run", "yes")], &["dry_run invalid_value"]),
        (&[action, ("dry_run", "")], &["payload missing_field", "dry_run invalid_value"]),
        (&[("action", "x"), many], &["action unknown_action", "payload too_many_entries"]),
    ] {
        let (status, body) = refused(post(&server, PATH).form(&form)).await;
        assert_eq!(
            (status, faults(&body)),
            (400, expected.iter().map(|&f| f.to_owned()).collect())
        );
        assert_eq!(body["code"], expected[0].split(' ').nth(1).unwrap());
    }
    assert!(server.store.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn faults_of_form_b_have_their_codes() {
    let server = Server::start().await;
    let many = "{}\n".repeat(10_001);
    for (payload, code) in [
        ("", "empty_payload"),
        ("\r\n \n", "empty_payload"),
        ("\u{feff}", "empty_payload"),
        ("[]", "empty_payload"),
        ("[{}", "invalid_payload"),
        ("[{}]\n{}", "invalid_payload"),
        (&many, "too_many_entries"),
    ] {
        let part = Part::text(payload.to_owned()).file_name("p.jsonl");
        let form = Form::new().part("payload", part).text("action", "create_core_profiles");
        let (status, body) = refused(post(&server, PATH).multipart(form)).await;
        assert_eq!((status, faults(&body)), (400, vec![format!("payload {code}")]));
    }
}

#[tokio::test]
async fn actions_are_listed_and_the_other_path_is_named() {
    let server = Server::start().await;
    for (path, action) in [
        (PATH, "import_issues"),
        ("/v2/acme/issues/bulk_actions", "get_core_profiles"),
        (PATH, "create_core_profile"),
    ] {
        let form = [("action", action), ("payload", "[{}]")];
        let (_, body) = refused(post(&server, path).form(&form)).await;
        insta::assert_snapshot!(body["detail"].as_str().unwrap());
    }
}

#[tokio::test]
async fn unsupported_content_types_and_encodings_are_refused() {
    let server = Server::start().await;
    let typed =
        |content_type: &str| post(&server, PATH).header("Content-Type", content_type).body("[{}]");
    for request in [
        typed("application/xml"),
        typed("text/plain; charset=utf-8"),
        typed("multipart/mixed; boundary=x"),
        post(&server, PATH).body("[{}]"),
        typed("application/x-www-form-urlencoded").header("Content-Encoding", "br"),
    ] {
        let (status, body) = refused(request).await;
        assert_eq!((status, &body["code"]), (415, &"unsupported_media_type".into()));
    }
    insta::assert_snapshot!(snapshot(typed("application/xml").send().await.unwrap()).await);
}

#[tokio::test]
async fn a_request_without_a_body_is_a_form_without_fields() {
    let server = Server::start().await;
    for request in [post(&server, PATH), post(&server, PATH).header("Content-Length", "0")] {
        let (status, body) = refused(request).await;
        let missing = ["action missing_field", "payload missing_field"].map(str::to_owned);
        assert_eq!((status, faults(&body)), (400, missing.to_vec()));
    }
}

#[tokio::test]
async fn bodies_that_do_not_match_their_content_type_are_refused() {
    let server = Server::start().await;
    let disposition = "--b\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\n";
    for (content_type, body) in [
        ("application/x-www-form-urlencoded", "action=%zz"),
        ("application/x-www-form-urlencoded", "payload=100%"),
        ("multipart/form-data", "x"),
        ("multipart/form-data; boundary=b", "no part at all"),
        ("multipart/form-data; boundary=b", disposition),
        ("multipart/form-data; boundary=b", &format!("{disposition}x\r\n--c--")),
    ] {
        let request = post(&server, PATH).header("Content-Type", content_type);
        let (status, body) = refused(request.body(body.to_owned())).await;
        assert_eq!((status, &body["code"]), (400, &"invalid_request".into()), "{body}");
    }
    let broken = "action=a&payload=100%";
    let request = post(&server, PATH).header("Content-Type", "application/x-www-form-urlencoded");
    let (_, body) = refused(request.body(broken)).await;
    insta::assert_snapshot!(body["detail"].as_str().unwrap());
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused_in_both_forms() {
    let config = ApiConfig { body_bytes_max: 10_000, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let lines = "{\"tags\":[]}\n".repeat(1000);
    let array = format!("[{}{{}}]", "{},".repeat(4000));
    let form_a = [("action", "create_core_profiles"), ("payload", array.as_str())];
    let form_b = Form::new().text("action", "create_core_profiles").text("payload", lines.clone());
    let stream = reqwest::Body::wrap_stream(futures_util::stream::iter(
        lines
            .as_bytes()
            .chunks(1000)
            .map(|c| Ok::<_, std::io::Error>(c.to_vec()))
            .collect::<Vec<_>>(),
    ));
    let part = Part::stream(stream).file_name("p.jsonl");
    let chunked = Form::new().text("action", "create_core_profiles").part("payload", part);
    for request in [
        post(&server, PATH).form(&form_a),
        post(&server, PATH).multipart(form_b),
        post(&server, PATH).multipart(chunked),
    ] {
        let (status, body) = refused(request).await;
        assert_eq!((status, &body["code"]), (413, &"too_large".into()));
    }
    let form = [("action", "create_core_profiles"), ("payload", &array[..9000])];
    let (status, _) = refused(post(&server, PATH).form(&form)).await;
    assert_eq!(status, 413, "the limit is on the body as sent, escapes included");
}

#[tokio::test]
async fn a_full_queue_and_a_failing_store_have_different_answers() {
    let server = Server::start().await;
    let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
    server.store.fail(|| StoreError::QueueFull { unfinished: 1000, limit: 1000 });
    insta::assert_snapshot!(snapshot(post(&server, PATH).form(&form).send().await.unwrap()).await);
    for (fault, status, code) in [
        ((|| StoreError::Closed) as fn() -> StoreError, 503, "unavailable"),
        (|| StoreError::Unavailable("secret".to_owned()), 503, "unavailable"),
        (|| StoreError::Corrupt("secret".to_owned()), 503, "damaged"),
        (|| StoreError::QuotaExceeded("none is left".to_owned()), 429, "quota_exceeded"),
        (|| StoreError::LeaseLost, 500, "internal"),
        (|| panic!("secret"), 500, "internal"),
    ] {
        server.store.fail(fault);
        let (found, body) = refused(post(&server, PATH).form(&form)).await;
        assert_eq!((found, &body["code"]), (status, &code.into()));
        assert!(!body.to_string().contains("secret"), "{body}");
    }
}

#[tokio::test]
async fn millions_of_unknown_fields_are_refused_quickly_and_briefly() {
    let server = Server::start().await;
    let body = "x=1&".repeat(2_000_000) + &"y&z=%41&".repeat(1000);
    let request = post(&server, PATH).header("Content-Type", "application/x-www-form-urlencoded");
    let (status, body) = refused(request.body(body)).await;
    assert_eq!(status, 400);
    // After so many, the rest is not read.
    assert_eq!(faults(&body), ["x unknown_parameter"]);
}
