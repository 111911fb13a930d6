//! `GET /v1/{domain}/issues/{issue_id}/messages` and `…/private-notes`: pages and cursors over the
//! messages and notes of an issue, oldest first.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, create, desk, form, issue, json_of, say};
use crate::real_server::RealServer;

on_each_store!(
    messages_are_read_in_pages_and_by_cursor_oldest_first,
    a_cursor_stays_right_while_messages_are_added,
    notes_are_a_list_of_their_own,
    imported_messages_are_listed_in_the_order_of_their_times,
    a_list_of_an_issue_has_a_tag_and_answers_head,
    wrong_requests_name_their_faults,
    a_long_issue_is_read_in_parts,
);

fn bodies(answer: &Value, key: &str) -> Vec<String> {
    let records = answer[key].as_array().unwrap_or_else(|| panic!("{key} in {answer}"));
    records.iter().map(|one| one["body"].as_str().unwrap().to_owned()).collect()
}

/// An issue with the messages `0` to `count - 1`.
async fn conversation(real: &RealServer, count: usize) -> String {
    let path = create(real, &[("message-body", "0")]).await;
    for n in 1..count {
        let agent = if n % 2 == 0 { &[][..] } else { &[("agent-id", "eva")] };
        let body = n.to_string();
        say(real, &path, &[&[("message-body", body.as_str())], agent].concat()).await;
    }
    path
}

async fn messages_are_read_in_pages_and_by_cursor_oldest_first() {
    let real = desk().await;
    let path = format!("{}/messages", conversation(&real, 5).await);
    let all = real.json(&path).await;
    assert_eq!(bodies(&all, "messages"), ["0", "1", "2", "3", "4"]);
    assert_eq!(all["messages"], issue(&real, path.trim_end_matches("/messages")).await["messages"]);
    let members: Vec<&String> = all.as_object().unwrap().keys().collect();
    assert_eq!(members, ["page", "page-size", "messages", "total-hits", "total-pages"]);
    let second = real.request(Method::GET, &format!("{path}?page=2&page_size=2")).send().await;
    let second = second.unwrap();
    let link = second.headers()["link"].to_str().unwrap().to_owned();
    let url = format!("http://{}{path}", real.address);
    for (rel, page) in [("first", 1), ("prev", 1), ("next", 3), ("last", 3)] {
        let link_of = format!("<{url}?page={page}&page_size=2>; rel=\"{rel}\"");
        assert!(link.contains(&link_of), "{link}");
    }
    let second: Value = second.json().await.unwrap();
    assert_eq!(bodies(&second, "messages"), ["2", "3"]);
    assert_eq!((&second["total-hits"], &second["total-pages"]), (&json!(5), &json!(3)));
    let beyond = real.json(&format!("{path}?page=9")).await;
    assert_eq!((bodies(&beyond, "messages").len(), &beyond["total-hits"]), (0, &json!(5)));
    let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let step = real.json(&format!("{path}?cursor={cursor}&page-size=2&count=true")).await;
        pages += 1;
        assert_eq!((&step["page"], &step["total-hits"]), (&json!(pages), &json!(5)));
        seen.extend(bodies(&step, "messages"));
        match step["next-cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!((seen, pages), (bodies(&all, "messages"), 3));
    let step = real.json(&format!("{path}?cursor=&page-size=5")).await;
    assert!(step.get("total-hits").is_none() && step["next-cursor"].is_null(), "{step}");
    let lines = real.text(&format!("{path}?format=jsonl&page-size=2&page=2")).await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, second["messages"].as_array().unwrap()[..]);
    let iso = real.json(&format!("{path}?timestamp-format=iso-8601&page-size=1")).await;
    assert!(iso["messages"][0]["created_at"].as_str().unwrap().ends_with('Z'), "{iso}");
    real.stop().await;
}

async fn a_cursor_stays_right_while_messages_are_added() {
    let real = desk().await;
    let issue = conversation(&real, 3).await;
    let path = format!("{issue}/messages");
    let first = real.json(&format!("{path}?cursor=&page-size=2")).await;
    say(&real, &issue, &[("message-body", "3")]).await;
    let cursor = first["next-cursor"].as_str().unwrap();
    let rest = real.json(&format!("{path}?cursor={cursor}")).await;
    assert_eq!(bodies(&rest, "messages"), ["2", "3"]);
    real.stop().await;
}

async fn notes_are_a_list_of_their_own() {
    let real = desk().await;
    let issue = conversation(&real, 2).await;
    let path = format!("{issue}/private-notes");
    let none = real.json(&path).await;
    assert_eq!((&none["private_notes"], &none["total-pages"]), (&json!([]), &json!(1)));
    for note in ["a", "b", "c"] {
        form(&real, Method::POST, &path, &[("note-text", note)], 201).await;
    }
    let page = real.json(&format!("{path}/?page-size=2")).await;
    assert_eq!(bodies(&page, "private_notes"), ["a", "b"]);
    assert_eq!((&page["total-hits"], &page["total-pages"]), (&json!(3), &json!(2)));
    let step = real.json(&format!("{path}?cursor=&page-size=2")).await;
    let cursor = step["next-cursor"].as_str().unwrap();
    let rest = real.json(&format!("{path}?cursor={cursor}")).await;
    assert_eq!(bodies(&rest, "private_notes"), ["c"]);
    let messages = real.request(Method::GET, &format!("{issue}/messages?cursor={cursor}"));
    assert_eq!(messages.send().await.unwrap().status(), 400, "a cursor of another list");
    real.stop().await;
}

