//! `caseload health` against a server, a server that is not ready, other programs and silence.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Output;

use crate::common::{Workdir, transcript_of};

fn assert_line(output: &Output, exit: i32, line: &str) {
    let said = transcript_of(output);
    assert_eq!(output.status.code(), Some(exit), "{said}");
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    assert_eq!(String::from_utf8(all).unwrap().lines().count(), 1, "{said}");
    assert!(said.contains(line), "{said}");
}

/// An address that gives this answer to each request.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn a_server_is_up_until_it_has_ended() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let url = server.url.clone();
    // As a probe, and with a slash at the end.
    for url in [url.clone(), format!("{url}/")] {
        assert_line(&workdir.run(&["health", "--url", &url]), 0, &format!("{url} is up\n"));
    }
    server.terminate();
    assert_line(&workdir.run(&["health", "--url", &url]), 3, "connection refused");
}

#[test]
fn an_answer_of_another_kind_and_silence_are_down_and_a_wrong_address_is_a_mistake() {
    let workdir = Workdir::new();
    let problem = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
                   {\"status\":503,\"code\":\"unavailable\",\"detail\":\"the store is away\"}";
    for (answer, reason) in [
        (problem, "is down: the server answered 503 unavailable: the store is away"),
        ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<p>\nhello", "did not answer as a Caseload"),
        ("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n", "404"),
        ("HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n", "401"),
        ("HTTP/1.1 302 Found\r\nlocation: /x\r\nconnection: close\r\n\r\n", "302"),
    ] {
        assert_line(&workdir.run(&["health", "--url", &answering(answer)]), 3, reason);
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    assert_line(&workdir.run(&["health", "--url", &url]), 3, "did not answer in time");
    let output = workdir.run(&["health", "--url", "localhost"]);
    assert_line(&output, 2, "begins with http:// or https://");
}
