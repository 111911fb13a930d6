//! `caseload profiles`: files of people go in, are mended, come out and move to another server.
//! Each test counts the profiles of the server at the end, because a message could be wrong.

use std::fmt::Write as _;

use caseload_teststore::on_each_store;

use crate::common::{Server, Workdir, cutting_proxy, exists, redacted, signal, transcript_of};

on_each_store!(blocking:
    a_table_is_imported_its_rejects_are_mended_and_no_profile_is_doubled,
    an_import_that_was_killed_continues_and_makes_each_profile_once,
    an_upsert_that_was_sent_before_is_applied_again,
    a_fault_of_the_file_is_found_before_anything_is_sent,
    a_faulty_row_fails_alone,
    a_faulty_row_fails_alone_or_loses_its_faulty_fields,
    a_table_with_rounded_ids_changes_nothing,
    a_profile_is_exported_by_a_phone_number_with_blanks,
    profiles_are_exported_moved_to_another_server_and_found,
    a_dry_run_shows_what_would_change_and_is_run,
);

/// A table of people whose columns have the names of their owner. Every 500th row has a country
/// that does not exist.
fn table(count: usize) -> String {
    let mut table = String::from("E-mail,first_name,country,tags,custom_fields.seats:number\r\n");
    for n in 0..count {
        let country = if n % 500 == 7 { "Atlantis" } else { "Germany" };
        let _ = write!(table, "p{n}@example.org,\"Ada, \"\"{n}\"\"\",{country},a|b,1.50\r\n");
    }
    table
}

const MAPS: [&str; 4] = ["--map", "E-mail=email", "--map", "country=last_country"];

fn profiles_of(server: &Server<'_>) -> usize {
    server.good(&["profiles", "export"]).lines().count()
}

fn imports_of(server: &Server<'_>) -> usize {
    server.good(&["bulk", "list", "--imports"]).lines().count()
}

fn lines(count: usize, age: usize) -> String {
    (0..count).fold(String::new(), |mut lines, n| {
        let _ = writeln!(lines, "{{\"identities\":[{{\"uid\":\"u{n}\"}}],\"age\":{age}}}");
        lines
    })
}

fn a_table_is_imported_its_rejects_are_mended_and_no_profile_is_doubled() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("people.csv", table(12_000));
    let outputs = ["--rejects", "rejects.csv", "--errors", "errors.jsonl"];
    let import = [&["profiles", "import", "people.csv"][..], &MAPS, &outputs].concat();
    let output = server.run(&import);
    insta::assert_snapshot!("profiles-import", transcript_of(&output));
    let rejects = workdir.read("rejects.csv");
    assert_eq!(rejects.lines().count(), 1 + 24);
    assert!(rejects.starts_with("error,line,E-mail,first_name,country,"), "{rejects}");
    let errors = workdir.read("errors.jsonl");
    let last: serde_json::Value = serde_json::from_str(errors.lines().last().unwrap()).unwrap();
    assert_eq!((&last["index"], &last["line"]), (&11_507.into(), &11_509.into()));
    assert_eq!(profiles_of(&server), 11_976);

    workdir.write("rejects.csv", rejects.replace("Atlantis", "Greece"));
    let said = server.good(&[&["profiles", "import", "rejects.csv"][..], &MAPS].concat());
    assert_eq!(said, "created 24  unchanged 0  failed 0\n");
    let repeat = server.run(&import);
    let said = String::from_utf8_lossy(&repeat.stderr).into_owned();
    assert!(said.contains("nothing was imported again"), "{said}");
    assert_eq!(workdir.read("rejects.csv"), rejects, "those of the first import");
    let again = server.run(&[&import[..], &["--again"]].concat());
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(said, "created 0  unchanged 0  failed 12000\n");
    assert_eq!(profiles_of(&server), 12_000);
    let ada = server.good(&["profiles", "find", "--json", "p7@example.org"]);
    for member in [
        r#""names":{"first_name":"Ada, \"7\""}"#,
        r#""tags":["a","b"]"#,
        r#""custom_fields":{"seats":1.50}"#,
        r#""last_country":"Greece""#,
    ] {
        assert!(ada.contains(member), "{member}: {ada}");
    }
    workdir.good(&["check"]);
}

fn an_import_that_was_killed_continues_and_makes_each_profile_once() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", lines(25_000, 30));
    let args = ["profiles", "import", "in.jsonl"];
    for _ in 0..3 {
        let mut killed = server.caseload(&args).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150));
        signal(&killed, "KILL");
        killed.wait().unwrap();
    }
    let output = server.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    assert_eq!(profiles_of(&server), 25_000);
    assert_eq!(imports_of(&server), 1);
    workdir.good(&["check"]);
}

