//! The examples in the help of the commands, run by a shell in the order of the commands, against a
//! server with some data.

use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{Server, Workdir, transcript_of};
use crate::help::COMMANDS;

/// Examples that serve, or that need a stopped server, another machine, a task that still runs, a
/// person or a program that may be missing.
const NOT_RUN: [&str; 15] = [
    "caseload demo",
    "caseload demo --exit",
    "caseload demo --store sqlite:trial/demo.db --listen 127.0.0.1:0",
    "caseload serve",
    "caseload serve --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem",
    "caseload serve --store postgres://caseload@db.example.org/caseload --trusted-proxy 127.0.0.1",
    "caseload health --url https://desk.example.org",
    "caseload distribute --store postgres://caseload@coordinator/caseload --dry-run",
    "caseload copy --from sqlite:caseload-data/caseload.db --to postgres://caseload@db/caseload",
    "caseload copy --from sqlite:caseload-data/caseload.db --to sqlite:moved/caseload.db",
    "caseload man | man -l -",
    "caseload bulk cancel \"$TASK\"",
    "caseload changes --follow --resource issue --json",
    "caseload erase --identity email:ada@example.org --dry-run",
    "caseload erase --identity email:ada@example.org --yes",
];
/// Examples about entries of which one has failed, or fails again.
const SOME_FAIL: [&str; 2] =
    ["caseload bulk follow \"$TASK\"", "caseload bulk retry \"$TASK\" --wait"];

/// The files that examples name.
fn write_files(workdir: &Workdir) {
    let person = |uid: &str| format!("{{\"identities\":[{{\"uid\":\"{uid}\"}}]}}\n");
    workdir.write("people.jsonl", person("u-1"));
    workdir.write("some-fail.jsonl", person("u-2") + &person("u-2"));
    workdir.write("people.csv", "email,full_name,tags\nada@example.org,Ada Lovelace,vip\n");
    workdir.write("some-fail.csv", "email,age\nb@example.org,old\n");
    workdir.write("crm.csv", "E-mail,age,Notes\nada@example.org,36,x\n");
    workdir.write("old.csv", b"email,full_name\ne@example.org,Ren\xe9e\n");
    workdir.write("issues.jsonl", r#"{"id":1,"title":"No mail","created_at":1767225600000}"#);
    workdir.write("tickets.csv", "id,title,created_at\n7,Refund,1767225600000\n");
}

/// The variables that examples name: the ids of a key, a task, an import, a dry run and a webhook.
fn variables(server: &Server<'_>) -> [(&'static str, String); 5] {
    let id = |args: &[&str]| {
        let output = server.run(args);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let submit = ["bulk", "submit", "create_core_profiles"];
    let import = id(&[&submit[..], &["some-fail.csv", "--wait"]].concat());
    let task = id(&[&submit[..], &["some-fail.jsonl", "--wait"]].concat());
    let dry_run = ["bulk", "submit", "upsert_core_profiles", "people.jsonl", "--dry-run", "--wait"];
    let dry_run = id(&dry_run);
    server.good(&["key", "create", "--domain", "acme", "--name", "old"]);
    let keys = server.good(&["key", "list", "--domain", "acme", "--json"]);
    let mut keys = keys.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let key = keys.rfind(|key| key["name"] == "old").unwrap();
    let key = key["id"].as_str().unwrap().to_owned();
    let webhook = server.good(&["webhook", "create", "https://example.com/"]);
    let webhook = webhook.split('\t').next().unwrap().to_owned();
    [
        ("KEY_ID", key),
        ("TASK", task),
        ("IMPORT", import),
        ("DRY_RUN", dry_run),
        ("WEBHOOK", webhook),
    ]
}

fn run(server: &Server<'_>, variables: &[(&str, String)], line: &str) -> Output {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_caseload")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let of_program = server.caseload(&[]);
    let mut shell = Command::new("bash");
    shell.args(["-e", "-o", "pipefail", "-c", line]).current_dir(server.workdir.path("."));
    for (name, value) in of_program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("PATH", path).envs(variables.iter().cloned()).output().unwrap()
}

#[test]
fn the_examples_of_the_help_work() {
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    let admin = ["key", "create", "--domain", "acme", "--access", "admin"];
    server.key = workdir.good(&admin).trim().to_owned();
    write_files(&workdir);
    let variables = variables(&server);
    server.good(&["backup", "latest.db"]);
    let mut left_out = Vec::new();
    for command in COMMANDS {
        let args: Vec<_> = command.split_whitespace().chain(["-h"]).collect();
        let help = workdir.good(&args);
        let lines: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let lines: Vec<_> = lines.into_iter().filter(|l| l.starts_with("caseload ")).collect();
        assert!(!lines.is_empty(), "{command}: {help}");
        for line in lines {
            if NOT_RUN.contains(&line) {
                left_out.push(line.to_owned());
                continue;
            }
            let output = run(&server, &variables, line);
            let expected = i32::from(SOME_FAIL.contains(&line));
            let said = transcript_of(&output);
            assert_eq!(output.status.code(), Some(expected), "{line}\n{said}");
        }
    }
    assert_eq!(left_out.len(), NOT_RUN.len(), "{left_out:?}");
    for name in
        ["results.jsonl", "rejected.csv", "everyone.csv", "resolved.csv", "latest.db", "ada.json"]
    {
        assert!(crate::common::exists(&workdir.path(name)), "{name}");
    }
}
