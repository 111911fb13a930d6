//! `caseload issues`: imports, exports and reads. The strongest test is the round trip: an empty
//! store imports the export of another one, and its own export has the same bytes.

use std::fmt::Write as _;

use caseload_teststore::on_each_store;

use crate::common::{Workdir, cutting_proxy, exists, redacted, transcript_of};

on_each_store!(blocking:
    an_export_imports_into_an_empty_store_and_exports_as_the_same_bytes,
    an_export_of_a_span_includes_both_ends,
    an_export_over_a_connection_that_breaks_is_the_same_as_over_one_that_holds,
    failed_entries_are_printed_with_their_lines_in_the_file,
    one_page_or_one_issue_is_printed_as_the_servers_bytes,
    issues_are_searched_counted_and_printed_as_a_table,
    an_explained_list_names_its_counters_indexes_and_sets,
    one_array_of_issues_is_imported_like_its_elements_on_lines,
    files_without_lines_of_issues_are_refused_before_anything_is_sent,
    tasks_of_both_paths_are_found_by_their_id,
);

/// Issues with every field, several of them created in the same millisecond.
fn issues(count: u64) -> String {
    let mut lines = String::new();
    for n in 0..count {
        let at = 1_700_000_000_000 + (n / 3) * 1_000;
        let (tag, author, before, rating) = (n % 7, n % 40, at - 5, 1 + n % 5);
        let _ = writeln!(
            lines,
            concat!(
                r#"{{"title":"№ {n} \"ü\" \u0000","tags":["a","b{tag}"],"#,
                r#""author_name":"Ada {n}","author_email":"ada{author}@example.org","#,
                r#""state_data":{{"state":"resolved","changed_at":{at}}},"#,
                r#""created_at":{at},"updated_at":{before},"messages":["#,
                r#"{{"body":"<p>{n}</p>","created_at":{at},"origin":"end-user"}},"#,
                r#"{{"body":"✓","created_at":{at},"origin":"helpshift","author":{{"#,
                r#""name":"Grace","id":"agent-1","emails":["grace@example.org"]}}}}],"#,
                r#""custom_fields":{{"n":{{"type":"number","value":{n}.50}}}},"#,
                r#""meta":{{"k":{{"v":"{n}"}}}},"feedback_rating":{rating},"#,
                r#""feedback_comment":"ok","private_notes":[{{"body":"note","#,
                r#""created_at":{at},"author":{{"name":"Grace","id":"agent-1"}}}}],"#,
                r#""queue":{{"id":"q","name":"Queue"}},"#,
                r#""smart_intents":{{"intent_search_text":null}},"language":"en"}}"#,
            ),
            n = n,
            tag = tag,
            author = author,
            at = at,
            before = before,
            rating = rating,
        );
    }
    lines
}

