//! Webhooks over HTTP: settings, faults, the secret, replays, tests and deliveries.

use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{Attempt, AttemptEnd, AttemptKind};
use caseload_store::{AfterAttempt, ClaimWebhooks, CreateKey, RecordAttempt};
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::real_server::RealServer;

on_each_store!(threads 2:
    a_webhook_is_created_read_changed_and_deleted,
    only_an_admin_key_reaches_webhooks,
    all_faults_of_a_webhook_come_at_once,
    the_secret_is_only_in_the_answers_that_make_it,
    a_replay_moves_the_cursor,
    deliveries_show_how_each_attempt_ended,
);

const ADMIN: &str = "administrator";
const ALL: &str = "/v1/acme/webhooks";
const URL: &str = "https://example.com/hook";

async fn start() -> RealServer {
    let real = RealServer::start().await;
    let key = CreateKey {
        domain: real.domain,
        id: "key-admin".to_owned(),
        hash: Sha256::digest(ADMIN).into(),
        name: "boss".to_owned(),
        access: Access::Admin,
        origin: real.clock.now().into(),
        expires_at: None,
    };
    real.store.create_key(key).await.unwrap();
    real
}

async fn call(real: &RealServer, method: Method, path: &str, body: Option<Value>) -> Response {
    let mut request = real.client.request(method, real.url(path)).bearer_auth(ADMIN);
    if let Some(body) = body {
        request = request.json(&body);
    }
    request.send().await.unwrap()
}

/// The JSON of an answer with this status.
async fn json_of(answer: Response, status: u16) -> Value {
    let (found, text) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

async fn get(real: &RealServer, path: &str) -> Value {
    json_of(call(real, Method::GET, path, None).await, 200).await
}

/// A new webhook, and its path.
async fn create(real: &RealServer) -> (Value, String) {
    let made = json_of(call(real, Method::POST, ALL, Some(json!({"url": URL}))).await, 201).await;
    let path = format!("{ALL}/{}", made["id"].as_str().unwrap());
    (made, path)
}

async fn a_webhook_is_created_read_changed_and_deleted() {
    let real = start().await;
    assert_eq!(get(&real, ALL).await, json!({"webhooks": []}));
    let fields = json!({
        "url": URL, "resources": ["task", "issue"], "actions": ["completed"],
        "include_record": true,
    });
    let mut made = json_of(call(&real, Method::POST, ALL, Some(fields)).await, 201).await;
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"), "{made}");
    made.as_object_mut().unwrap().remove("secret");
    let path = format!("{ALL}/{}", made["id"].as_str().unwrap());
    assert_eq!(made["resources"], json!(["issue", "task"]));
    assert_eq!((&made["include_record"], &made["paused"]), (&json!(true), &json!(false)));
    assert_eq!(get(&real, &path).await, made);
    assert_eq!(get(&real, ALL).await, json!({"webhooks": [made]}));
    // A form is as good, with lists in every form.
    let edit = [("resources", "task"), ("actions", ""), ("paused", "true")];
    let request = real.client.put(real.url(&path)).bearer_auth(ADMIN).form(&edit);
    let edited = json_of(request.send().await.unwrap(), 200).await;
    assert_eq!(edited["resources"], json!(["task"]));
    assert_eq!((&edited["actions"], &edited["paused"]), (&json!([]), &json!(true)));
    assert_eq!((&edited["url"], &edited["pause_reason"]), (&json!(URL), &Value::Null));
    assert_eq!(call(&real, Method::DELETE, &path, None).await.status(), 204);
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PUT, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}/rotate-secret")),
        (Method::POST, format!("{path}/test")),
        (Method::POST, format!("{path}/replay?cursor=latest")),
        (Method::GET, format!("{path}/deliveries")),
        (Method::GET, format!("{ALL}/%ff")),
    ] {
        let body = (method == Method::PUT).then(|| json!({"paused": true}));
        let answer = json_of(call(&real, method, &path, body).await, 404).await;
        assert!(answer["detail"].as_str().unwrap().contains("no webhook"), "{answer}");
    }
    let log = "/v1/acme/changes?resources=webhook";
    let log = get(&real, log).await;
    let actions: Vec<_> =
        log["changes"].as_array().unwrap().iter().map(|change| &change["action"]).collect();
    assert_eq!(actions, ["created", "updated", "deleted"]);
    assert_eq!(log["changes"][1]["fields"], json!(["resources", "actions", "paused"]));
    assert_eq!(log["changes"][1]["by"]["key_name"], "boss");
}

async fn only_an_admin_key_reaches_webhooks() {
    let real = start().await;
    let (_, path) = create(&real).await;
    for (method, path) in [
        (Method::GET, ALL.to_owned()),
        (Method::POST, ALL.to_owned()),
        (Method::GET, path.clone()),
        (Method::PUT, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}/rotate-secret")),
        (Method::POST, format!("{path}/test")),
        (Method::POST, format!("{path}/replay?cursor=latest")),
        (Method::GET, format!("{path}/deliveries")),
    ] {
        let answer = real.request(method.clone(), &path).send().await.unwrap();
        assert_eq!(answer.status(), 403, "{method} {path}");
    }
}

