//! Streams of issues against a server that cuts them. Wherever it cuts, each issue arrives once and
//! in order, and the stream ends only with the last line of the server.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caseload_client::{Client, ClientError, Params};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that sends raw bodies in order, complete or cut, and the request targets it has seen.
async fn server(answers: Vec<(String, bool)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client =
        Client::new(&format!("http://{}", listener.local_addr().unwrap()), "acme", "k").unwrap();
    let targets = Arc::new(Mutex::new(Vec::new()));
    let log = targets.clone();
    tokio::spawn(async move {
        let mut answers = VecDeque::from(answers);
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            assert!(head.contains("accept: application/x-ndjson\r\n"), "{head}");
            let target = head.split(' ').nth(1).unwrap().to_owned();
            log.lock().unwrap().push(target);
            let Some((body, whole)) = answers.pop_front() else { return };
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            let chunk = format!("{head}{:x}\r\n{body}\r\n", body.len());
            let end = if whole { "0\r\n\r\n" } else { "" };
            stream.write_all(format!("{chunk}{end}").as_bytes()).await.unwrap();
        }
    });
    (client, targets)
}

fn issue(n: u64) -> String {
    format!(
        "{{\"id\":{n},\"created_at\":{n}0,\"updated_at\":\"t{n}\",\
         \"state_data\":{{\"state\":\"new\",\"changed_at\":{n}5}}}}\n"
    )
}

fn end(count: u64) -> String {
    format!("{{\"end\":true,\"count\":{count},\"next-cursor\":\"C\"}}\n")
}

async fn read(client: &Client, pairs: &[(&str, &str)]) -> (Vec<String>, Result<(), ClientError>) {
    let mut params = Params::default();
    for (name, value) in pairs {
        params.push(*name, *value);
    }
    let mut stream = client.stream_issues(params).with_wait(Duration::from_millis(1));
    let mut seen = Vec::new();
    loop {
        match stream.next().await {
            Ok(Some(line)) => seen.push(String::from_utf8(line.to_vec()).unwrap() + "\n"),
            Ok(None) => {
                assert_eq!(stream.next_cursor(), Some("C"));
                assert_eq!(stream.received(), seen.len() as u64);
                assert_eq!(stream.next().await.unwrap(), None, "it stays ended");
                return (seen, Ok(()));
            }
            Err(error) => return (seen, Err(error)),
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_resumes_after_its_last_complete_line() {
    let whole = [issue(1), issue(2), issue(3)].concat();
    let after_first = issue(1).len();
    for cut in [after_first, after_first + 1, whole.len() - 1, whole.len()] {
        for clean in [false, true] {
            // The transfer breaks off, or it ends properly without the line that counts the issues.
            // If it ends properly, its last line is complete even without a newline.
            let unfinished = u64::from(clean && cut == whole.len() - 1);
            let arrived = whole[..cut].matches('\n').count() as u64 + unfinished;
            let rest: String = (arrived + 1..=3).map(issue).collect();
            let answers = vec![(whole[..cut].to_owned(), clean), (rest + &end(3 - arrived), true)];
            let (client, targets) = server(answers).await;
            let (seen, done) = read(&client, &[("state", "new")]).await;
            done.unwrap();
            assert_eq!(seen.concat(), whole, "cut at {cut}");
            let targets = targets.lock().unwrap();
            let base = "/v1/acme/issues?state=new&sort-by=creation-time&sort-order=asc";
            assert_eq!(targets[0], base);
            assert_eq!(targets[1], format!("{base}&after={arrived}0%2C{arrived}"));
        }
    }
}

#[tokio::test]
async fn the_position_to_resume_at_follows_the_requested_order() {
    for (sort, position) in
        [("creation-time", "10"), ("update-time", "t1"), ("state-change-time", "15")]
    {
        let (client, targets) = server(vec![(issue(1), false), (end(0), true)]).await;
        let (seen, done) = read(&client, &[("sort_by", sort), ("cursor", "X")]).await;
        done.unwrap();
        assert_eq!(seen, [issue(1)]);
        let targets = targets.lock().unwrap();
        assert_eq!(targets[0], format!("/v1/acme/issues?sort_by={sort}&cursor=X&sort-order=asc"));
        let rest = format!("/v1/acme/issues?sort_by={sort}&sort-order=asc&after={position}%2C1");
        assert_eq!(targets[1], rest, "the position replaces the cursor");
    }
}

#[tokio::test]
async fn an_end_that_counts_other_issues_than_arrived_is_an_error() {
    for (body, message) in [
        (issue(1) + &end(2), "Some(2) issues counted, 1 sent"),
        ("{\"end\":true}\n".to_owned(), "None issues counted, 0 sent"),
        ("{\"id\":1}\n".to_owned(), "not an issue"),
    ] {
        let (client, _) = server(vec![(body, true)]).await;
        let error = read(&client, &[]).await.1.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_at_once() {
    let unreachable = Client::new("http://127.0.0.1:1", "acme", "k").unwrap();
    let error = read(&unreachable, &[]).await.1.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_stream_that_is_cut_too_often_fails() {
    let mut answers = vec![(issue(1), true)];
    answers.extend(std::iter::repeat_n((String::new(), true), 20));
    let (client, targets) = server(answers).await;
    let (seen, done) = read(&client, &[]).await;
    assert_eq!(seen.len(), 1);
    let error = done.unwrap_err();
    assert!(matches!(error, ClientError::Cut { issues: 1, .. }), "{error:?}");
    assert_eq!(targets.lock().unwrap().len(), 7);
}
