//! `POST …/bulk_actions`: the accepted requests, and the commands that reach the store.

use caseload_model::payload::Block;
use caseload_model::task::Action;
use caseload_store::{CreateTask, unpack_block};
use reqwest::Method;
use reqwest::multipart::{Form, Part};

use crate::scripted_store::NOW;
use crate::server::{READ, Server, snapshot};

const PATH: &str = "/v2/acme/identity/bulk_actions";

/// The entries that a command carries, as text with their places.
fn entries(command: &CreateTask) -> Vec<(u32, u32, String)> {
    let mut found = Vec::new();
    for packed in &command.blocks {
        let block = Block::decode(unpack_block(&packed.bytes).unwrap()).unwrap();
        assert_eq!(block.entries.first().unwrap().index, packed.first_index);
        assert_eq!(block.entries.last().unwrap().index, packed.last_index);
        for entry in &block.entries {
            let text = String::from_utf8(block.bytes_of(entry).to_vec()).unwrap();
            found.push((entry.index, entry.line, text));
        }
    }
    found
}

fn last(server: &Server) -> CreateTask {
    server.store.created.lock().unwrap().last().unwrap().clone()
}

#[tokio::test]
async fn form_a_makes_a_task_of_an_array() {
    let server = Server::start().await;
    let payload = "[{\"tags\":[\"a+b\",\"100%\"]}, {\"names\":{\"first_name\":\"Zoë & co\"}}]";
    let form = [("action", "create_core_profiles"), ("payload", payload)];
    let answer = server.request(Method::POST, PATH).form(&form).send().await.unwrap();
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    insta::assert_snapshot!(snapshot(answer).await);
    let command = last(&server);
    assert_eq!(location, server.url(&format!("{PATH}/{}", command.id)));
    assert_eq!((command.action, command.total), (Action::CreateCoreProfiles, 2));
    assert_eq!((command.now, command.unfinished_max, command.dry_run), (NOW, 1000, false));
    assert_eq!(command.expires_at.0, NOW.0 + 30 * 86_400_000);
    assert_eq!(
        entries(&command),
        [
            (0, 1, "{\"tags\":[\"a+b\",\"100%\"]}".to_owned()),
            (1, 2, "{\"names\":{\"first_name\":\"Zoë & co\"}}".to_owned()),
        ]
    );
    assert_eq!(server.get(&location).await.status(), 200);
}

#[tokio::test]
async fn form_b_takes_lines_or_an_array_with_or_without_a_file_name_in_any_order() {
    let server = Server::start().await;
    let lines = "\u{feff}{\"a\":1}\r\n\n{\"b\":2}";
    let array = " [{\"a\":1},\n{\"b\":2}]";
    let file = |text: &'static str| Part::text(text).file_name("p.jsonl");
    let typed = |text: &'static str| file(text).mime_str("application/json").unwrap();
    for (case, part, second_line) in [
        ("a file of lines", file(lines), 3),
        ("a typed file", typed(lines), 3),
        ("a text of lines", Part::text(lines), 3),
        ("a file with an array", file(array), 2),
        ("a text with an array", Part::text(array), 2),
    ] {
        let form = Form::new().part("payload", part).text("action", "update_core_profiles");
        let answer = server.request(Method::POST, PATH).multipart(form).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{case}: {}", answer.text().await.unwrap());
        let command = last(&server);
        assert_eq!(command.action, Action::UpdateCoreProfiles, "{case}");
        let expected = [(0, 1, "{\"a\":1}".to_owned()), (1, second_line, "{\"b\":2}".to_owned())];
        assert_eq!(entries(&command), expected, "{case}");
    }
}

