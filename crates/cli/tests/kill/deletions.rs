//! Calls that delete single records through kills: a deletion whose answer arrived is never undone,
//! and the repeat of any other one deletes the record or gets the first answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use caseload_client::{Client, Payload, RecordList};
use caseload_model::task::{Action, Family};
use caseload_teststore::on_each_store;

use crate::common::{Server, Workdir};
use crate::life::{finish, records};

on_each_store!(threads 2:
    a_deleting_call_is_whole_before_and_after_kill_9,
);

const RECORDS: u64 = 90;
/// From the first call of a round to the kill.
const PAUSES_MS: [u64; 4] = [3, 20, 60, 120];

/// Sends a request with a key of its own; the status, and whether it is the answer to a repeat.
/// `None` if the server is gone.
fn call(url: &str, key: &str, method: &str, path: &str) -> Option<(u16, bool)> {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).ok()?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
         Idempotency-Key: {path}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    answer.contains("\r\n\r\n").then_some((status, answer.contains("idempotent-replayed: true")))
}

/// Issues with their authors, and core profiles; the paths of all of them.
async fn fill(server: &Server<'_>) -> Vec<String> {
    let client = Client::new(&server.url, "acme", &server.key).unwrap();
    let all = |line: fn(u64) -> String| {
        let lines: Vec<_> = (1..=RECORDS).map(line).collect();
        Payload::bytes(lines.join("\n"))
    };
    let issues = all(|n| format!(r#"{{"id":{n},"created_at":{n},"hs_user_id":"p{n}"}}"#));
    let bulk = client.bulk(Family::Issues);
    finish(bulk, bulk.submit(Action::ImportIssues, issues).await.unwrap()).await;
    let people = all(|n| format!(r#"{{"identities":[{{"uid":"u{n}"}}]}}"#));
    let bulk = client.bulk(Family::Identity);
    let task = bulk.submit(Action::CreateCoreProfiles, people).await.unwrap();
    let task = finish(bulk, task).await;
    let made = records(bulk, &task.task_id, RecordList::Results).await;
    let core = made.iter().map(|record| record["core-profile-id"].as_str().unwrap());
    let profiles = "/v2/acme/identity";
    core.zip(1..)
        .flat_map(|(id, n)| {
            [
                format!("/v1/acme/issues/{n}"),
                format!("{profiles}/app_profiles/p{n}"),
                format!("{profiles}/core_profiles/{id}"),
            ]
        })
        .collect()
}

async fn a_deleting_call_is_whole_before_and_after_kill_9() {
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    let paths = fill(&server).await;
    let per_round = paths.len().div_ceil(PAUSES_MS.len());
    for (paths, pause) in paths.chunks(per_round).zip(PAUSES_MS) {
        let (url, key, own) = (server.url.clone(), server.key.clone(), paths.to_vec());
        let calls = std::thread::spawn(move || {
            let calls = own.iter().map_while(|path| call(&url, &key, "DELETE", path));
            calls.collect::<Vec<_>>()
        });
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let key = server.key.clone();
        server.kill();
        let answered = calls.join().unwrap();
        assert!(answered.iter().all(|answer| *answer == (204, false)), "{answered:?}");
        server = Server::start(&workdir, key.clone());
        for (n, path) in paths.iter().enumerate() {
            let before = call(&server.url, &key, "GET", path).unwrap().0;
            let (status, replayed) = call(&server.url, &key, "DELETE", path).unwrap();
            assert_eq!(status, 204, "{path} after {pause} ms");
            assert!(replayed || n >= answered.len(), "{path} was answered before the kill");
            assert_eq!(before, if replayed { 404 } else { 200 }, "{path} after {pause} ms");
            assert_eq!(call(&server.url, &key, "GET", path).unwrap().0, 404, "{path}");
        }
        workdir.good(&["check"]);
    }
    assert_eq!(server.good(&["profiles", "export"]), "");
    assert_eq!(server.good(&["issues", "export"]), "");
}