fn an_export_imports_into_an_empty_store_and_exports_as_the_same_bytes() {
    let (first, second) = (Workdir::new(), Workdir::new());
    let server = first.serve();
    first.write("in.jsonl", issues(450));
    let said = server.good(&["issues", "import", "in.jsonl"]);
    assert_eq!(said, "created 450  unchanged 0  failed 0\n");
    server.good(&["issues", "export", "-o", "one.jsonl"]);
    let one = first.read("one.jsonl");
    assert_eq!(one.lines().count(), 450);
    assert!(one.contains(r#""original_created_at":1700000000000"#), "no issue got another time");
    assert!(!exists(&first.path("one.jsonl.caseload-part")));

    let other = second.serve();
    second.write("one.jsonl", &one);
    let said = other.good(&["issues", "import", "one.jsonl"]);
    assert_eq!(said, "created 450  unchanged 0  failed 0\n");
    assert_eq!(other.good(&["issues", "export"]), one);

    let said = other.good(&["issues", "import", "one.jsonl", "--wait", "--again"]);
    assert_eq!(said, "created 0  unchanged 450  failed 0\n", "an export names its issues");
    assert_eq!(other.good(&["issues", "export"]), one);
    second.good(&["check"]);
}

fn an_export_of_a_span_includes_both_ends() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let entry = |n| format!("{{\"title\":\"{n}\",\"created_at\":{n}000}}\n");
    workdir.write("in.jsonl", (1..=5).map(entry).collect::<Vec<_>>().concat());
    server.good(&["issues", "import", "in.jsonl"]);
    let titles = |args: &[&str]| {
        let text = server.good(&[&["issues", "export"], args].concat());
        let title = |line: &str| line.split("\"title\":\"").nth(1).unwrap()[..1].to_owned();
        text.lines().map(title).collect::<String>()
    };
    assert_eq!(titles(&[]), "12345");
    assert_eq!(titles(&["--since", "2000", "--until", "4000"]), "234");
    assert_eq!(titles(&["--since", "2001", "--until", "2999"]), "");
    let iso = ["--since", "1970-01-01T00:00:02Z", "--until", "1970-01-01T00:00:04Z"];
    assert_eq!(titles(&iso), "234");
    assert_eq!(titles(&["--until", "1000"]), "1");
}

fn an_export_over_a_connection_that_breaks_is_the_same_as_over_one_that_holds() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(300));
    server.good(&["issues", "import", "in.jsonl"]);
    let whole = server.good(&["issues", "export"]);
    let url = cutting_proxy(&server.url, whole.len() / 4);
    let broken = server.good(&["issues", "export", "--url", &url]);
    assert!(broken == whole, "{} bytes instead of {}", broken.len(), whole.len());
    let some = server.good(&["issues", "export", "--param", "ids=[3,7,9]"]);
    assert_eq!(some.lines().count(), 3);
}

fn failed_entries_are_printed_with_their_lines_in_the_file() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let mut lines = String::from("\n");
    for n in 1..=10_003 {
        match n {
            5 => lines.push_str("{\"title\":\n"),
            10_002 => lines.push_str("{\"title\":7,\"created_at\":1}\n"),
            _ => {
                let _ = writeln!(lines, "{{\"created_at\":{}}}", n * 1000);
            }
        }
    }
    workdir.write("in.jsonl", lines);
    let output = server.run(&["issues", "import", "in.jsonl", "--errors", "errors.jsonl"]);
    let transcript =
        format!("{}--- errors.jsonl\n{}", transcript_of(&output), workdir.read("errors.jsonl"));
    insta::assert_snapshot!("issues-import-errors", transcript);
}

fn an_explained_list_names_its_counters_indexes_and_sets() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(450));
    server.good(&["issues", "import", "in.jsonl"]);
    server.terminate();
    workdir.good(&["agent", "create", "--domain", "acme", "Grace", "grace@example.org"]);
    let mut transcript = String::new();
    for filters in [
        &["--page-size", "10", "--page", "2"][..],
        &["--state", "resolved", "--query", "created-since=1700000000001"],
        &["--query", "tags={\"and\":[\"a\"],\"nor\":[\"b3\"]}&state=resolved"],
        &["--param", "author-emails={\"or\":[\"ada7@example.org\"]}", "--query", "sort-order=asc"],
        &["--query", "assignee-emails=%7B%22or%22:[%22grace@example.org%22]%7D&redacted=false"],
        &["--query", "messages={\"and\":[\"refund\"]}&updated-since=1700000100000"],
        &["--query", "created-since=2&created-until=1"],
        &["--query", "tags=b3&page-size=0"],
    ] {
        let args = [&["issues", "list", "--explain", "--domain", "acme"], filters].concat();
        transcript += &(workdir.transcript(&args) + "\n");
    }
    insta::assert_snapshot!("issues-list-explain", transcript);
}