#[tokio::test]
async fn ten_thousand_entries_of_several_blocks_arrive_in_order() {
    let server = Server::start().await;
    let line = |n: usize| format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(300));
    let lines: String = (0..10_000).map(|n| line(n) + "\n").collect();
    let array = format!("[{}]", lines.trim_end().replace('\n', ","));
    let form_b = Form::new()
        .text("action", "create_core_profiles")
        .part("payload", Part::text(lines.clone()).file_name("p.jsonl"));
    let form_a = [("action", "create_core_profiles"), ("payload", array.as_str())];
    for request in [
        server.request(Method::POST, PATH).multipart(form_b),
        server.request(Method::POST, PATH).form(&form_a),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
        let command = last(&server);
        assert_eq!(command.total, 10_000);
        assert!(command.blocks.len() > 2, "{} blocks", command.blocks.len());
        let texts: Vec<_> = entries(&command).into_iter().map(|(.., text)| text).collect();
        assert!(texts.iter().eq(lines.lines()));
    }
}

#[tokio::test]
async fn faulty_entries_are_accepted_with_the_payload() {
    let server = Server::start().await;
    for (payload, lines) in [("[1, null, {}]", 3), ("[[]]", 1)] {
        let form = [("action", "create_core_profiles"), ("payload", payload)];
        let answer = server.request(Method::POST, PATH).form(&form).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{payload}");
        assert_eq!(last(&server).total, lines);
    }
    let form = Form::new().text("action", "get_app_profiles").text("payload", "no json\n{}\n");
    let answer = server.request(Method::POST, PATH).multipart(form).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(last(&server).total, 2);
}

#[tokio::test]
async fn content_types_ignore_case_and_parameters() {
    let server = Server::start().await;
    let form = "payload=%5B%7B%7D%5D&action=get_core_profiles";
    let content_type = "Application/X-WWW-Form-Urlencoded; Charset=UTF-8";
    let request = server.request(Method::POST, PATH).header("Content-Type", content_type);
    assert_eq!(request.body(form).send().await.unwrap().status(), 201);
    let content_type = "Multipart/Form-Data; charset=utf-8; Boundary=\"x y\"";
    let body = "--x y\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\n\
                get_core_profiles\r\n--x y\r\ncontent-disposition: form-data; name=payload\r\n\
                Content-Type: text/csv\r\n\r\n{}\r\n--x y--\r\n";
    let request = server.request(Method::POST, PATH).header("Content-Type", content_type);
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
}

#[tokio::test]
async fn the_issue_path_takes_its_own_action_and_links_to_itself() {
    let server = Server::start().await;
    let path = "/v2/acme/issues/bulk_actions";
    let form = Form::new().text("action", "import_issues").text("payload", "{\"created_at\":1}");
    let answer = server.request(Method::POST, &format!("{path}/")).multipart(form);
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let url = server.url(&format!("{path}/{}", last(&server).id));
    assert_eq!(answer.headers()["location"], url.as_str());
    let task: serde_json::Value = answer.json().await.unwrap();
    assert_eq!(task["links"]["results"], format!("{url}/results"));
}

#[tokio::test]
async fn a_read_key_may_submit_only_tasks_that_read() {
    let server = Server::start().await;
    for (action, status) in [
        ("get_core_profiles", 201),
        ("get_app_profiles", 201),
        ("create_core_profiles", 403),
        ("update_core_profiles", 403),
        ("upsert_core_profiles", 403),
        ("delete_core_profiles", 403),
        ("update_app_profiles", 403),
        ("delete_app_profiles", 403),
    ] {
        let form = [("action", action), ("payload", "[{}]")];
        let request = server.bare(Method::POST, PATH).bearer_auth(READ).form(&form);
        assert_eq!(request.send().await.unwrap().status(), status, "{action}");
    }
    assert_eq!(server.store.created.lock().unwrap().len(), 2);
    let form = [("action", "update_core_profiles")];
    let answer = server.bare(Method::POST, PATH).bearer_auth(READ).form(&form).send().await;
    insta::assert_snapshot!(snapshot(answer.unwrap()).await);
}

#[tokio::test]
async fn task_ids_are_uuids_of_version_7_in_creation_order() {
    let server = Server::start().await;
    for _ in 0..2 {
        let form = [("action", "get_core_profiles"), ("payload", "[{}]")];
        server.request(Method::POST, PATH).form(&form).send().await.unwrap();
        server.now.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    let created = server.store.created.lock().unwrap();
    assert!(created.iter().all(|command| command.id.as_bytes()[14] == b'7'));
    assert!(created[0].id < created[1].id);
}
