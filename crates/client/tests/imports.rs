//! Uploads of files against a server that closes or answers by script: the uploads that the client
//! sends again, their key, and the answers that it takes for repeats.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use caseload_client::{Client, ClientError, FileSource, ImportForm, Params, Task, Upload};
use caseload_model::task::Family;

/// Closes a connection without an answer.
const LOST: &str = "";

const IMPORT: &str = concat!(
    r#"{"import_id":"i-1","action":"create_core_profiles","status":"queued","progress":0,"#,
    r#""outcome":null,"dry_run":false,"counts":{"total":1,"succeeded":0,"failed":0,"#,
    r#""unprocessed":1},"warnings":0,"created_at":1,"repeat_of":"i-0","tasks":["t-1"]}"#
);

fn answer(status: &str, headers: &str) -> String {
    let length = IMPORT.len();
    let headers = format!("{headers}Connection: close\r\nContent-Length: {length}");
    format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n{IMPORT}")
}

/// A server that gives these answers, one on each connection, and returns the requests.
fn server(answers: Vec<String>) -> (Client, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = std::thread::spawn(move || {
        let give = |answer: String| {
            let (mut stream, _) = listener.accept().unwrap();
            let request = whole_request(&mut stream);
            stream.write_all(answer.as_bytes()).unwrap();
            // The end of a body in chunks follows its last boundary. Unread bytes would make the
            // system reset the connection, and the client might lose the answer.
            stream.shutdown(Shutdown::Write).unwrap();
            _ = stream.read_to_end(&mut Vec::new());
            request
        };
        answers.into_iter().map(give).collect()
    });
    (Client::new(&url, "acme", "secret").unwrap(), requests)
}

/// Reads a request to the last boundary of its form, or as far as it goes.
fn whole_request(stream: &mut TcpStream) -> String {
    let mut request = String::new();
    let mut piece = [0; 4096];
    while !request.contains("--\r\n") {
        let read = stream.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        request.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    request
}

fn header(request: &str, name: &str) -> Option<String> {
    let head = request.split("\r\n\r\n").next().unwrap();
    let line = head.lines().find(|line| line.to_lowercase().starts_with(name))?;
    Some(line.split_once(": ").unwrap().1.to_owned())
}

async fn import(client: &Client, source: FileSource, upload: &Arc<Upload>) -> Result<Task, String> {
    let mut options = Params::default();
    options.push("action", "create_core_profiles");
    let form = ImportForm {
        options,
        file_name: Some("people.csv".to_owned()),
        idempotency_key: "key-1".to_owned(),
    };
    let sent = client.imports(Family::Identity).import(&form, source, upload, |_| {}).await;
    sent.map_err(|error| match error {
        ClientError::Payload(error) => format!("payload: {error}"),
        error => error.to_string(),
    })
}

async fn file(text: &str) -> (tempfile::NamedTempFile, FileSource) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let opened = tokio::fs::File::open(file.path()).await.unwrap();
    (file, FileSource::open(opened).await.unwrap())
}

#[tokio::test]
async fn a_file_whose_answer_was_lost_is_sent_again_under_its_key() {
    let replayed = answer("201 Created", "Idempotent-Replayed: true\r\n");
    let (client, requests) = server(vec![LOST.to_owned(), LOST.to_owned(), replayed]);
    let (_file, source) = file("uid\n1\n").await;
    let task = import(&client, source, &Arc::default()).await.unwrap();
    assert_eq!((&*task.task_id, task.is_repeat), ("i-1", false), "the lost answer is not a repeat");
    assert_eq!(task.repeat_of.as_deref(), Some("i-0"));
    let requests = requests.join().unwrap();
    for request in &requests {
        assert!(request.starts_with("POST /v2/acme/identity/imports HTTP/1.1\r\n"), "{request}");
        assert_eq!(header(request, "idempotency-key").as_deref(), Some("key-1"));
        assert!(header(request, "content-length").is_some(), "{request}");
        let parts = request.split_once("\r\n\r\n").unwrap().1;
        let option = parts.find("name=\"action\"\r\n\r\ncreate_core_profiles\r\n").unwrap();
        let file = parts.find("filename=\"people.csv\"").unwrap();
        assert!(option < file && parts[file..].contains("\r\n\r\nuid\n1\n\r\n--"), "{parts}");
    }
}