fn an_upsert_that_was_sent_before_is_applied_again() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    for (file, age) in [("a.jsonl", 30), ("b.jsonl", 40)] {
        workdir.write(file, lines(20, age));
    }
    let upsert = |file: &str| server.good(&["profiles", "import", file, "--upsert"]);
    assert_eq!(upsert("a.jsonl"), "created 20  updated 0  unchanged 0  failed 0\n");
    assert_eq!(upsert("b.jsonl"), "created 0  updated 20  unchanged 0  failed 0\n");
    assert_eq!(upsert("a.jsonl"), "created 0  updated 20  unchanged 0  failed 0\n");
    assert_eq!(upsert("a.jsonl"), "created 0  updated 0  unchanged 20  failed 0\n");
    assert_eq!(
        server
            .good(&["profiles", "export", "--param", "page-size=7"])
            .matches("\"age\":30")
            .count(),
        20
    );
    let update = server.good(&["profiles", "import", "b.jsonl", "--update"]);
    assert_eq!(update, "updated 20  unchanged 0  failed 0\n");

    let issue = |title: &str| format!("{{\"id\":7,\"title\":\"{title}\",\"created_at\":1}}\n");
    for title in ["A", "B", "A"] {
        workdir.write("issue.jsonl", issue(title));
        server.good(&["issues", "import", "issue.jsonl", "--upsert"]);
        assert!(server.good(&["issues", "get", "7"]).contains(&format!("\"title\":\"{title}\"")));
    }
}

fn a_fault_of_the_file_is_found_before_anything_is_sent() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let rows = "email,age\na@b,1\n";
    for (name, content) in [
        ("unknown.csv", "emial,internal note,country\na@b,x,DE\n".to_owned()),
        ("twice.csv", "email,identity.email\na@b,c@d\n".to_owned()),
        ("nobody.csv", "age\n7\n".to_owned()),
        ("quote.csv", "email,\"age\na@b,1\n".to_owned()),
        ("report.csv", "%PDF-1.7\n".to_owned()),
        ("array.jsonl", "[{\"identities\":[{\"uid\":\"a\"}]},{\"identities\":".to_owned()),
    ] {
        workdir.write(name, content);
    }
    workdir.write("latin1.csv", b"email,first_name\na@b,J\xfcrgen\n");
    workdir.write("utf16.csv", b"\xff\xfee\0m\0a\0i\0l\0\n\0a");
    workdir.write("book.csv", b"PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0xl/");
    workdir.write("good.csv", rows);
    let mut transcript = String::new();
    for args in [
        &["unknown.csv"][..],
        &["twice.csv"],
        &["nobody.csv"],
        &["quote.csv"],
        &["report.csv"],
        &["book.csv"],
        &["array.jsonl"],
        &["latin1.csv"],
        &["utf16.csv"],
        &["good.csv", "--map", "mail=email"],
        &["good.csv", "--map", "mail"],
        &["good.csv", "--delimiter", "ab"],
        &["good.csv", "--encoding", "klingon", "--others", "drop", "--timezone", "Mars/Olympus"],
        &["good.csv", "--upsert", "--update"],
        &["good.csv", "--app", "--upsert"],
        &["good.csv", "--rejects", "./good.csv"],
        &["good.csv", "--errors", "bad.jsonl", "--rejects", "./bad.jsonl"],
        &["missing.csv"],
    ] {
        let args = [&["profiles", "import"], args].concat();
        let output = server.run(&args);
        let _ = write!(transcript, "$ {}\n{}", args.join(" "), transcript_of(&output));
    }
    insta::assert_snapshot!("profiles-import-faults", transcript);
    assert_eq!(imports_of(&server), 0, "nothing was sent");
    // Both ends of lines, a byte order mark, semicolons and blank lines are those of spreadsheets.
    workdir.write("good.csv", "\u{feff}email;last_city\r\n\r\na@b;\"a\nb\"\r\nc@d;2");
    let said = server.good(&["profiles", "import", "good.csv"]);
    assert!(said.starts_with("created 2  unchanged 0  failed 0"), "{said}");
    let from_input = server.run_with_input(&["profiles", "import", "-"], b"uid\te\n1\t2\n");
    assert_eq!(from_input.status.code(), Some(2), "{}", transcript_of(&from_input));
    let from_input = server.run_with_input(&["profiles", "import", "-"], b"uid\tage\n1\t2\n");
    assert_eq!(String::from_utf8_lossy(&from_input.stdout), "created 1  unchanged 0  failed 0\n");
}

