//! `POST …/imports`: the options, the tasks that a file becomes, and the files that are refused.

use caseload_api::ApiConfig;
use reqwest::{Body, Method};
use serde_json::{Value, json};

use super::support::{HEAD, PATH, TYPE, form, lines};
use crate::server::{READ, Server, until};

const CREATE: (&str, &str) = ("action", "create_core_profiles");

#[tokio::test]
async fn a_file_becomes_tasks_of_ten_thousand_entries_in_one_commit() {
    let server = Server::configured(ApiConfig { upload_bytes_held: 1000, ..ApiConfig::default() });
    let server = server.await;
    let (status, import) = server.import(&[CREATE], lines(25_001)).await;
    assert_eq!(status, 201, "{import}");
    let command = server.store.imports.created.lock().unwrap()[0].clone();
    let totals: Vec<_> = command.parts.iter().map(|part| part.total).collect();
    assert_eq!(totals, [10_000, 10_000, 5001]);
    let mut next = 0;
    for part in &command.parts {
        assert!(part.staged > 0 || part.task_id == command.parts[2].task_id);
        for block in server.store.blocks_of(&part.task_id) {
            assert_eq!(block.first_index, next);
            next = block.last_index + 1;
        }
        assert_eq!(next % 10_000, part.total % 10_000, "no block has entries of two tasks");
    }
    let ids: Vec<_> = command.parts.iter().map(|part| part.task_id.clone()).collect();
    assert_eq!(import["tasks"], json!(ids));
    assert_eq!(import["counts"]["total"], 25_001);
    assert_eq!(import["file_name"], "people.jsonl");
    assert_eq!(import["content_length"], lines(25_001).len());
    assert_eq!(import["format"], json!({"type": "jsonl", "encoding": "utf-8", "delimiter": null}));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(server.store.discarded.lock().unwrap().is_empty(), "the import has the blocks");
}

#[tokio::test]
async fn an_import_is_followed_listed_and_cancelled_like_a_task() {
    let server = Server::start().await;
    let request = server.request(Method::POST, PATH).multipart(form(&[CREATE], lines(3)));
    let answer = request.send().await.unwrap();
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let import: Value = answer.json().await.unwrap();
    assert_eq!(import["links"]["self"], location);
    let read: Value = server.get(&location).await.json().await.unwrap();
    assert_eq!(read, import);
    let list: Value = server.get(PATH).await.json().await.unwrap();
    assert_eq!((&list["imports"][0], &list["total-hits"]), (&import, &json!(1)));
    let table = server.get(&format!("{PATH}?format=csv")).await.text().await.unwrap();
    assert!(table.starts_with("import_id,action,status,progress,outcome,dry_run,counts.total,"));
    assert!(table.contains(",jsonl,utf-8,,,key-write-key,write-key,"), "{table}");
    assert_eq!(server.get(&format!("{PATH}?parent-task-id=x")).await.status(), 400);
    assert_eq!(server.get(&format!("{PATH}?parent-import-id=x")).await.status(), 200);
    assert_eq!(server.get(&format!("{location}/errors")).await.status(), 409);
    assert_eq!(server.get(&location.replace("identity", "issues")).await.status(), 404);

    let waiting = server.url(&format!("{location}?wait=30"));
    let waiting = tokio::spawn(server.bare(Method::GET, &waiting).bearer_auth(READ).send());
    let events = server.request(Method::GET, &location).header("Accept", "text/event-stream");
    let events = events.send().await.unwrap();
    let cancel = format!("{location}/cancel");
    let cancelled = server.request(Method::POST, &cancel).send().await.unwrap();
    let cancelled: Value = cancelled.json().await.unwrap();
    assert_eq!(
        (&cancelled["status"], &cancelled["outcome"]),
        (&json!("completed"), &json!("cancelled"))
    );
    let waited: Value = waiting.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(waited, cancelled);
    let events = events.text().await.unwrap();
    let last = events.trim_end().lines().last().unwrap().strip_prefix("data: ").unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap(), cancelled);
    let again = server.request(Method::POST, &cancel).send().await.unwrap();
    assert_eq!(again.json::<Value>().await.unwrap()["code"], "already_completed");
}

