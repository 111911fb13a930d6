//! `caseload changes`: lines for people and for programs, and following over a restart.

use std::io::{BufRead, BufReader};

use caseload_teststore::on_each_store;
use serde_json::Value;

use crate::common::{Server, Workdir, signal};

on_each_store!(blocking:
    changes_are_printed_as_lines_and_as_json,
    a_follower_goes_on_after_a_restart_of_the_server,
);

const ISSUE: &str = r#"{"id":7,"title":"No mail","created_at":1767225600000}"#;

fn changes_are_printed_as_lines_and_as_json() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", ISSUE);
    server.good(&["issues", "import", "in.jsonl"]);
    workdir.write("in.jsonl", ISSUE.replace("No mail", "Mail"));
    server.good(&["issues", "import", "in.jsonl", "--upsert"]);
    let of_issues = ["changes", "--resource", "issue", "--since", "1h"];
    let lines = server.good(&of_issues);
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 2, "{lines}");
    assert!(rows[0][0].ends_with(" UTC") && rows[0][1].starts_with("task "), "{lines}");
    assert_eq!(rows[0][2..], ["created", "issue 7", ""]);
    assert_eq!(rows[1][2..], ["updated", "issue 7", "title: No mail -> Mail, hs_user_id"]);
    let json = server.good(&[&of_issues[..], &["--json", "--action", "updated"]].concat());
    let change: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(change["fields"], serde_json::json!(["title", "hs_user_id"]));
    let all = server.good(&["changes", "--json"]);
    let position = change["position"].as_str().unwrap();
    let rest = server.good(&["changes", "--json", "--cursor", position]);
    let (_, after) = all.split_once(json.as_str()).expect("all changes have this one");
    assert_eq!(rest, after);
    let wrong = server.run(&["changes", "--resource", "issues"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("is not one of issue, core_profile"));
}

fn a_follower_goes_on_after_a_restart_of_the_server() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let (key, url) = (server.key.clone(), server.url.clone());
    let import = |server: &Server<'_>, id: u32| {
        workdir.write("in.jsonl", ISSUE.replace("\"id\":7", &format!("\"id\":{id}")));
        server.good(&["issues", "import", "in.jsonl"]);
    };
    import(&server, 1);
    let args = ["changes", "--follow", "--since", "1h", "--resource", "issue", "--json"];
    let mut following = server.caseload(&args).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().expect("the follower goes on").unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["id"].clone()
    };
    assert_eq!(next(), "1");
    import(&server, 2);
    assert_eq!(next(), "2");
    server.kill();
    let listen = url.strip_prefix("http://").unwrap();
    let command = workdir.caseload(&["serve", "--listen", listen]);
    let server = Server::spawn(&workdir, key, command);
    import(&server, 3);
    assert_eq!(next(), "3", "neither a gap nor a repeat");
    signal(&following, "INT");
    assert_eq!(following.wait().unwrap().code(), Some(130));
}
