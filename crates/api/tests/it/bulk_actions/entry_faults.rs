//! Entries with faults, over the real store and runner: the record of each has all of its faults,
//! those against stored data included, and it changes nothing. Entries that only look wrong succeed
//! with warnings.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, PATH, create, submit, this, uid};
use crate::real_server::RealServer;

on_each_store!(
    every_fault_of_a_creation_comes_at_once_with_the_owners_of_its_identities,
    every_fault_of_an_update_comes_at_once,
    every_fault_of_an_import_comes_at_once,
    an_entry_that_failed_validation_reserves_nothing,
    a_seconds_value_is_taken_as_it_is_with_a_warning,
);

/// Submits entries, as a dry run or not, and waits for the end.
async fn run(real: &RealServer, path: &str, action: &str, dry: bool, entries: &[Value]) -> Value {
    let payload = Value::from(entries.to_vec()).to_string();
    let dry_run = dry.to_string();
    let fields = [("action", action), ("payload", payload.as_str()), ("dry_run", dry_run.as_str())];
    let (status, task) = submit(real, path, &fields).await;
    assert_eq!(status, 201, "{task}");
    real.completed(&this(&task)).await
}

async fn records(real: &RealServer, task: &Value, kind: &str) -> Vec<Value> {
    let records = real.json(task["links"][kind].as_str().unwrap()).await;
    records.as_array().unwrap().clone()
}

/// Code, pointer and owner of each fault of each failed entry.
async fn faults(real: &RealServer, task: &Value) -> Vec<Vec<String>> {
    let fault = |fault: &Value| {
        let text = |member: &str| fault[member].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("code"), text("pointer"), text("core-profile-id"))
    };
    let of = |record: &Value| record["errors"].as_array().unwrap().iter().map(fault).collect();
    records(real, task, "errors").await.iter().map(of).collect()
}

/// A stored profile with this `uid`; its id.
async fn owner(real: &RealServer, value: &str) -> String {
    let task = create(real, &[uid(value)]).await;
    let task = real.completed(&this(&task)).await;
    let results = records(real, &task, "results").await;
    results[0]["core-profile-id"].as_str().unwrap().to_owned()
}

async fn every_fault_of_a_creation_comes_at_once_with_the_owners_of_its_identities() {
    let real = RealServer::start().await;
    let id = owner(&real, "taken").await;
    let faulty = json!({
        "identities": [{"uid": "new"}, {"uid": 7}, {"uid": "taken"}], "age": "30", "nmae": "x"
    });
    let twin = json!({"identities": [{"uid": "twin"}], "last_country": "Atlantis"});
    for dry in [true, false] {
        let entries = [faulty.clone(), uid("twin"), twin.clone(), uid("taken")];
        let task = run(&real, PATH, "create_core_profiles", dry, &entries).await;
        assert_eq!(task["counts"]["failed"], 3, "{task}");
        let found = faults(&real, &task).await;
        let conflict = format!("identity_conflict /identities/2 {id}");
        assert_eq!(
            found[0],
            [
                "wrong_type /identities/1/uid -",
                "wrong_type /age -",
                "unknown_field /nmae -",
                &conflict
            ]
        );
        assert_eq!(found[1][0], "unknown_country /last_country -");
        assert_eq!(found[2], [format!("identity_conflict /identities/0 {id}")]);
        assert_eq!(found[1].len(), 2, "an earlier entry has the identity: {found:?}");
        let earlier = &records(&real, &task, "errors").await[1]["errors"][1];
        let detail = earlier["detail"].as_str().unwrap();
        assert_eq!(detail.contains("entry 1 of this dry run"), dry, "{detail}");
        assert_eq!(earlier["core-profile-id"].is_string(), !dry, "{earlier}");
        let csv = format!("{}?format=csv", task["links"]["errors"].as_str().unwrap());
        assert!(real.text(&csv).await.contains(&format!("belongs to core profile {id}")));
    }
    real.stop().await;
}

async fn every_fault_of_an_update_comes_at_once() {
    let real = RealServer::start().await;
    let (ann, bob) = (owner(&real, "ann").await, owner(&real, "bob").await);
    let entries = [
        json!({"core-profile-id": ann, "age": 151, "identities": [{"uid": "ann"}, {"uid": "bob"}]}),
        json!({"core-profile-id": "7", "age": 151, "identities": [{"uid": "bob"}]}),
        json!({"core-profile-id": "7", "identities": [{"uid": "bob"}]}),
        json!({"core-profile-id": bob, "age": 151}),
    ];
    let conflict = |n: u32| format!("identity_conflict /identities/{n} {bob}");
    let (range, missing) = ("out_of_range /age -", "not_found /core-profile-id -");
    for dry in [true, false] {
        let task = run(&real, PATH, "update_core_profiles", dry, &entries).await;
        let expected = [
            vec![range.to_owned(), conflict(1)],
            vec![range.to_owned(), missing.to_owned(), conflict(0)],
            vec![missing.to_owned(), conflict(0)],
            vec![range.to_owned()],
        ];
        assert_eq!(faults(&real, &task).await, expected);
        let entries = [json!({"pid": "nobody", "user_levle": 5}), json!({"pid": "nobody"})];
        let task = run(&real, PATH, "update_app_profiles", dry, &entries).await;
        let found = faults(&real, &task).await;
        assert_eq!(found[0].last().unwrap(), "not_found /pid -");
        assert_eq!((found[0].len(), &found[1][..]), (2, &["not_found /pid -".to_owned()][..]));
    }
    let entries =
        [json!({"core-profile-id": "7", "age": 3}), json!({"core-profile-id": ann, "x": 1})];
    let task = run(&real, PATH, "get_core_profiles", false, &entries).await;
    let found = faults(&real, &task).await;
    assert_eq!(found[0], ["unknown_field /age -", missing]);
    assert_eq!(found[1], ["unknown_field /x -"]);
    let task = run(&real, PATH, "get_app_profiles", false, &[json!({"pid": "p", "x": 1})]).await;
    assert_eq!(faults(&real, &task).await[0], ["unknown_field /x -", "not_found /pid -"]);
    real.stop().await;
}