async fn imported_messages_are_listed_in_the_order_of_their_times() {
    let mut real = desk().await;
    real.run_tasks();
    let message = |body: &str, at: u64| json!({"body": body, "created_at": at});
    let record = json!({
        "id": 5,
        "created_at": 10,
        "messages": [message("c", 30), message("a", 10), message("b", 10), message("d", 40)],
        "private_notes": [message("z", 9), message("y", 8)],
    });
    real.run("issues", "import_issues", &record.to_string()).await;
    let path = format!("{ISSUES}/5");
    let all = real.json(&format!("{path}/messages")).await;
    assert_eq!(bodies(&all, "messages"), ["a", "b", "c", "d"]);
    let times: Vec<_> =
        all["messages"].as_array().unwrap().iter().map(|m| m["created_at"].as_u64()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let step = real.json(&format!("{path}/messages?cursor=&page-size=1")).await;
    let cursor = step["next-cursor"].as_str().unwrap();
    let rest = real.json(&format!("{path}/messages?cursor={cursor}")).await;
    assert_eq!(bodies(&rest, "messages"), ["b", "c", "d"]);
    let notes = real.json(&format!("{path}/private-notes")).await;
    assert_eq!(bodies(&notes, "private_notes"), ["y", "z"]);
    real.stop().await;
}

async fn a_list_of_an_issue_has_a_tag_and_answers_head() {
    let real = desk().await;
    let issue = conversation(&real, 2).await;
    for path in [format!("{issue}/messages"), format!("{issue}/private-notes")] {
        let answer = real.request(Method::GET, &path).send().await.unwrap();
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        let head = real.request(Method::HEAD, &path).send().await.unwrap();
        assert_eq!(
            (head.status().as_u16(), &head.headers()["etag"]),
            (200, &answer.headers()["etag"])
        );
        let get = |path: &str| real.request(Method::GET, path).header("If-None-Match", &tag).send();
        assert_eq!(get(&path).await.unwrap().status(), 304);
        assert_eq!(get(&format!("{path}?page-size=1")).await.unwrap().status(), 200);
        form(&real, Method::POST, &format!("{issue}/private-notes"), &[("note-text", "n")], 201)
            .await;
        assert_eq!(get(&path).await.unwrap().status(), 200);
    }
    real.stop().await;
}

async fn wrong_requests_name_their_faults() {
    let real = desk().await;
    let issue = conversation(&real, 1).await;
    for (path, status, code) in [
        (format!("{ISSUES}/99/messages"), 404, "not_found"),
        (format!("{ISSUES}/99999999999999999999/messages"), 404, "not_found"),
        (format!("{ISSUES}/x/private-notes"), 400, "invalid_value"),
        (format!("{issue}/messages?page=0"), 400, "out_of_range"),
        (format!("{issue}/messages?page-size=1001"), 400, "out_of_range"),
        (format!("{issue}/messages?page=501"), 400, "page_too_deep"),
        (format!("{issue}/messages?tags=a"), 400, "unknown_parameter"),
        (format!("{issue}/messages?format=xml"), 400, "invalid_value"),
        (format!("{issue}/messages?cursor=damaged"), 400, "invalid_value"),
        (format!("{issue}/private-notes?timestamp-format=x"), 400, "invalid_value"),
    ] {
        let (found, problem) =
            json_of(real.request(Method::GET, &path).send().await.unwrap()).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{path}: {problem}");
    }
    let both = format!("{ISSUES}/x/messages?page=0&odd=1");
    let (_, problem) = json_of(real.request(Method::GET, &both).send().await.unwrap()).await;
    assert_eq!(problem["errors"].as_array().unwrap().len(), 3, "{problem}");
    real.stop().await;
}

async fn a_long_issue_is_read_in_parts() {
    let mut real = desk().await;
    real.run_tasks();
    let body = "long ".repeat(10_000);
    let messages: Vec<Value> =
        (0..60).map(|n| json!({"body": format!("{n} {body}"), "created_at": n})).collect();
    let record = json!({"id": 5, "created_at": 1, "messages": messages});
    real.run("issues", "import_issues", &record.to_string()).await;
    let path = format!("{ISSUES}/5/messages?page-size=2&page=30");
    let part = real.text(&path).await;
    assert!(part.len() < 2 * (body.len() + 1000), "{}", part.len());
    let part: Value = serde_json::from_str(&part).unwrap();
    assert_eq!(bodies(&part, "messages"), [format!("58 {body}"), format!("59 {body}")]);
    real.stop().await;
}