async fn all_faults_of_a_webhook_come_at_once() {
    let real = start().await;
    let sent = json!({
        "url": "http://user@127.0.0.1/", "resources": ["ticket"], "paused": "perhaps",
        "secret": "x",
    });
    let answer = json_of(call(&real, Method::POST, ALL, Some(sent)).await, 400).await;
    let faults: Vec<_> = answer["errors"].as_array().unwrap().iter().collect();
    let mut named: Vec<_> =
        faults.iter().map(|fault| fault["parameter"].as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(named, ["paused", "resources", "secret", "url", "url"], "{answer}");
    assert!(answer.to_string().contains("--webhook-allow-private"), "{answer}");
    let answer = json_of(call(&real, Method::POST, ALL, Some(json!({}))).await, 400).await;
    assert_eq!(answer["errors"][0]["code"], "missing_field");
    assert_eq!(get(&real, ALL).await, json!({"webhooks": []}));
}

async fn the_secret_is_only_in_the_answers_that_make_it() {
    let real = start().await;
    let (made, path) = create(&real).await;
    let rotate = format!("{path}/rotate-secret");
    let rotated = json_of(call(&real, Method::POST, &rotate, None).await, 200).await;
    let secrets = [&made, &rotated].map(|answer| answer["secret"].as_str().unwrap().to_owned());
    assert_ne!(secrets[0], secrets[1]);
    for path in [ALL, &path, &format!("{path}/deliveries"), "/v1/acme/changes"] {
        let shown = get(&real, path).await.to_string();
        assert!(!shown.contains("secret\":") && !shown.contains("whsec_"), "{path}: {shown}");
    }
}

async fn a_replay_moves_the_cursor() {
    let real = start().await;
    let (made, path) = create(&real).await;
    let replay = async |cursor: &str, status: u16| {
        let path = format!("{path}/replay{cursor}");
        json_of(call(&real, Method::POST, &path, None).await, status).await
    };
    assert_eq!(replay("?cursor=*", 200).await["cursor"], "0");
    assert_eq!(replay("?cursor=1", 200).await["cursor"], "1");
    let latest = replay("?cursor=latest", 200).await;
    let position = |webhook: &Value| webhook["cursor"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(position(&latest) > position(&made), "{latest}");
    for (wrong, code) in [
        ("", "missing_field"),
        ("?cursor=x", "invalid_value"),
        ("?cursor=99999", "invalid_value"),
        ("?cursor=1&since=2", "unknown_parameter"),
    ] {
        assert_eq!(replay(wrong, 400).await["errors"][0]["code"], code, "{wrong}");
    }
    // Replays are changes themselves, but not to their webhook's cursor.
    let now = real.clock.now();
    while real.store.purge_changes(UnixMillis(now.0 + 1)).await.unwrap() {}
    assert_eq!(replay("?cursor=1", 410).await["code"], "cursor_expired");
}

async fn deliveries_show_how_each_attempt_ended() {
    let real = start().await;
    let (made, path) = create(&real).await;
    let test = format!("{path}/test");
    assert_eq!(call(&real, Method::POST, &test, None).await.status(), 202);
    let now = real.clock.now();
    let lease_until = UnixMillis(now.0 + 60_000);
    let claim = ClaimWebhooks { server: "one".into(), now, lease_until, webhooks_max: 9 };
    let claimed = real.store.claim_webhooks(claim).await.unwrap().remove(0);
    assert!(claimed.test && claimed.webhook.id == made["id"].as_str().unwrap());
    let changes = AttemptKind::Changes { count: 2, first: 3, last: 7 };
    let answered = AttemptEnd::Answered { status: 500, answer: "sorry".to_owned() };
    let silent = AttemptEnd::NoAnswer { reason: "refused".to_owned() };
    let retry = AfterAttempt::Retry { at: UnixMillis(now.0 + 5000), until: 7 };
    for (kind, end, then) in
        [(AttemptKind::Test, answered, AfterAttempt::Tested), (changes, silent, retry)]
    {
        let attempt =
            Attempt { at: now, duration_ms: 5, message_id: "msg_1".to_owned(), kind, end };
        let record = RecordAttempt {
            domain: real.domain,
            id: claimed.webhook.id.clone(),
            lease_epoch: claimed.lease_epoch,
            now,
            attempt: Some(attempt),
            then,
            lease_until: Some(lease_until),
        };
        real.store.record_attempt(record).await.unwrap();
    }
    let found = get(&real, &format!("{path}/deliveries")).await;
    let expected = json!({"deliveries": [
        {
            "at": now.0, "duration_ms": 5, "message_id": "msg_1", "test": false, "changes": 2,
            "first_position": "3", "last_position": "7", "succeeded": false, "status": null,
            "answer": null, "fault": "refused",
        },
        {
            "at": now.0, "duration_ms": 5, "message_id": "msg_1", "test": true, "changes": 0,
            "first_position": null, "last_position": null, "succeeded": false, "status": 500,
            "answer": "sorry", "fault": null,
        },
    ]});
    assert_eq!(found, expected);
    let webhook = get(&real, &path).await;
    assert_eq!((&webhook["failures"], &webhook["next_try_at"]), (&json!(1), &json!(now.0 + 5000)));
}