fn a_faulty_row_fails_alone() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let rows = concat!(
        "sep=;\r\nemail;last_city;age\r\n",
        "a@b.example;\"Oslo;1\nb@b.example;6\" pipe\rc@b.example;\"Nice\";3\n",
        "d@b.example;Rome;4;5\n;;\n\"e\"@b.example;x;6\n"
    );
    workdir.write("faulty.csv", rows);
    workdir.write("none.csv", "email\n\"a\n");
    workdir.write("latin1.csv", b"email,first_name\nj@b.example,J\xfcrgen\n");
    let utf_16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    workdir.write("utf16.csv", utf_16("email\tfirst_name\r\nk@b.example\tJürgen\r\n"));
    workdir.write("utf16.jsonl", utf_16("{\"identities\":[{\"uid\":\"Jürgen\"}]}\r\n"));
    let mut transcript = String::new();
    for args in [
        &["faulty.csv", "--errors", "errors.jsonl"][..],
        &["none.csv"],
        &["latin1.csv", "--encoding", "windows-1252"],
        &["utf16.csv"],
        &["utf16.jsonl"],
    ] {
        let args = [&["profiles", "import"], args].concat();
        let output = server.run(&args);
        let _ = write!(transcript, "$ {}\n{}", args.join(" "), transcript_of(&output));
    }
    transcript += &workdir.read("errors.jsonl");
    insta::assert_snapshot!("profiles-import-faulty-rows", transcript);
    let everyone = server.good(&["profiles", "export"]);
    for text in ["Oslo", "Rome"] {
        assert!(!everyone.contains(text), "{everyone}");
    }
    assert!(everyone.contains(r#"6\" pipe"#), "{everyone}");
    assert_eq!(everyone.matches("\"Jürgen\"").count(), 3, "{everyone}");
}

fn a_faulty_row_fails_alone_or_loses_its_faulty_fields() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let table = "Customer ID,E-mail,Age,Tags,,Note\n\
                 u1,a@x; b@x,old,vip,,n\n\
                 u2,N/A,7,vip,,n\n\
                 u3,c@x,#REF!,\"vip, beta\",,n\n\
                 u4,d@x,8,,x,n\n\
                 u5,e@x,9,-,,n\n";
    workdir.write("rows.csv", table);
    let errors = ["--errors", "errors.jsonl"];
    let import = ["profiles", "import", "rows.csv", "--others", "ignore", "--map", "#5=last_city"];
    let output = server.run(&[&import[..], &errors].concat());
    let mut said = transcript_of(&output);
    assert_eq!(profiles_of(&server), 2);
    let records = workdir.read("errors.jsonl");
    let places: Vec<_> = records
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            (record["index"].as_u64().unwrap(), record["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(places, [(0, 2), (1, 3), (2, 4)]);

    let again = ["--upsert", "--faulty-fields", "leave_out", "--null", "-"];
    let others = ["profiles", "import", "rows.csv", "--others", "custom", "--map", "#5="];
    said += &transcript_of(&server.run(&[&others[..], &again].concat()));
    insta::assert_snapshot!("profiles-import-rows", said);
    assert_eq!(profiles_of(&server), 4);
    let found = server.good(&["profiles", "find", "--json", "a@x"]);
    assert!(found.contains(r#"{"email":"b@x"}"#) && found.contains(r#""Note":"n""#), "{found}");
    workdir.good(&["check"]);
}

fn a_table_with_rounded_ids_changes_nothing() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let table = (0..12).fold(String::from("uid\n"), |mut table, n| {
        let _ = writeln!(table, "12345678901234{n}0");
        table
    });
    workdir.write("people.csv", &table);
    let piped = server.run_with_input(&["profiles", "import", "-"], table.as_bytes());
    for output in [server.run(&["profiles", "import", "people.csv"]), piped] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("rounded_ids: file: all 12 ids in the column \"uid\" end in 0"),
            "{said}"
        );
    }
    assert_eq!(imports_of(&server), 0);
}

fn a_profile_is_exported_by_a_phone_number_with_blanks() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let person = r#"{"identities":[{"phone_number":"+49 (30) 1234-5678"}]}"#;
    workdir.write("one.jsonl", format!("{person}\n"));
    server.good(&["bulk", "submit", "create_core_profiles", "one.jsonl", "--wait"]);
    for number in ["+49 30 12345678", "0049 30 12345678"] {
        let param = format!("identity=phone_number:{number}");
        let found = server.good(&["profiles", "export", "--param", &param]);
        assert_eq!(found.lines().count(), 1, "{number}");
    }
}

