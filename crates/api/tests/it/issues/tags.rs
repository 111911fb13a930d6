//! `add_tags` and `remove_tags` of both edits: their forms, their faults, and edits at once.

use caseload_teststore::on_each_store;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, form, issue, put, send};
use crate::real_server::RealServer;

on_each_store!(
    edits_at_once_lose_no_tag,
    an_edit_adds_and_removes_tags_in_every_form_of_a_list,
    a_bulk_edit_changes_the_tags_of_each_issue,
    wrong_changes_of_tags_have_their_faults,
);

type Fields<'f> = &'f [(&'f str, &'f str)];

async fn tags(real: &RealServer, path: &str) -> Value {
    issue(real, path).await["tags"].take()
}

async fn edits_at_once_lose_no_tag() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x"), ("tags", r#"["old","kept"]"#)]).await;
    let names: Vec<String> = (0..40).map(|n| format!("t{n:02}")).collect();
    let adding = names.iter().enumerate().map(|(n, name)| {
        let mut fields = vec![("add_tags", name.as_str()), ("remove_tags", "old")];
        if n % 2 == 0 {
            fields.push(("issue-ids", "1"));
        }
        let path = if n % 2 == 0 { ISSUES } else { &path };
        let request = real.request(Method::PUT, path).form(&fields);
        async { send(request).await.0 }
    });
    assert_eq!(join_all(adding).await, [200; 40]);
    let mut found: Vec<String> = serde_json::from_value(tags(&real, &path).await).unwrap();
    assert_eq!(found.remove(0), "kept");
    found.sort_unstable();
    assert_eq!(found, names);
    let hits = real.json(&format!("{ISSUES}?tags=%5B%22t39%22%5D")).await;
    assert_eq!(hits["total-hits"], 1);
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_edit_adds_and_removes_tags_in_every_form_of_a_list() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x"), ("tags", r#"["a","b","a"]"#)]).await;
    let cases: [(Fields<'_>, Value); 7] = [
        (&[("add_tags", r#"["d","b","c","d"]"#)], json!(["a", "b", "a", "d", "c"])),
        (&[("add_tags", "b"), ("remove_tags", "x")], Value::Null),
        (&[("add-tags[]", "e,f"), ("remove_tags[]", "a")], json!(["b", "d", "c", "e,f"])),
        (&[("remove-tags", "b"), ("remove-tags", "e,f")], json!(["d", "c"])),
        (&[("add_tags", ""), ("remove_tags", "c")], json!(["d"])),
        (&[("remove_tags", "d")], json!([])),
        (&[("remove_tags", "d")], Value::Null),
    ];
    for (fields, told) in cases {
        let answer = put(&real, &path, fields).await;
        assert_eq!(answer["tags"], told, "{fields:?}");
        if told != Value::Null {
            assert_eq!(tags(&real, &path).await, told, "{fields:?}");
        }
    }
    let body = json!({"add_tags": ["x", "y"], "remove_tags": null});
    let (status, answer) = send(real.request(Method::PUT, &path).json(&body)).await;
    assert_eq!((status, answer), (200, json!({"updated-data": {"tags": ["x", "y"]}})));
    real.stop().await;
}

async fn a_bulk_edit_changes_the_tags_of_each_issue() {
    let real = desk().await;
    let mut paths = Vec::new();
    for tags in [r#"["a"]"#, r#"["b","c"]"#, "[]"] {
        paths.push(create(&real, &[("message-body", "x"), ("tags", tags)]).await);
    }
    let body = json!({"issue-ids": [1, 2], "add_tags": ["c", "d"], "remove_tags": ["b"]});
    let (status, answer) = send(real.request(Method::PUT, ISSUES).json(&body)).await;
    let told = json!({"add_tags": ["c", "d"], "remove_tags": ["b"]});
    assert_eq!((status, answer), (200, json!({"issue-count": 2, "edit-info": told})));
    let after = [json!(["a", "c", "d"]), json!(["c", "d"]), json!([])];
    for (path, after) in paths.iter().zip(after) {
        assert_eq!(tags(&real, path).await, after);
    }
    assert_sound(&real).await;
    real.stop().await;
}

async fn wrong_changes_of_tags_have_their_faults() {
    let real = desk().await;
    let full: Vec<String> = (0..1000).map(|n| format!("t{n}")).collect();
    let path = create(&real, &[("message-body", "x"), ("tags", &json!(full).to_string())]).await;
    let long = "x".repeat(1001);
    let (twice, missing) = ("conflicting_parameter", "missing_field");
    let table: [(Fields<'_>, &str, &str); 8] = [
        (&[("tags", "a"), ("add_tags", "b")], "add_tags", twice),
        (&[("tags[]", ""), ("remove-tags", "b")], "remove-tags", twice),
        (&[("add_tags", r#"["a","b"]"#), ("remove_tags", "b")], "remove_tags", twice),
        (&[("add_tags", "[1]")], "add_tags", "invalid_value"),
        (&[("remove_tags", &long)], "remove_tags", "out_of_range"),
        (&[("add_tags", "one more")], "add_tags", "too_many"),
        (&[("add_tags", ""), ("remove_tags", "")], "", missing),
        (&[("add_tag", "a"), ("title", "x")], "add_tag", "unknown_parameter"),
    ];
    for (fields, parameter, code) in table {
        for call in [path.as_str(), ISSUES] {
            if call == ISSUES && code == "unknown_parameter" {
                continue;
            }
            let ids = [("issue-ids", "[1]")];
            let ids = if call == ISSUES { &ids[..] } else { &[] };
            let answer = form(&real, Method::PUT, call, &[ids, fields].concat(), 400).await;
            let fault = &answer["errors"][0];
            assert_eq!(fault["code"], code, "{answer}");
            assert!(parameter.is_empty() || fault["parameter"] == parameter, "{answer}");
        }
    }
    assert_eq!(tags(&real, &path).await, json!(full));
    put(&real, &path, &[("add_tags", "one more"), ("remove_tags", "t0")]).await;
    assert_eq!(tags(&real, &path).await[999], "one more");
    real.stop().await;
}
