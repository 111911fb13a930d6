//! Erasing a person by a call: the dry run, the task with its receipt, and the reads after it.

use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::issues::support::create;
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(threads 2:
    an_erased_person_is_in_no_answer_that_follows,
    a_faulty_erasure_names_all_faults_and_erases_nothing,
    a_repeated_erasure_gets_the_first_answer,
    a_reader_sees_what_tasks_hold_of_a_person,
);

const ERASURES: &str = "/v1/acme/erasures";
const ISSUES: &str = "/v1/acme/issues";
const ADA: (&str, &str) = ("identity", "email:Ada@example.org");

async fn send(real: &RealServer, fields: &[(&str, &str)]) -> Response {
    real.request(Method::POST, ERASURES).form(fields).send().await.unwrap()
}

async fn json_of(answer: Response, status: u16) -> Value {
    let (found, body) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(found, status, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// A server with two people; the issue of the first one and her core profile.
async fn with_people() -> (RealServer, String, String) {
    let real = RealServer::start().await;
    let ada = [("message-body", "secret"), ("title", "secret title"), ("email", "ada@example.org")];
    let issue = create(&real, &ada).await;
    create(&real, &[("message-body", "y"), ("email", "bob@example.org")]).await;
    let people = ["ada", "bob"].map(|name| {
        let email = format!("{name}@example.org");
        json!({"identities": [{"email": email}], "names": {"first_name": format!("{name} name")}})
            .to_string()
    });
    let task = real.run("identity", "create_core_profiles", &people.join("\n")).await;
    let made = real.lines(&task, "results").await;
    let made: Value = serde_json::from_str(made.lines().next().unwrap()).unwrap();
    let id = made["core-profile-id"].as_str().unwrap().to_owned();
    (real, issue, id)
}

async fn tag(real: &RealServer, path: &str) -> String {
    let answer = real.request(Method::GET, path).send().await.unwrap();
    answer.headers()["etag"].to_str().unwrap().to_owned()
}

async fn an_erased_person_is_in_no_answer_that_follows() {
    let (real, issue, id) = with_people().await;
    let core = format!("/v2/acme/identity/core_profiles/{id}");
    let search = format!("{ISSUES}?text=secret");
    assert_eq!(real.json(&search).await["total-hits"], 1);
    let tags = [tag(&real, &issue).await, tag(&real, ISSUES).await];
    let promised = json_of(send(&real, &[ADA, ("dry_run", "true")]).await, 200).await;
    assert_eq!(promised["erased_at"], Value::Null);
    assert_eq!(promised["core_profile_ids"], json!([id]));
    let same = json_of(send(&real, &[("core_profile_id", &id), ("dry-run", "1")]).await, 200).await;
    assert_eq!(same, promised);
    let task = json_of(send(&real, &[ADA]).await, 201).await;
    assert_eq!(task["action"], "erase_person");
    let task = real.completed(task["links"]["self"].as_str().unwrap()).await;
    assert_eq!(task["outcome"], "succeeded");
    let receipt: Value = serde_json::from_str(&real.lines(&task, "results").await).unwrap();
    for name in ["counts", "core_profile_ids", "pids", "issue_ids"] {
        assert_eq!(receipt[name], promised[name], "{name}");
    }
    assert!(receipt["erased_at"].is_i64());
    let listed = real.json("/v2/acme/issues/bulk_actions?action=erase_person").await;
    assert_eq!(listed["total-hits"], 1);
    assert_eq!(real.json(&search).await["total-hits"], 0);
    let shown = real.text(&issue).await;
    assert!(!shown.contains("secret") && !shown.contains("ada@"), "{shown}");
    assert!(shown.contains(r#""redacted":true"#), "{shown}");
    assert_ne!([tag(&real, &issue).await, tag(&real, ISSUES).await], tags);
    let answer = real.request(Method::GET, &core).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    for (path, action) in [(&issue, "redacted"), (&core, "erased")] {
        let history = real.text(&format!("{path}/changes")).await;
        let newest: Value = serde_json::from_str(&history).unwrap();
        assert_eq!(newest["changes"][0]["action"], action, "{path}");
        assert!(!history.contains("secret"), "{history}");
    }
    json_of(send(&real, &[ADA]).await, 404).await;
}

async fn a_faulty_erasure_names_all_faults_and_erases_nothing() {
    let (real, issue, id) = with_people().await;
    let before = real.text(&issue).await;
    let problem = json_of(send(&real, &[]).await, 400).await;
    assert_eq!(problem["errors"][0]["code"], "missing_field", "{problem}");
    let two = [ADA, ("pid", "p"), ("core-profile-id", "x"), ("issues", "keep"), ("who", "me")];
    let problem = json_of(send(&real, &two).await, 400).await;
    assert_eq!(problem["errors"].as_array().unwrap().len(), 5, "{problem}");
    let nobody = [("identity", "email:nobody@example.org"), ("dry_run", "true")];
    json_of(send(&real, &nobody).await, 404).await;
    let by_reader = real.client.post(real.url(ERASURES)).basic_auth(READ, Some("")).form(&[ADA]);
    json_of(by_reader.send().await.unwrap(), 403).await;
    let entries = [("action", "erase_person"), ("payload", r#"[{"person":{}}]"#)];
    let path = "/v2/acme/issues/bulk_actions";
    let task = real.request(Method::POST, path).form(&entries).send().await.unwrap();
    let problem = json_of(task, 400).await;
    assert!(problem.to_string().contains("/v1/acme/erasures"), "{problem}");
    assert_eq!(real.text(&issue).await, before);
    let core = real.json(&format!("/v2/acme/identity/core_profiles/{id}")).await;
    assert!(core.to_string().contains("ada name"), "{core}");
}

async fn a_repeated_erasure_gets_the_first_answer() {
    let (real, ..) = with_people().await;
    let send = async |fields: &[(&str, &str)]| {
        let request = real.request(Method::POST, ERASURES).header("Idempotency-Key", "k");
        request.form(fields).send().await.unwrap()
    };
    let first = json_of(send(&[ADA]).await, 201).await;
    real.completed(first["links"]["self"].as_str().unwrap()).await;
    let again = send(&[ADA]).await;
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(json_of(again, 201).await, first);
    json_of(send(&[("identity", "email:bob@example.org")]).await, 422).await;
}

async fn a_reader_sees_what_tasks_hold_of_a_person() {
    let (real, _, id) = with_people().await;
    let by_reader = async |fields: &[(&str, &str)]| {
        let call = real.client.post(real.url(ERASURES)).basic_auth(READ, Some(""));
        call.form(&[&[ADA][..], fields].concat()).send().await.unwrap()
    };
    let shown = json_of(by_reader(&[("dry_run", "true"), ("tasks", "*")]).await, 200).await;
    assert_eq!(shown["core_profile_ids"], json!([id]));
    assert_eq!((&shown["next-tasks"], &shown["counts"]["records"]), (&Value::Null, &json!(1)));
    let task = &shown["tasks"][0];
    assert_eq!(task["action"], "create_core_profiles");
    assert_eq!((&task["entries"], &task["errors"]), (&json!([]), &json!([])));
    assert_eq!(task["results"][0]["core-profile-id"], id.as_str());
    assert!(!shown.to_string().contains("bob"), "{shown}");
    let whole = json_of(by_reader(&[("dry_run", "true")]).await, 200).await;
    assert_eq!((&whole["counts"], whole.get("tasks")), (&shown["counts"], None));
    let last = json_of(by_reader(&[("dry_run", "true"), ("tasks", "999")]).await, 200).await;
    assert_eq!((&last["tasks"], &last["next-tasks"]), (&json!([]), &Value::Null));
    json_of(by_reader(&[("tasks", "*")]).await, 403).await;
    let problem = json_of(send(&real, &[ADA, ("tasks", "*")]).await, 400).await;
    assert_eq!(problem["errors"][0]["code"], "conflicting_parameter", "{problem}");
    json_of(by_reader(&[("dry_run", "true"), ("tasks", "first")]).await, 400).await;
}