fn profiles_are_exported_moved_to_another_server_and_found() {
    let _guard = redacted();
    let (first, second) = (Workdir::new(), Workdir::new());
    let server = first.serve();
    first.write("in.csv", table(2_400));
    let output = server.run(&[&["profiles", "import", "in.csv"][..], &MAPS].concat());
    assert_eq!(output.status.code(), Some(1));
    server.good(&["profiles", "export", "-o", "all.jsonl"]);
    server.good(&[
        "profiles",
        "export",
        "-o",
        "all.csv",
        "--columns",
        "core-profile-id,identities,names.first_name,tags,last_country,custom_fields.seats",
    ]);
    let all = first.read("all.jsonl");
    assert_eq!(all.lines().count(), 2_395);
    assert!(!exists(&first.path("all.jsonl.caseload-part")));
    let some = server.good(&["profiles", "export", "--param", "name=\"17"]);
    assert_eq!(some.lines().count(), 111);

    let url = cutting_proxy(&server.url, all.len() / 4);
    let small = ["--param", "page-size=100", "--url", &url];
    let broken = server.good(&[&["profiles", "export"][..], &small].concat());
    assert!(broken == all, "{} bytes instead of {}", broken.len(), all.len());

    let other = second.serve();
    let without_ids = |text: &str| {
        let id = |line: &str| line.split_once(",\"identities\"").unwrap().1.to_owned();
        let line = |line: &str| id(line).split_once(",\"created_at\"").unwrap().0.to_owned();
        text.lines().map(line).collect::<Vec<_>>()
    };
    for file in ["all.jsonl", "all.csv"] {
        second.write(file, first.read(file));
        let moved = ["profiles", "import", file, "--upsert", "--map", "core-profile-id="];
        let said = other.good(&moved);
        let expected = if file == "all.csv" {
            "created 0  updated 0  unchanged 2395  failed 0\n"
        } else {
            "created 2395  updated 0  unchanged 0  failed 0\n"
        };
        assert_eq!(said, expected, "{file}");
        let arrived = without_ids(&other.good(&["profiles", "export"]));
        assert!(arrived == without_ids(&all), "{file}");
    }

    first.write(
        "issue.jsonl",
        concat!(
            r#"{"title":"x","created_at":1,"author_email":"p1@example.org","author_name":"Ada"}"#,
            "\n"
        ),
    );
    server.good(&["issues", "import", "issue.jsonl"]);
    let mut transcript = String::new();
    for args in [
        &["p1@example.org"][..],
        &["email:p2@example.org", "--json"],
        &["Ada,", "\"1234\""],
        &["--app", "p1@example.org"],
        &["nobody@example.org"],
        &["uid:1:2"],
        &["Ada", "--param", "page-size=2"],
        &["Ada", "--param", "colour=red"],
    ] {
        let args = [&["profiles", "find"], args].concat();
        let output = server.run(&args);
        let _ = write!(transcript, "$ {}\n{}", args.join(" "), transcript_of(&output));
    }
    insta::assert_snapshot!("profiles-find", transcript);
    first.good(&["check"]);
    second.good(&["check"]);
}

fn a_dry_run_shows_what_would_change_and_is_run() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", lines(3, 30));
    server.good(&["profiles", "import", "in.jsonl"]);
    let mut changed = lines(2, 31);
    changed.push_str("{\"identities\":[{\"uid\":\"u2\"}],\"age\":\"old\"}\n{\"age\":1}\n");
    workdir.write("new.jsonl", changed);
    let output = server.run(&["profiles", "import", "new.jsonl", "--upsert", "--dry-run"]);
    let mut transcript = transcript_of(&output);
    assert_eq!(server.good(&["profiles", "export"]).matches("\"age\":30").count(), 3);
    let tasks = server.good(&["bulk", "list"]);
    let ids: Vec<_> = tasks.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(ids.len(), 2, "the tasks of both imports: {tasks}");
    assert!(server.good(&["bulk", "status", ids[0]]).contains(ids[0]));
    let list = server.good(&["bulk", "list", "--imports"]);
    let task = list.split('\t').next().unwrap();
    for args in [
        &["bulk", "results", task, "--changes"][..],
        &["bulk", "errors", task, "--summary"],
        &["bulk", "run", task, "--wait"],
        &["bulk", "run", task],
    ] {
        let output = server.run(args);
        let _ = write!(transcript, "$ {}\n{}", args.join(" "), transcript_of(&output));
    }
    let list = server.good(&["bulk", "list", "--imports"]);
    let task = list.split('\t').next().unwrap();
    for args in [
        &["bulk", "rejects", task][..],
        &["bulk", "results", task, "--changes"],
        &["bulk", "errors", task, "--summary", "--json"],
    ] {
        let output = server.run(args);
        let _ = write!(transcript, "$ {}\n{}", args.join(" "), transcript_of(&output));
    }
    insta::assert_snapshot!("profiles-dry-run", transcript);
    assert_eq!(server.good(&["profiles", "export"]).matches("\"age\":31").count(), 2);
}
