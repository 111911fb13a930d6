//! The records and entries of the tasks of an import, one after another.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::lines;
use crate::scripted_imports::done;
use crate::server::Server;

/// The error record of an entry.
fn error(index: u32) -> String {
    let line = index + 1;
    let fault = json!({"code": "required", "pointer": "/a", "detail": "d"});
    format!("{{\"index\":{index},\"line\":{line},\"errors\":[{fault}],\"entry\":{{}}}}\n")
}

/// An import of three tasks, completed, with errors in the first and in the last one.
async fn completed(server: &Server) -> String {
    let options = [("action", "update_core_profiles")];
    let (_, import) = server.import(&options, lines(20_003)).await;
    let id = import["import_id"].as_str().unwrap();
    server.store.imports.cancel(id);
    let failed = [2, 0, 2];
    server.store.imports.change(id, |import| {
        for (task, failed) in import.tasks.iter_mut().zip(failed) {
            task.counts = done(task.counts.total - failed, failed);
            let blocks = [error(3), error(4)];
            let first = (if task.counts.total < 10 { 20_000 } else { 0 }) as u32;
            let blocks = if first > 0 { [error(first), error(first + 2)] } else { blocks };
            let blocks = blocks.map(String::into_bytes)[..failed as usize].to_vec();
            server.store.records.lock().unwrap().insert((task.id.clone(), false), blocks);
        }
    });
    import["links"]["self"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_errors_of_all_tasks_are_one_file() {
    let server = Server::start().await;
    let path = completed(&server).await;
    let errors = format!("{path}/errors?format=jsonl");
    let whole: String = [3, 4, 20_000, 20_002].map(error).concat();
    let answer = server.get(&errors).await;
    assert_eq!(answer.content_length(), Some(whole.len() as u64));
    assert_eq!(answer.text().await.unwrap(), whole);
    let at = whole.len() - error(20_002).len();
    let range = server.request(Method::GET, &errors).header("Range", format!("bytes={at}-"));
    let range = range.send().await.unwrap();
    assert_eq!((range.status().as_u16(), range.text().await.unwrap()), (206, error(20_002)));
    let array: Value = server.get(&format!("{path}/errors")).await.json().await.unwrap();
    assert_eq!(array.as_array().unwrap().len(), 4);
    let table = server.get(&format!("{path}/errors?format=csv")).await.text().await.unwrap();
    assert_eq!(table.lines().count(), 5, "{table}");
    let filtered = server.get(&format!("{errors}&code=too_long")).await.text().await.unwrap();
    assert_eq!(filtered, "");
    let summary: Value = server.get(&format!("{path}/errors/summary")).await.json().await.unwrap();
    let group = &summary["groups"][0];
    assert_eq!(
        (&summary["faults"], &group["count"], &group["example"]["index"]),
        (&json!(4), &json!(4), &json!(3))
    );
}

#[tokio::test]
async fn pages_of_errors_continue_over_the_tasks() {
    let server = Server::start().await;
    let path = completed(&server).await;
    let (mut cursor, mut found) = ("*".to_owned(), Vec::new());
    while cursor != "null" {
        let page = format!("{path}/errors?cursor={cursor}&page-size=1");
        let page: Value = server.get(&page).await.json().await.unwrap();
        found.extend(page["errors"].as_array().unwrap().iter().map(|e| e["index"].clone()));
        cursor = page["next-cursor"].as_str().unwrap_or("null").to_owned();
    }
    assert_eq!(json!(found), json!([3, 4, 20_000, 20_002]));
    let page = format!("{path}/errors?page=2&page-size=3");
    let page: Value = server.get(&page).await.json().await.unwrap();
    assert_eq!((&page["total-hits"], &page["errors"][0]["index"]), (&json!(4), &json!(20_002)));
}

#[tokio::test]
async fn a_retry_copies_the_unprocessed_entries_task_by_task_and_can_be_retried() {
    let server = Server::start().await;
    let (_, first) = server.import(&[("action", "create_core_profiles")], lines(20_003)).await;
    let mut path = first["links"]["self"].as_str().unwrap().to_owned();
    let early = server.request(Method::POST, &format!("{path}/retry")).send().await.unwrap();
    assert_eq!(early.json::<Value>().await.unwrap()["code"], "not_completed");
    for round in 0..2 {
        let id = path.rsplit('/').next().unwrap().to_owned();
        server.store.imports.cancel(&id);
        // In the second round, the first task has nothing to retry.
        server.store.imports.change(&id, |import| {
            let succeeded =
                if round == 0 { import.tasks.get_mut(1) } else { import.tasks.first_mut() };
            let task = succeeded.unwrap();
            task.counts = done(task.counts.total, 0);
        });
        let rejects = server.get(&format!("{path}/rejects")).await.text().await.unwrap();
        let retry = server.request(Method::POST, &format!("{path}/retry")).send().await.unwrap();
        assert_eq!(retry.status(), 201);
        let retry: Value = retry.json().await.unwrap();
        assert_eq!(retry["parent_import_id"], json!(id));
        let kept = if round == 0 { 10_003 } else { 3 };
        assert_eq!((&retry["counts"]["total"], rejects.lines().count()), (&json!(kept), kept));
        assert_eq!(retry["content_length"], rejects.len());
        let command = server.store.imports.created.lock().unwrap().last().unwrap().clone();
        let last = command.parts.last().unwrap();
        assert_eq!(server.store.blocks_of(&last.task_id)[0].first_index, 20_000);
        assert!(!command.once && command.parts.iter().all(|part| part.parent_id.is_some()));
        path = retry["links"]["self"].as_str().unwrap().to_owned();
    }
    // The only task of the last retry is the third one of the file.
    let id = path.rsplit('/').next().unwrap().to_owned();
    server.store.imports.cancel(&id);
    server.store.imports.change(&id, |import| {
        let task = &mut import.tasks[0];
        task.counts = done(2, 1);
        let records = vec![error(20_001).into_bytes()];
        server.store.records.lock().unwrap().insert((task.id.clone(), false), records);
    });
    let errors = server.get(&format!("{path}/errors?format=jsonl")).await.text().await.unwrap();
    assert_eq!(errors, error(20_001));
}

#[tokio::test]
async fn a_dry_run_is_run_with_all_its_entries_and_counts_as_an_import_of_the_file() {
    let server = Server::start().await;
    let action = ("action", "create_core_profiles");
    let (_, dry) = server.import(&[action, ("dry_run", "true")], lines(10_001)).await;
    let path = dry["links"]["self"].as_str().unwrap();
    server.store.imports.cancel(dry["import_id"].as_str().unwrap());
    let run = server.request(Method::POST, &format!("{path}/run")).send().await.unwrap();
    assert_eq!(run.status(), 201);
    let run: Value = run.json().await.unwrap();
    assert_eq!((&run["dry_run"], &run["counts"]["total"]), (&json!(false), &json!(10_001)));
    assert_eq!(run["parent_import_id"], dry["import_id"]);
    let (status, repeat) = server.import(&[action], lines(10_001)).await;
    assert_eq!((status, &repeat["import_id"]), (200, &run["import_id"]));
    let path = run["links"]["self"].as_str().unwrap();
    let again = server.request(Method::POST, &format!("{path}/run")).send().await.unwrap();
    assert_eq!(again.json::<Value>().await.unwrap()["code"], "not_a_dry_run");
}
