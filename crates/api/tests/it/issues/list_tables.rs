//! Lists as tables: `format=csv` on the issue list, on the lists of one issue, and on the short
//! lists of a domain. A reader of CSV finds in each cell the value of the record.

use std::collections::BTreeMap;

use caseload_testdata::csv_rows;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::list_by_cursor::{ISSUES, all, with_issues};
use super::support::{desk, form};
use crate::real_server::RealServer;

on_each_store!(
    a_table_has_every_match_in_the_order_of_the_list,
    the_default_columns_have_the_values_of_the_issue,
    columns_are_paths_and_a_custom_field_is_its_value,
    iso_times_and_includes_are_accepted,
    every_column_that_an_issue_cannot_have_is_a_fault,
    the_lists_of_a_domain_and_of_an_issue_are_tables,
    hostile_texts_stay_in_their_cells,
);

const PATH: &str = "/v1/acme/issues";
const CSV: &str = "text/csv; charset=utf-8; header=present";

type Row = BTreeMap<String, String>;

/// The rows of a table, by the names of their columns.
fn rows(text: &str) -> Vec<Row> {
    let mut lines = csv_rows(text).into_iter();
    let header = lines.next().unwrap();
    lines.map(|cells| header.iter().cloned().zip(cells).collect()).collect()
}

async fn table(real: &RealServer, path: &str) -> Vec<Row> {
    let answer = real.request(Method::GET, path).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    assert_eq!(answer.headers()["content-type"], CSV, "{path}");
    rows(&answer.text().await.unwrap())
}

async fn faults(real: &RealServer, query: &str) -> Vec<(String, String)> {
    let answer = real.request(Method::GET, &format!("{PATH}?{query}")).send().await.unwrap();
    assert_eq!(answer.status(), 400, "{query}");
    let problem: Value = answer.json().await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let faults = problem["errors"].as_array().unwrap().iter();
    faults.map(|fault| (text(&fault["parameter"]), text(&fault["detail"]))).collect()
}

/// An issue with every kind of member.
fn full_issue() -> Value {
    json!({
        "id": 5,
        "title": "A \"quoted\" title, with\r\na line end",
        "created_at": 1_700_000_000_000_u64,
        "updated_at": 1_700_000_000_500_u64,
        "tags": ["a,b", "c"],
        "language": "de",
        "meta": {"other": {"platform": "web", "n": 1}, "a.b": "dotted"},
        "custom_fields": {
            "plan": {"type": "dropdown", "value": "gold"},
            "seats": {"type": "number", "value": "seats here"},
            "is open": {"type": "checkbox", "value": true},
        },
        "feedback_rating": 4,
        "feedback_comment": "fine",
        "queue": {"id": "q1", "name": "Queue"},
        "state_data": {"state": "resolved", "changed_at": 1_700_000_000_400_u64},
        "messages": [{"body": "hello", "created_at": 1_700_000_000_000_u64}],
        "private_notes": [{"body": "a note", "created_at": 1_700_000_000_100_u64}],
    })
}

async fn with_full_issue() -> RealServer {
    let mut real = desk().await;
    real.run_tasks();
    // The digits of a number stay as they were sent.
    let full = full_issue().to_string().replace("\"seats here\"", "1.50");
    let lines = format!("{full}\n{}\n", json!({"id": 6, "created_at": 7}));
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 2, "{task}");
    real
}

async fn a_table_has_every_match_in_the_order_of_the_list() {
    let real = with_issues().await;
    for query in ["sort-order=asc", "state=new", "sort-by=update-time&page-size=7", "ids=[]"] {
        let table = table(&real, &format!("{PATH}?format=csv&{query}")).await;
        let ids: Vec<u64> = table.iter().map(|row| row["id"].parse().unwrap()).collect();
        let filter = query.trim_end_matches("&page-size=7");
        assert_eq!(ids, all(&real, filter).await, "{query}");
    }
    let whole = table(&real, &format!("{PATH}?format=csv&sort-order=asc")).await;
    let after = format!("{},{}", whole[99]["created_at"], whole[99]["id"]);
    let rest = table(&real, &format!("{PATH}?format=csv&sort-order=asc&after={after}")).await;
    assert_eq!(rest[..], whole[100..ISSUES]);
    real.stop().await;
}

async fn the_default_columns_have_the_values_of_the_issue() {
    let real = with_full_issue().await;
    let row = &table(&real, &format!("{PATH}?format=csv&ids=5")).await[0];
    assert_eq!(row.len(), 32);
    let includes = "feedback,queue,private_notes,predict_labels,sentiment_analysis,custom_fields";
    let shown = real.json(&format!("{PATH}/5?includes={includes}")).await["issues"][0].take();
    for (column, cell) in row {
        let pointer = format!("/{}", column.replace('.', "/"));
        let expected = match shown.pointer(&pointer) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(nested @ (Value::Object(_) | Value::Array(_))) => {
                let cell: Value = serde_json::from_str(cell).unwrap();
                assert_eq!(cell, *nested, "{column}");
                continue;
            }
            Some(other) => other.to_string(),
        };
        assert_eq!(*cell, expected, "{column}");
    }
    let lean = &table(&real, &format!("{PATH}?format=csv&ids=5&excludes=messages")).await[0];
    assert_eq!((lean.len(), lean.contains_key("messages")), (31, false));
    real.stop().await;
}

