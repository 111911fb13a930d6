//! Streams of issues against a server that cuts them: whatever is cut where, each issue comes once,
//! in order, and the end is only believed when the server says it.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caseload_client::{Client, ClientError, IssueParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers raw bodies in order, whole or cut; keeps the targets it was asked for.
async fn server(answers: Vec<(String, bool)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client =
        Client::new(&format!("http://{}", listener.local_addr().unwrap()), "acme", "k").unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
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
            kept.lock().unwrap().push(target);
            let Some((body, whole)) = answers.pop_front() else { return };
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            let chunk = format!("{head}{:x}\r\n{body}\r\n", body.len());
            let end = if whole { "0\r\n\r\n" } else { "" };
            stream.write_all(format!("{chunk}{end}").as_bytes()).await.unwrap();
        }
    });
    (client, asked)
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
    let mut params = IssueParams::default();
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
async fn a_stream_that_is_cut_anywhere_goes_on_behind_its_last_whole_line() {
    let whole = [issue(1), issue(2), issue(3)].concat();
    let after_first = issue(1).len();
    for cut in [after_first, after_first + 1, whole.len() - 1, whole.len()] {
        for clean in [false, true] {
            // Cut in the transfer, or ended properly without the last line.
            // Of a body that ends properly the last line is whole without its newline, too.
            let unfinished = u64::from(clean && cut == whole.len() - 1);
            let came = whole[..cut].matches('\n').count() as u64 + unfinished;
            let rest: String = (came + 1..=3).map(issue).collect();
            let answers = vec![(whole[..cut].to_owned(), clean), (rest + &end(3 - came), true)];
            let (client, asked) = server(answers).await;
            let (seen, done) = read(&client, &[("state", "new")]).await;
            done.unwrap();
            assert_eq!(seen.concat(), whole, "cut at {cut}");
            let asked = asked.lock().unwrap();
            let base = "/v1/acme/issues?state=new&sort-by=creation-time&sort-order=asc";
            assert_eq!(asked[0], base);
            assert_eq!(asked[1], format!("{base}&after={came}0%2C{came}"));
        }
    }
}

#[tokio::test]
async fn the_place_to_go_on_is_of_the_order_that_was_asked_for() {
    for (sort, place) in
        [("creation-time", "10"), ("update-time", "t1"), ("state-change-time", "15")]
    {
        let (client, asked) = server(vec![(issue(1), false), (end(0), true)]).await;
        let (seen, done) = read(&client, &[("sort_by", sort), ("cursor", "X")]).await;
        done.unwrap();
        assert_eq!(seen, [issue(1)]);
        let asked = asked.lock().unwrap();
        assert_eq!(asked[0], format!("/v1/acme/issues?sort_by={sort}&cursor=X&sort-order=asc"));
        let rest = format!("/v1/acme/issues?sort_by={sort}&sort-order=asc&after={place}%2C1");
        assert_eq!(asked[1], rest, "a cursor gives way to the place behind it");
    }
}

#[tokio::test]
async fn an_end_that_counts_other_issues_than_came_is_an_error() {
    for (body, said) in [
        (issue(1) + &end(2), "Some(2) issues counted, 1 sent"),
        ("{\"end\":true}\n".to_owned(), "None issues counted, 0 sent"),
        ("{\"id\":1}\n".to_owned(), "no issue"),
    ] {
        let (client, _) = server(vec![(body, true)]).await;
        let error = read(&client, &[]).await.1.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_at_once() {
    let nobody = Client::new("http://127.0.0.1:1", "acme", "k").unwrap();
    let error = read(&nobody, &[]).await.1.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_stream_that_is_cut_again_and_again_is_given_up() {
    let mut answers = vec![(issue(1), true)];
    answers.extend(std::iter::repeat_n((String::new(), true), 20));
    let (client, asked) = server(answers).await;
    let (seen, done) = read(&client, &[]).await;
    assert_eq!(seen.len(), 1);
    let error = done.unwrap_err();
    assert!(matches!(error, ClientError::Cut { issues: 1, .. }), "{error:?}");
    assert_eq!(asked.lock().unwrap().len(), 7);
}
