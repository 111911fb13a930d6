//! `caseload person export`: the document has each kind of data of a person and no data of another
//! one. Two people have the same kinds of records, and each text of theirs has a word of its own.

use caseload_teststore::on_each_store;
use serde_json::{Value, json};

use crate::common::{Server, Workdir, exists, transcript_of};

on_each_store!(blocking:
    a_document_has_all_of_a_person_and_nothing_of_another,
    a_person_with_many_issues_is_in_one_document,
    a_person_who_is_not_there_is_an_error_and_no_file,
);

const ADA: [&str; 4] = ["person", "export", "--identity", "email:ada@example.org"];

fn profile(word: &str, n: usize) -> Value {
    json!({
        "identities": [{"email": format!("{word}@example.org")}, {"uid": format!("{word}-{n}")}],
        "names": {"first_name": format!("{word} name")},
    })
}

fn issue(word: &str, id: usize) -> Value {
    let author = json!({"name": word, "emails": [format!("{word}@example.org")]});
    let url = format!("https://files.example.org/{word}.png");
    json!({
        "id": id, "created_at": 1_767_225_600_000_usize + id, "title": format!("{word} title"),
        "author_name": word, "author_email": format!("{word}@example.org"),
        "meta": {"phone": format!("{word} phone")},
        "custom_fields": {"plan": {"type": "singleline", "value": format!("{word} plan")}},
        "feedback_rating": 2, "feedback_comment": format!("{word} comment"),
        "state_data": {"state": "resolved"},
        "private_notes": [{"body": format!("{word} note"), "created_at": 1_767_225_600_000_usize}],
        "messages": [{
            "body": format!("{word} message"), "created_at": 1_767_225_600_000_usize,
            "author": author,
            "attachments": [{"url": url, "file_name": format!("{word}.png")}],
        }],
    })
}

fn lines(records: &[Value]) -> String {
    records.iter().fold(String::new(), |lines, record| lines + &record.to_string() + "\n")
}

/// Gives both people the same kinds of records.
fn fill(server: &Server<'_>) {
    let workdir = server.workdir;
    let submit = |action: &str, records: &[Value], more: &[&str]| {
        workdir.write("in.jsonl", lines(records));
        drop(server.run(&[&["bulk", "submit", action, "in.jsonl", "--wait"], more].concat()));
    };
    let people = ["ada", "bob"].map(|word| profile(word, 1));
    submit("create_core_profiles", &people, &[]);
    let renamed = ["ada", "bob"].map(|word| {
        let identities = json!([{"email": format!("{word}@example.org")}]);
        json!({"identities": identities, "names": {"last_name": format!("{word} renamed")}})
    });
    submit("upsert_core_profiles", &renamed, &[]);
    // Faults, whose entries stay with their tasks, and a dry run, whose payload stays.
    let faulty = ["ada", "bob"].map(|word| {
        let identity = json!({"email": format!("{word}@example.org")});
        json!({"identities": [identity], "age": format!("{word} x")})
    });
    submit("upsert_core_profiles", &faulty, &["--again"]);
    submit("upsert_core_profiles", &people, &["--dry-run"]);
    let gets: Vec<Value> = server
        .good(&["profiles", "export"])
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|profile| json!({"core-profile-id": profile["core-profile-id"]}))
        .collect();
    submit("get_core_profiles", &gets, &[]);
    workdir.write("in.jsonl", lines(&[issue("ada", 7), issue("bob", 8)]));
    server.good(&["issues", "import", "in.jsonl"]);
    let mut changed = [issue("ada", 7), issue("bob", 8)];
    for issue in &mut changed {
        issue["title"] = format!("new {}", issue["title"].as_str().unwrap()).into();
    }
    workdir.write("in.jsonl", lines(&changed));
    server.good(&["issues", "import", "in.jsonl", "--upsert"]);
}

fn reader<'p>(server: &Server<'p>) -> Server<'p> {
    let args = ["key", "create", "--domain", "acme", "--access", "read"];
    let key = server.workdir.good(&args).trim().to_owned();
    Server {
        workdir: server.workdir,
        child: None,
        url: server.url.clone(),
        key,
        log: server.log.clone(),
    }
}

fn texts(document: &Value, list: &str) -> Vec<String> {
    document[list].as_array().unwrap().iter().map(Value::to_string).collect()
}