#[tokio::test]
async fn a_refused_or_broken_upload_leaves_no_blocks_of_any_task() {
    let config =
        ApiConfig { upload_bytes_held: 1000, import_bytes_max: 2_000_000, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let long = format!("{HEAD}{}", lines(100_000));
    let broken = format!("{HEAD}{}", lines(50_000));
    for (body, breaks_off) in [(long, false), (broken, true)] {
        let pieces = body.into_bytes();
        let pieces = pieces.chunks(50_000).map(|piece| Ok(piece.to_vec())).collect::<Vec<_>>();
        let end = breaks_off.then(|| Err(std::io::Error::other("the client is gone")));
        let pieces = futures_util::stream::iter(pieces.into_iter().chain(end));
        let request = server.request(Method::POST, PATH);
        let request = request.header("Content-Type", TYPE);
        if let Ok(answer) = request.body(Body::wrap_stream(pieces)).send().await {
            assert_eq!(answer.status(), 413);
        }
        let staged = || {
            let staged = server.store.staged.lock().unwrap();
            let ids = staged.iter().map(|part| part.task_id.clone());
            ids.collect::<std::collections::BTreeSet<_>>()
        };
        until("all are discarded", async || {
            let discarded = server.store.discarded.lock().unwrap().clone();
            staged().len() > 1 && staged().iter().all(|id| discarded.contains(id))
        })
        .await;
        server.store.staged.lock().unwrap().clear();
    }
    assert!(server.store.imports.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn every_fault_of_the_options_is_named_at_once() {
    let server = Server::start().await;
    let (status, problem) = server
        .import(
            &[
                ("action", "get_core_profiles"),
                ("others", "drop"),
                ("columns", "[1]"),
                ("delimiter", "xy"),
                ("encoding", "latin9000"),
                ("timezone", "Europe/Berlln"),
                ("separator", ""),
                ("dry_run", "perhaps"),
                ("upsert", "true"),
                ("seperator", ","),
            ],
            lines(1),
        )
        .await;
    assert_eq!(status, 400);
    let errors = problem["errors"].as_array().unwrap();
    let mut found: Vec<_> = errors
        .iter()
        .map(|fault| (fault["parameter"].as_str().unwrap(), fault["code"].as_str().unwrap()))
        .collect();
    found.sort_unstable();
    let invalid = |name| (name, "invalid_value");
    assert_eq!(
        found,
        [
            ("action", "unknown_action"),
            invalid("columns"),
            invalid("delimiter"),
            invalid("dry_run"),
            invalid("encoding"),
            invalid("others"),
            invalid("separator"),
            ("seperator", "unknown_parameter"),
            invalid("timezone"),
            ("upsert", "unknown_parameter"),
        ]
    );
    let text = problem.to_string();
    for wanted in ["did you mean separator?", "Europe/Berlin?", "/v2/acme/identity/bulk_actions"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[tokio::test]
async fn each_fault_of_a_header_names_its_column() {
    let server = Server::start().await;
    let alike = vec!["tags"; 1000].join(",");
    for (header, first, count) in [
        ("uid,emial,city,plan", ["#2", "\"emial\" is not a field"], 2),
        ("city", ["file", "no column is an identity"], 1),
        (&alike, ["#2", "\"tags\" is the same member as the column \"tags\""], 100),
        (&"uid,".repeat(10_000), ["file", "the header has 10001 columns; at most 1000"], 1),
        // A line of over a megabyte.
        (&"uid,".repeat(1_000_000), ["file", "the header of the file cannot be read"], 1),
    ] {
        let (status, problem) = server.import(&[CREATE], format!("{header}\na\n")).await;
        let errors = problem["errors"].as_array().unwrap();
        assert_eq!((status, errors.len()), (400, count), "{problem}");
        let fault = &errors[0];
        assert_eq!(fault["code"], "invalid_payload");
        assert_eq!((&fault["parameter"], &fault["line"]), (&json!(first[0]), &json!(1)));
        assert!(fault["detail"].as_str().unwrap().contains(first[1]), "{fault}");
    }
    assert!(server.store.imports.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_form_without_exactly_one_file_after_its_options_is_refused() {
    let server = Server::start().await;
    let late = form(&[CREATE], lines(1)).text("dry_run", "true");
    let second = form(&[CREATE], lines(1)).text("file", "x");
    let stray = form(&[CREATE], lines(1)).text("dryrun", "true");
    let without = reqwest::multipart::Form::new().text("action", "create_core_profiles");
    let nothing = form(&[CREATE], "\n\n");
    for (form, parameter, code, words) in [
        (late, "dry_run", "invalid_value", "before it"),
        (second, "file", "conflicting_parameter", "more than once"),
        (stray, "dryrun", "unknown_parameter", "dry_run"),
        (without, "file", "missing_field", "missing"),
        (form(&[], lines(1)), "action", "missing_field", "before the file"),
        (
            form(&[("action", "import_issues")], lines(1)),
            "action",
            "unknown_action",
            "issues/imports",
        ),
        (form(&[CREATE, ("action", "x")], lines(1)), "action", "conflicting_parameter", "once"),
        (nothing, "file", "empty_payload", "no entries"),
    ] {
        let request = server.request(Method::POST, PATH).multipart(form);
        let problem: Value = request.send().await.unwrap().json().await.unwrap();
        let fault = &problem["errors"][0];
        assert_eq!((&fault["parameter"], &fault["code"]), (&json!(parameter), &json!(code)));
        assert!(fault["detail"].as_str().unwrap().contains(words), "{fault}");
    }
    let plain = server.request(Method::POST, PATH).header("Content-Type", "text/csv").body("a\n1");
    assert_eq!(plain.send().await.unwrap().status(), 415);
    let json = server.request(Method::POST, PATH).json(&json!({"action": "x"}));
    assert_eq!(json.send().await.unwrap().status(), 415);
    assert!(server.store.imports.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_read_key_may_make_dry_runs_only() {
    let server = Server::start().await;
    for (dry_run, status) in [("true", 201), ("false", 403)] {
        let form = form(&[CREATE, ("dry_run", dry_run)], lines(1));
        let request = server.bare(Method::POST, PATH).bearer_auth(READ).multipart(form);
        assert_eq!(request.send().await.unwrap().status(), status, "{dry_run}");
    }
}

#[tokio::test]
async fn the_same_file_with_the_same_options_is_created_once() {
    let server = Server::start().await;
    let (_, first) = server.import(&[CREATE], lines(2)).await;
    let request = server.request(Method::POST, PATH).multipart(form(&[CREATE], lines(2)));
    let answer = request.send().await.unwrap();
    assert_eq!(
        (answer.status(), &answer.headers()["idempotent-replayed"]),
        (reqwest::StatusCode::OK, &"true".parse().unwrap())
    );
    assert_eq!(answer.headers()["location"], first["links"]["self"].as_str().unwrap());
    assert_eq!(answer.json::<Value>().await.unwrap(), first);
    let upsert = ("action", "upsert_core_profiles");
    for (options, status) in [
        (&[CREATE, ("again", "true")][..], 201),
        (&[CREATE, ("dry_run", "true")], 201),
        (&[CREATE, ("separator", ";")], 201),
        (&[CREATE, ("separator", ";")], 200),
        (&[CREATE, ("separator", "|")], 200),
        (&[upsert], 201),
        (&[upsert], 201),
    ] {
        let (found, import) = server.import(options, lines(2)).await;
        assert_eq!(found, status, "{options:?}: {import}");
    }
    let last = server.store.imports.all.lock().unwrap().last().unwrap().1.clone();
    assert!(last.repeat_of.is_some());
    let shown: Value = server.get(&format!("{PATH}/{}", last.id)).await.json().await.unwrap();
    assert_eq!(shown["repeat_of"], json!(last.repeat_of));
}