fn one_page_or_one_issue_is_printed_as_the_servers_bytes() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(30));
    server.good(&["issues", "import", "in.jsonl"]);
    let output =
        server.run(&["issues", "list", "--state", "resolved", "--page-size", "4", "--page", "2"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "page 2 of 8, 30 issues in all\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 4);
    let issue = server.good(&["issues", "get", "7"]);
    assert!(issue.starts_with("{\"id\":7,") && issue.ends_with("}\n"), "{issue}");
    assert!(issue.contains(r#""value":6.50"#), "a number lost digits: {issue}");
}

fn issues_are_searched_counted_and_printed_as_a_table() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let lines = [
        r#"{"id":1,"title":"No mail","created_at":1769986800000}"#,
        concat!(
            r#"{"id":2,"title":"Print","created_at":1769990400000,"#,
            r#""messages":[{"body":"no MAIL"}],"state_data":{"state":"resolved"}}"#,
        ),
        r#"{"id":3,"title":"Mail","created_at":1769990400001}"#,
    ];
    workdir.write("in.jsonl", lines.join("\n"));
    server.good(&["issues", "import", "in.jsonl"]);
    let output = server.run(&["issues", "search", "No", "mail"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "2\t2026-02-02T00:00:00.000Z\tresolved\tPrint\n1\t2026-02-01T23:00:00.000Z\tnew\tNo mail\n"
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), "page 1 of 1, 2 issues in all\n");
    let output = server.run(&["issues", "count", "--by", "state,created-week", "--limit", "2"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "new\t2026-W05\t1\nnew\t2026-W06\t1\n");
    let said = "3 issues in all, 1 in groups beyond the limit\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    let zone = &["--timezone", "Europe/Berlin", "--param", "text=mail"];
    let counted = server.good(&[&["issues", "count", "--by", "created-day"][..], zone].concat());
    assert!(counted.starts_with("2026-02-02\t3\n"), "{counted}");
    let table = server.good(&["issues", "list", "--format", "csv", "--columns", "id,title"]);
    assert_eq!(table, "id,title\r\n3,Mail\r\n2,Print\r\n1,No mail\r\n");
    let refused = server.run(&["issues", "count", "--by", "colour"]);
    assert_eq!(refused.status.code(), Some(2));
}

fn one_array_of_issues_is_imported_like_its_elements_on_lines() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let issue = |at: u64| format!("{{\"title\":\"[{at}]\",\"created_at\":{at}}}");
    workdir.write("array.json", format!(" [{},\n 7,{}]\n", issue(1_000), issue(2_000)));
    let said = server.transcript(&["issues", "import", "array.json"]);
    assert!(said.contains("exit 1") && said.contains("created 2  unchanged 0  failed 1"), "{said}");
    assert!(said.contains("line 2: not_a_map"), "the line is the number of the element: {said}");
    let found = server.good(&["issues", "export", "--param", "excludes=messages"]);
    assert_eq!(found.matches("\"title\":\"[").count(), 2, "{found}");
}

fn files_without_lines_of_issues_are_refused_before_anything_is_sent() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("array.json", "[{\"created_at\":1700000000000},");
    workdir.write("empty.jsonl", "");
    let mut transcript = String::new();
    for file in ["array.json", "missing.jsonl", ".", "empty.jsonl"] {
        transcript += &(server.transcript(&["issues", "import", file]) + "\n");
    }
    transcript += &(server.transcript(&["issues", "export", "-o", "no/such/folder.jsonl"]) + "\n");
    transcript += &(server.transcript(&["issues", "get", "4711"]) + "\n");
    transcript += &(server.transcript(&["issues", "get", "one"]) + "\n");
    transcript += &server.transcript(&["issues", "export", "--since", "yesterday"]);
    insta::assert_snapshot!("issues-files", transcript);
}

fn tasks_of_both_paths_are_found_by_their_id() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("issue.jsonl", r#"{"title":"T","created_at":1700000000000}"#);
    let task = server.good(&["bulk", "submit", "import_issues", "issue.jsonl", "--wait"]);
    let record = server.good(&["bulk", "status", task.trim()]);
    assert!(record.contains(r#""action":"import_issues""#), "{record}");
    let results = server.good(&["bulk", "results", task.trim()]);
    assert_eq!(results, "{\"index\":0,\"line\":1,\"outcome\":\"created\",\"id\":1}\n");
    assert_eq!(server.good(&["bulk", "errors", task.trim()]), "");
}