async fn columns_are_paths_and_a_custom_field_is_its_value() {
    let real = with_full_issue().await;
    let columns = "custom_fields.plan,custom_fields.seats,custom_fields.is%20open,\
                   meta.other.platform,meta.a.b,id,feedback_rating,queue.name,messages";
    let table_of = |columns: &str| format!("{PATH}?sort-order=asc&format=csv&columns={columns}");
    let text = real.text(&table_of(columns)).await;
    let header = text.split("\r\n").next().unwrap();
    let typed = columns.replace("plan", "plan:dropdown").replace("seats", "seats:number");
    let typed = typed.replace("is%20open", "is open:boolean");
    assert_eq!(header, typed, "columns are in the order of the request");
    let rows = rows(&text);
    for (column, cell) in [
        ("custom_fields.plan:dropdown", "gold"),
        ("custom_fields.seats:number", "1.50"),
        ("custom_fields.is open:boolean", "true"),
        ("meta.other.platform", "web"),
        ("meta.a.b", "dotted"),
        ("feedback_rating", "4"),
        ("queue.name", "Queue"),
    ] {
        assert_eq!(rows[1][column], cell, "{column}");
        assert_eq!(rows[0][column], "", "{column}");
    }
    let messages: Value = serde_json::from_str(&rows[1]["messages"]).unwrap();
    assert_eq!(messages[0]["body"], "hello");
    // A row with nothing is not an empty line, which programs skip.
    assert_eq!(real.text(&table_of("language")).await, "language\r\n\"\"\r\nde\r\n");
    real.stop().await;
}

async fn iso_times_and_includes_are_accepted() {
    let real = with_full_issue().await;
    let query = "format=csv&ids=5&includes=feedback,custom_fields&timestamp-format=iso-8601";
    let row = &table(&real, &format!("{PATH}?{query}")).await[0];
    assert_eq!(row.len(), 32);
    assert_eq!(row["feedback_comment"], "fine");
    assert_eq!(row["created_at"], "2023-11-14T22:13:20.000Z");
    let fields: Value = serde_json::from_str(&row["custom_fields"]).unwrap();
    assert_eq!(fields["plan"], json!({"type": "dropdown", "value": "gold"}));
    real.stop().await;
}

async fn every_column_that_an_issue_cannot_have_is_a_fault() {
    let real = desk().await;
    let found = faults(&real, "format=csv&columns=id,titel,title.x,id&state=odd").await;
    assert_eq!(found.len(), 4, "{found:#?}");
    assert_eq!(found.iter().filter(|(parameter, _)| parameter == "columns").count(), 3);
    for query in ["columns=id", "columns=id&format=jsonl", "columns=id&format=json"] {
        let found = faults(&real, query).await;
        assert!(found[0].1.contains("send format=csv, too"), "{query}: {found:?}");
    }
    let accepted = real.request(Method::GET, &format!("{PATH}?columns=id"));
    let accepted = accepted.header("accept", "text/csv").send().await.unwrap();
    assert_eq!(accepted.text().await.unwrap(), "id\r\n");
    real.stop().await;
}

async fn the_lists_of_a_domain_and_of_an_issue_are_tables() {
    let real = with_full_issue().await;
    form(&real, Method::POST, &format!("{PATH}/5/private-notes"), &[("note-text", "n, 2")], 201)
        .await;
    for (path, key) in [
        ("/v1/acme/agents".to_owned(), "profiles"),
        ("/v1/acme/apps".to_owned(), "apps"),
        ("/v1/acme/queues".to_owned(), "queues"),
        ("/v2/acme/issues/bulk_actions".to_owned(), "tasks"),
        (format!("{PATH}/5/messages"), "messages"),
        (format!("{PATH}/5/private-notes"), "private_notes"),
    ] {
        let records = real.json(&path).await[key].take();
        let records = records.as_array().unwrap();
        assert!(!records.is_empty(), "{path}");
        let table = table(&real, &format!("{path}?format=csv")).await;
        assert_eq!(table.len(), records.len(), "{path}");
        for (row, record) in table.iter().zip(records) {
            let values = row.iter().filter(|(_, cell)| !cell.is_empty());
            for (column, cell) in values {
                let value = record.pointer(&format!("/{}", column.replace('.', "/"))).unwrap();
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                assert_eq!(*cell, text, "{path} {column}");
            }
        }
        let filled = table[0].values().filter(|cell| !cell.is_empty()).count();
        assert!(filled >= 2, "{path}: {:?}", table[0]);
    }
    real.stop().await;
}

async fn hostile_texts_stay_in_their_cells() {
    let mut real = desk().await;
    real.run_tasks();
    let texts = ["\r\n\r\n", "\"", "\",\"", " x ", "=1+1", ",", "\u{0}\u{202e}", "№ \\ \\u0041"];
    let issue = |title: &&str| json!({"title": title, "created_at": 5, "meta": {*title: *title}});
    let lines: Vec<String> = texts.iter().map(|title| issue(title).to_string()).collect();
    real.run("issues", "import_issues", &lines.join("\n")).await;
    let shown = real.json(&format!("{PATH}?sort-order=asc")).await;
    let table = table(&real, &format!("{PATH}?format=csv&columns=title,meta&sort-order=asc")).await;
    assert_eq!(table.len(), texts.len());
    for (row, issue) in table.iter().zip(shown["issues"].as_array().unwrap()) {
        assert_eq!(row["title"], issue["title"].as_str().unwrap());
        assert_eq!(serde_json::from_str::<Value>(&row["meta"]).unwrap(), issue["meta"]);
    }
    real.stop().await;
}