/// An answer of a proxy, whose server does not know of the call.
fn page(status: &str) -> String {
    let page = format!("<html>\r\n<head><title>{status}</title></head>\r\n</html>\r\n");
    let length = page.len();
    let head = "Content-Type: text/html\r\nConnection: close\r\n";
    format!("HTTP/1.1 {status}\r\n{head}Content-Length: {length}\r\n\r\n{page}")
}

#[tokio::test]
async fn a_file_whose_server_does_not_answer_a_proxy_is_sent_again_under_its_key() {
    let answers = vec![page("502 Bad Gateway"), page("504 Gateway Time-out")];
    let (client, requests) = server([answers, vec![answer("201 Created", "")]].concat());
    let (_file, source) = file("uid\n1\n").await;
    let task = import(&client, source, &Arc::default()).await.unwrap();
    assert_eq!(task.task_id, "i-1");
    for request in requests.join().unwrap() {
        assert_eq!(header(&request, "idempotency-key").as_deref(), Some("key-1"));
        assert!(request.contains("uid\n1\n"), "{request}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_for_a_proxy_is_sent_once() {
    let (client, requests) = server(vec![page("413 Request Entity Too Large")]);
    let (_file, source) = file("uid\n1\n").await;
    let refused = import(&client, source, &Arc::default()).await.unwrap_err();
    let (head, reason) = refused.split_once(" answered 413: ").unwrap();
    assert!(head.starts_with("a proxy in front of http://127.0.0.1:"), "{refused}");
    assert!(reason.contains("client_max_body_size in nginx"), "{refused}");
    assert_eq!(requests.join().unwrap().len(), 1);
}

#[tokio::test]
async fn a_reader_is_sent_once() {
    let (client, requests) = server(vec![LOST.to_owned()]);
    let upload = Arc::default();
    let refused = import(&client, FileSource::reader(&b"uid\n1\n"[..]), &upload).await.unwrap_err();
    assert!(refused.starts_with("cannot reach http://127.0.0.1:"), "{refused}");
    assert!(upload.is_whole(), "the server may have taken it");
    let requests = requests.join().unwrap();
    assert_eq!(header(&requests[0], "transfer-encoding").as_deref(), Some("chunked"));
}

#[tokio::test]
async fn an_answer_200_is_the_first_import_of_the_file() {
    let (client, _requests) = server(vec![answer("200 OK", "Idempotent-Replayed: true\r\n")]);
    let (_file, source) = file("uid\n1\n").await;
    assert!(import(&client, source, &Arc::default()).await.unwrap().is_repeat);
}

#[tokio::test]
async fn a_file_that_changes_on_its_way_is_an_error_of_the_file() {
    for text in ["uid\n", "uid\n1\n2\n"] {
        let (client, _requests) = server(vec![LOST.to_owned()]);
        let (changed, source) = file("uid\n1\n").await;
        std::fs::write(changed.path(), text).unwrap();
        let refused = import(&client, source, &Arc::default()).await.unwrap_err();
        assert_eq!(refused, "payload: its length has changed while it was sent");
    }
}

#[tokio::test]
async fn the_beginning_of_a_source_can_be_looked_at() {
    let (client, requests) = server(vec![answer("201 Created", ""), answer("201 Created", "")]);
    let (_file, source) = file("uid\n1\n").await;
    for source in [source, FileSource::reader(&b"uid\n1\n"[..])] {
        let (head, source) = source.peek(3).await.unwrap();
        assert_eq!(head, "uid");
        import(&client, source, &Arc::default()).await.unwrap();
    }
    for request in requests.join().unwrap() {
        assert!(request.contains("uid") && request.contains("\n1\n"), "{request}");
    }
}