async fn every_fault_of_an_import_comes_at_once() {
    let real = RealServer::start().await;
    let issue = json!({"id": 7, "title": "first", "created_at": 1_700_000_000_000_i64});
    run(&real, ISSUES, "import_issues", false, std::slice::from_ref(&issue)).await;
    let entries = [
        json!({"id": 7, "title": 5, "tags": "a"}),
        json!({"id": 8, "title": 5, "created_at": 1_700_000_000_001_i64}),
        json!({"id": 9, "created_at": 1_700_000_000_002_i64}),
        json!({"id": 9, "created_at": "noon"}),
    ];
    for dry in [true, false] {
        let task = run(&real, ISSUES, "import_issues", dry, &entries).await;
        let found = faults(&real, &task).await;
        assert_eq!(found[0].last().unwrap(), "id_conflict /id -");
        assert_eq!(found[0].len(), 4, "{found:?}");
        assert_eq!(found[1], ["wrong_type /title -"]);
        assert_eq!(found[2], ["wrong_type /created_at -", "id_conflict /id -"]);
    }
    assert_eq!(real.json("/v1/acme/issues").await["total-hits"], 2);
    real.stop().await;
}

async fn an_entry_that_failed_validation_reserves_nothing() {
    let real = RealServer::start().await;
    for dry in [true, false] {
        let faulty = json!({"identities": [{"uid": "x"}, {"uid": "y"}], "age": -1});
        let entries = [faulty, uid("x"), uid("y")];
        let task = run(&real, PATH, "create_core_profiles", dry, &entries).await;
        assert_eq!(task["counts"], json!({"total":3,"succeeded":2,"failed":1,"unprocessed":0}));
        assert_eq!(faults(&real, &task).await, [["out_of_range /age -"]]);
    }
    real.stop().await;
}

async fn a_seconds_value_is_taken_as_it_is_with_a_warning() {
    let real = RealServer::start().await;
    let seconds = 1_700_000_000_i64;
    let entries = [
        json!({"id": 1, "created_at": seconds, "updated_at": seconds + 60}),
        json!({"id": 2, "created_at": 100_000_000_000_i64}),
        json!({"id": 3, "created_at": "1970-01-20T16:13:20.000Z"}),
        json!({"id": 4, "created_at": 99_999_999_999_i64,
               "messages": [{"body": "b", "created_at": 5}]}),
        json!({"id": 5, "created_at": "2023-11-14", "updated_at": "1700000000",
               "private_notes": [{"body": "n", "created_at": "5"}],
               "custom_fields": {"due": {"type": "date", "value": seconds}}}),
    ];
    for dry in [true, false] {
        let task = run(&real, ISSUES, "import_issues", dry, &entries).await;
        assert_eq!((&task["outcome"], &task["warnings"]), (&json!("succeeded"), &json!(7)));
        let results = records(&real, &task, "results").await;
        let warnings = results[0]["warnings"].as_array().unwrap();
        let shown = ["code", "pointer", "value"].map(|member| warnings[0][member].clone());
        assert_eq!(shown, [json!("looks_like_seconds"), json!("/created_at"), json!(seconds)]);
        let detail = warnings[0]["detail"].as_str().unwrap();
        assert!(
            detail.contains("1970-01-20T16:13:20.000Z")
                && detail.contains("2023-11-14T22:13:20.000Z")
                && detail.contains("1700000000000"),
            "{detail}"
        );
        assert_eq!(warnings[1]["pointer"], "/updated_at");
        assert!(results[1].get("warnings").is_none() && results[2].get("warnings").is_none());
        assert_eq!(results[3]["warnings"][1]["pointer"], "/messages/0/created_at");
        let warned = results[4]["warnings"].as_array().unwrap().iter();
        let warned: Vec<_> = warned.map(|w| (w["pointer"].as_str(), &w["value"])).collect();
        let text = json!("1700000000");
        assert!(warned.contains(&(Some("/updated_at"), &text)), "{warned:?}");
        let note = Some("/private_notes/0/created_at");
        assert!(warned.contains(&(note, &json!("5"))), "{warned:?}");
        let field = Some("/custom_fields/due/value");
        assert!(warned.contains(&(field, &json!(seconds))), "{warned:?}");
    }
    assert_eq!(real.json("/v1/acme/issues/1").await["issues"][0]["created_at"], seconds);
    let zero = run(&real, ISSUES, "import_issues", true, &[json!({"created_at": 0})]).await;
    let detail = records(&real, &zero, "results").await[0]["warnings"][0]["detail"].take();
    let detail = detail.as_str().unwrap();
    assert!(detail.contains("0 was taken as 1970-01-01") && !detail.contains("send"), "{detail}");
    let again = run(&real, ISSUES, "import_issues", false, &entries[..1]).await;
    assert_eq!(records(&real, &again, "results").await[0]["outcome"], "unchanged");
    assert_eq!(again["warnings"], 2, "a repeated import warns again");
    let tasks = real.request(Method::GET, ISSUES).send().await.unwrap();
    let tasks: Value = tasks.json().await.unwrap();
    assert_eq!(tasks["tasks"][0]["warnings"], 2, "{tasks}");
    real.stop().await;
}
