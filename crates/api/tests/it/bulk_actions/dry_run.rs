//! Dry runs over the real store and runner: their answers, and that they write nothing.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, PATH, create, submit, this, uid};
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(
    a_dry_run_shows_its_outcome_and_writes_nothing,
    a_dry_run_larger_than_a_chunk_still_knows_its_first_entry,
    a_dry_run_of_an_import_shows_its_outcome_and_writes_nothing,
    a_dry_run_shows_what_would_change_if_it_is_asked_to,
);

async fn a_dry_run_shows_its_outcome_and_writes_nothing() {
    let real = RealServer::start().await;
    let first = create(&real, &[uid("a")]).await;
    let first = real.completed(&this(&first)).await;
    let created = real.json(first["links"]["results"].as_str().unwrap()).await;
    let id = created[0]["core-profile-id"].as_str().unwrap().to_owned();
    let payload = json!([uid("x"), uid("a"), uid("x"), {"age": "30"}, uid("y")]).to_string();
    let dry =
        [("action", "create_core_profiles"), ("payload", payload.as_str()), ("dry_run", "true")];
    let url = format!("http://{}{PATH}", real.address);
    let answer = real.client.post(url).bearer_auth(READ).form(&dry).send().await.unwrap();
    assert_eq!(answer.status(), 201, "a read key may try a task that it may not run");
    let task: Value = answer.json().await.unwrap();
    let task = real.completed(&this(&task)).await;
    assert_eq!(
        (&task["dry_run"], &task["outcome"]),
        (&json!(true), &json!("completed_with_errors"))
    );
    let results = real.json(task["links"]["results"].as_str().unwrap()).await;
    let created = |index: u32| json!({"index":index,"line":index + 1,"outcome":"created"});
    assert_eq!(results, json!([created(0), created(4)]));
    let errors = real.json(task["links"]["errors"].as_str().unwrap()).await;
    let details: Vec<_> =
        errors.as_array().unwrap().iter().map(|e| e["errors"][0]["detail"].to_string()).collect();
    assert!(details[0].contains(&id) && details[1].contains("entry 0"), "{details:?}");
    assert_eq!(errors[2]["errors"].as_array().unwrap().len(), 2, "{errors}");
    let again = create(&real, &[uid("x"), uid("y")]).await;
    assert_eq!(real.completed(&this(&again)).await["outcome"], "succeeded");
    real.stop().await;
}

async fn a_dry_run_larger_than_a_chunk_still_knows_its_first_entry() {
    let real = RealServer::start().await;
    let long = "x".repeat(80_000);
    let entry = |uid: &str| {
        json!({"identities":[{"uid":uid}],"custom_fields":{"a":long,"b":long,"c":long}}).to_string()
    };
    let mut lines: Vec<_> = (0..40).map(|n| entry(&format!("u{n}"))).collect();
    lines.push(entry("u0"));
    let lines = lines.join("\n");
    assert!(lines.len() > 9 << 20, "more than fits into a chunk");
    let form = reqwest::multipart::Form::new()
        .text("action", "create_core_profiles")
        .text("dry_run", "true")
        .text("payload", lines);
    let answer = real.request(Method::POST, PATH).multipart(form).send().await.unwrap();
    let task: Value = answer.json().await.unwrap();
    let task = real.completed(&this(&task)).await;
    assert_eq!(task["counts"], json!({"total":41,"succeeded":40,"failed":1,"unprocessed":0}));
    let errors = real.lines(&task, "errors").await;
    assert!(errors.contains("\"index\":40") && errors.contains("entry 0 of"), "{errors:.300}");
    real.stop().await;
}

async fn a_dry_run_of_an_import_shows_its_outcome_and_writes_nothing() {
    let real = RealServer::start().await;
    let issue = |id: u32, title: &str| json!({"id":id,"created_at":1000 + id,"title":title});
    let payload = json!([issue(1, "a"), issue(2, "b"), {"id": "x"}, issue(1, "c")]).to_string();
    let fields = [("action", "import_issues"), ("payload", payload.as_str()), ("dry_run", "true")];
    let (status, task) = submit(&real, ISSUES, &fields).await;
    assert_eq!(status, 201, "{task}");
    let task = real.completed(&this(&task)).await;
    assert_eq!(task["counts"], json!({"total":4,"succeeded":2,"failed":2,"unprocessed":0}));
    assert_eq!(real.json("/v1/acme/issues").await["total-hits"], 0);
    let (_, real_task) = submit(&real, ISSUES, &fields[..2]).await;
    let real_task = real.completed(&this(&real_task)).await;
    assert_eq!(real_task["counts"], task["counts"]);
    assert_eq!(real.json("/v1/acme/issues").await["total-hits"], 2);
    real.stop().await;
}

async fn a_dry_run_shows_what_would_change_if_it_is_asked_to() {
    let real = RealServer::start().await;
    let entry = "{\"identities\":[{\"uid\":\"a\"}],\"lifetime_value\":1.10,\"tags\":[\"x\"]}\n";
    real.run("identity", "create_core_profiles", entry).await;
    let patch = "[{\"identities\":[{\"uid\":\"a\"}],\"lifetime_value\":2.50,\
                 \"custom_fields\":{\"p\":1e1}},\
                 {\"identities\":[{\"uid\":\"a\"}],\"tags\":null},\
                 {\"identities\":[{\"uid\":\"a\"}]},{\"identities\":[{\"uid\":\"b\"}]}]";
    for action in ["upsert_core_profiles", "update_core_profiles"] {
        let fields = [("action", action), ("payload", patch), ("dry_run", "true")];
        let (_, task) = submit(&real, PATH, &fields).await;
        let task = real.completed(&this(&task)).await;
        let path = format!("{}/results", this(&task));
        let plain = real.text(&format!("{path}?format=jsonl")).await;
        assert!(!plain.contains("changes"), "{plain}");
        let shown = real.text(&format!("{path}?format=jsonl&includes=changes")).await;
        let of = |n: usize| {
            let line = shown.lines().nth(n).unwrap();
            line.split_once(",\"changes\":").map(|(_, changes)| changes.to_owned())
        };
        let first = "{\"custom_fields.p\":{\"from\":null,\"to\":1e1},\
                     \"lifetime_value\":{\"from\":1.10,\"to\":2.50}}}";
        assert_eq!(of(0).as_deref(), Some(first));
        assert_eq!(of(1).as_deref(), Some("{\"tags\":{\"from\":[\"x\"],\"to\":null}}}"));
        assert_eq!(of(2), None);
        let length = real.request(Method::HEAD, &path).send().await.unwrap();
        let body = real.text(&path).await;
        assert_eq!(length.headers()["content-length"], body.len().to_string().as_str());
        let table = real.text(&format!("{path}?format=csv&includes=changes")).await;
        let columns = "index,line,outcome,core-profile-id,warnings,changes,changes_left_out";
        assert!(table.starts_with(&format!("{columns}\r\n")));
        let refused = real.request(Method::GET, &format!("{path}?includes=all")).send().await;
        assert_eq!(refused.unwrap().status(), 400);
    }
    let real_run = real.run("identity", "upsert_core_profiles", entry).await;
    let ignored = real.text(&format!("{}/results?includes=changes", this(&real_run))).await;
    assert!(!ignored.contains("changes"), "{ignored}");
    real.stop().await;
}
