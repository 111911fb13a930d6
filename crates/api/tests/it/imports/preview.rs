//! `POST …/imports/preview`: the first entries of a file with their faults, and nothing stored.

use reqwest::{Body, Method};
use serde_json::{Value, json};

use super::support::{HEAD, PATH, TYPE, form, lines};
use crate::server::{READ, Server};

#[tokio::test]
async fn the_first_entries_are_shown_with_their_faults_and_warnings() {
    let server = Server::start().await;
    let file =
        format!("{{\"identities\":[{{\"email\":\"N/A\"}}]}}\n{{\"age\":-1}}\n{{\n{}", lines(30));
    let form = form(&[("action", "create_core_profiles")], file);
    let path = format!("{PATH}/preview");
    let request = server.bare(Method::POST, &path).bearer_auth(READ).multipart(form);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let preview: Value = answer.json().await.unwrap();
    assert_eq!((&preview["format"]["type"], &preview["columns"]), (&json!("jsonl"), &json!([])));
    let entries = preview["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 20);
    assert_eq!(entries[0]["entry"], json!({"identities": [{"email": "N/A"}]}));
    assert_eq!(entries[0]["warnings"][0]["code"], "placeholder");
    assert_eq!(
        (&entries[1]["line"], &entries[1]["errors"][0]["pointer"]),
        (&json!(2), &json!("/age"))
    );
    assert_eq!(
        (&entries[2]["entry"], &entries[2]["errors"][0]["code"]),
        (&json!("{"), &json!("invalid_json"))
    );
    assert_eq!((&entries[3]["errors"], &entries[3]["warnings"]), (&json!([]), &json!([])));
    assert!(server.store.staged.lock().unwrap().is_empty());
    assert!(server.store.imports.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn only_the_beginning_of_a_long_file_is_read() {
    let server = Server::start().await;
    // The file never ends.
    let begin = format!("{HEAD}{}", lines(60_000)).into_bytes();
    let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>(begin)]);
    let endless = futures_util::StreamExt::chain(pieces, futures_util::stream::pending());
    let request = server.request(Method::POST, &format!("{PATH}/preview"));
    let request = request.header("Content-Type", TYPE);
    let answer = request.body(Body::wrap_stream(endless)).send().await.unwrap();
    let preview: Value = answer.json().await.unwrap();
    assert_eq!(preview["entries"].as_array().unwrap().len(), 20);
}