fn a_document_has_all_of_a_person_and_nothing_of_another() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    fill(&server);
    let reader = reader(&server);
    let output = reader.run(&[&ADA[..], &["-o", "ada.json"]].concat());
    assert!(output.status.success() && output.stdout.is_empty(), "{}", transcript_of(&output));
    let said = String::from_utf8(output.stderr).unwrap();
    let counts = "exported 1 core profile, 1 app profile, 1 issue, ";
    assert!(said.starts_with(counts) && said.ends_with(" to ada.json\n"), "{said}");
    let text = workdir.read("ada.json");
    assert!(!text.contains("bob"), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["domain"], "acme");
    assert!(document["exported_at"].is_i64());
    assert_eq!(document["person"]["issue_ids"], json!([7]));
    let id = document["person"]["core_profile_ids"][0].as_str().unwrap();
    let pid = document["person"]["pids"][0].as_str().unwrap();
    let core = texts(&document, "core_profiles");
    assert_eq!(core.len(), 1);
    for part in [id, pid, "ada@example.org", "ada-1", "ada name", "ada renamed"] {
        assert!(core[0].contains(part), "{part}: {core:?}");
    }
    let app = texts(&document, "app_profiles");
    assert!(app.len() == 1 && app[0].contains(pid) && app[0].contains("ada@"), "{app:?}");
    let issues = texts(&document, "issues");
    assert_eq!(issues.len(), 1);
    for part in ["new ada title", "message", "phone", "plan", "comment", "note", "ada.png"] {
        assert!(issues[0].contains(part), "{part}: {issues:?}");
    }
    let file = &document["attachments"][0];
    assert_eq!(file["url"], "https://files.example.org/ada.png");
    assert_eq!((&file["issue_id"], file["message_id"].is_string()), (&json!(7), true), "{file}");
    tasks_have(&document, id);
    let changes = document["changes"].as_array().unwrap();
    let of = |resource: &str, action: &str| {
        changes.iter().filter(|c| c["resource"] == resource && c["action"] == action).count()
    };
    assert_eq!((of("core_profile", "created"), of("core_profile", "updated")), (1, 1), "{text}");
    assert_eq!((of("issue", "created"), of("issue", "updated")), (1, 1), "{text}");
    assert_eq!(of("app_profile", "created"), 1, "{text}");
    for (flag, value) in [("--core-profile-id", id), ("--pid", pid)] {
        let same = reader.good(&["person", "export", flag, value]);
        let mut same: Value = serde_json::from_str(&same).unwrap();
        same["exported_at"] = document["exported_at"].clone();
        assert_eq!(same, document, "{flag}");
    }
    let erased = reader.run(&["erase", "--identity", "email:ada@example.org", "--yes"]);
    assert_eq!(erased.status.code(), Some(4), "a copy needs less than an erasure");
}

/// Each kind of record of a task is in the document.
fn tasks_have(document: &Value, id: &str) {
    let tasks = document["tasks"].as_array().unwrap();
    let of = |action: &str, list: &str, part: &str| {
        let mut found = tasks.iter().filter(|task| task["action"] == action);
        found
            .any(|task| task[list].as_array().unwrap().iter().any(|r| r.to_string().contains(part)))
    };
    for (action, list, part) in [
        ("create_core_profiles", "results", id),
        ("get_core_profiles", "results", "ada name"),
        ("upsert_core_profiles", "errors", "ada x"),
        ("upsert_core_profiles", "entries", "ada name"),
        ("import_issues", "results", "\"id\":7"),
    ] {
        assert!(of(action, list, part), "{action} {list} {part}: {}", document["tasks"]);
    }
}

fn a_person_with_many_issues_is_in_one_document() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let issues: Vec<_> = (1..=250).map(|id| issue("ada", id)).chain([issue("bob", 251)]).collect();
    workdir.write("in.jsonl", lines(&issues));
    server.good(&["issues", "import", "in.jsonl"]);
    let document: Value = serde_json::from_str(&server.good(&ADA)).unwrap();
    let mut ids: Vec<_> = document["issues"].as_array().unwrap().iter().collect();
    ids.sort_by_key(|issue| issue["id"].as_u64());
    let ids: Vec<_> = ids.into_iter().map(|issue| issue["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=250).collect::<Vec<_>>());
    assert_eq!(document["attachments"].as_array().unwrap().len(), 250);
    let changes = document["changes"].as_array().unwrap();
    let of_issues = changes.iter().filter(|change| change["resource"] == "issue");
    assert_eq!(of_issues.count(), 250);
    assert!(!document.to_string().contains("bob"), "{document}");
}

fn a_person_who_is_not_there_is_an_error_and_no_file() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    fill(&server);
    let wanted = |args: &[&str], code: i32, part: &str| {
        let output = server.run(args);
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(output.stdout.is_empty() && said.contains(part), "{said}");
    };
    let export = |more: &[&'static str]| [&["person", "export", "-o", "out"], more].concat();
    let unknown = "404 not_found: the domain has no profile and no issue of this person";
    wanted(&export(&["--identity", "email:no@example.org"]), 2, unknown);
    wanted(&export(&["--pid", "p"]), 2, unknown);
    wanted(&export(&["--identity", "ada"]), 2, "400 ");
    wanted(&export(&[]), 2, "400 ");
    wanted(&export(&["--pid", "p", "--core-profile-id", "7"]), 2, "cannot be used with");
    wanted(&export(&["--pid", "p", "--api-key", "wrong"]), 4, "401 ");
    wanted(&export(&["--pid", "p", "--url", "http://127.0.0.1:9"]), 3, "cannot reach");
    server.good(&["erase", "--identity", "email:ada@example.org", "--yes"]);
    wanted(&export(&["--identity", "email:ada@example.org"]), 2, unknown);
    assert!(!exists(&workdir.path("out")) && !exists(&workdir.path("out.caseload-part")));
}
