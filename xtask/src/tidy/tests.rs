//! Tests of tidy: the repository passes, and every rule can fail. Each rule gets a text that
//! obeys it and one that breaks it, because a check that never fails checks nothing.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use serde_json::json;

use super::*;

const HEADER: &str = "//! One sentence. Another one.\n";

fn source(path: &str, body: &str) -> Source {
    Source::new(path, format!("{HEADER}{body}"))
}

/// The findings of a file with this body below a header of one line, as `line: message`.
fn findings(path: &str, body: &str) -> Vec<String> {
    let source = source(path, body);
    let mut all = shape::check(&source);
    all.extend(words::check(&source));
    all.extend(imports::paths(&source));
    all.iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
}

fn model(body: &str) -> Vec<String> {
    findings("crates/model/src/part.rs", body)
}

fn function(lines: usize) -> String {
    format!("fn long(\n    a: u8,\n) -> u8 {{\n{}}}\n", "    a();\n".repeat(lines - 4))
}

fn indented(text: &str) -> String {
    format!("    {}\n", text.trim_end().replace('\n', "\n    "))
}

#[test]
fn the_repository_is_tidy() {
    let (sources, findings) = check(crate::repository_root()).unwrap();
    assert!(sources.len() > 10, "only {} files were found", sources.len());
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "cargo xtask tidy finds:\n{}", lines.join("\n"));
}

#[test]
fn a_header_needs_two_sentences_or_sixty_characters() {
    let long = format!("//! {}", "word ".repeat(13));
    for (text, tidy) in [
        ("//! One. Two.", true),
        ("//! One sentence that\n//! is short. And another!", true),
        (long.as_str(), true),
        ("//! One short sentence.", false),
        ("//! Version 1.2.3 of it", false),
        ("// One. Two.", false),
        ("use std::fmt;\n//! One. Two.", false),
        ("", false),
    ] {
        let source = Source::new("crates/model/src/a.rs", text.to_owned());
        assert_eq!(shape::check(&source).is_empty(), tidy, "{text:?}");
    }
}

#[test]
fn a_file_ends_at_five_hundred_lines_unless_it_is_a_test_or_a_table() {
    let body = |lines: usize| "// line\n".repeat(lines - 1);
    assert_eq!(model(&body(500)), Vec::<String>::new());
    assert!(model(&body(501))[0].starts_with("0: 501 lines without tests; the limit is 500"));
    assert!(findings("crates/model/src/part/tests.rs", &body(501)).is_empty());
    assert!(findings("crates/model/src/part_tests.rs", &body(501)).is_empty());
    assert!(findings("crates/model/tests/it.rs", &body(501)).is_empty());
    assert!(model(&format!("//! Written by `cargo xtask tables`.\n{}", body(501))).is_empty());
    let tests = "    // line\n".repeat(400);
    let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{tests}}}\n", body(400));
    assert!(model(&with_tests).is_empty());
    assert_eq!(model(&format!("{with_tests}{}", body(200))).len(), 1);
}

#[test]
fn more_than_a_tenth_of_long_files_is_too_many() {
    let file = |lines: usize| source("crates/model/src/a.rs", &"// line\n".repeat(lines - 1));
    let spread = |long: usize| -> usize {
        let sources: Vec<Source> =
            (0..20).map(|index| file(if index < long { 351 } else { 350 })).collect();
        shape::check_spread(&sources).len()
    };
    assert_eq!((spread(0), spread(2), spread(3)), (0, 0, 3));
    let summary = shape::summary(&[file(10), file(20), file(400)]);
    assert_eq!(summary, "3 files, 3 of them product: median 20 lines, 66 % up to 350, longest 400");
}

#[test]
fn half_of_the_files_stay_under_the_median() {
    let file = |lines: usize| source("crates/model/src/a.rs", &"// line\n".repeat(lines - 1));
    let sources = [file(10), file(121), file(400)];
    assert!(shape::check_median(&sources, 121).is_none());
    let finding = shape::check_median(&sources, 120).unwrap();
    assert!(finding.message.starts_with("half of the product's files have 121 lines"), "{finding}");
}

#[test]
fn a_visibility_that_names_a_path_is_rare() {
    let file = |count: usize| {
        source("crates/model/src/a.rs", &"pub(in crate::a) fn b() {}\n".repeat(count))
    };
    assert!(shape::check_pub_in(&[file(2)], 3).is_empty());
    assert!(shape::check_pub_in(&[file(2), source("a.rs", "// pub(in a)\n")], 3).is_empty());
    assert_eq!(shape::check_pub_in(&[file(1), file(2)], 3).len(), 3);
}

#[test]
fn a_paragraph_of_a_page_is_wrapped_at_a_hundred_columns() {
    let wide = "word ".repeat(21);
    assert_eq!(page_findings(&format!("Fine.\n\n{wide}\n")), [3]);
    for text in [
        format!("| {wide} |\n"),
        format!("```\n{wide}\n```\n"),
        format!("See [this](b.md), {wide}\n"),
        format!("{}\n", "é".repeat(100)),
    ] {
        assert_eq!(page_findings(&text), [0; 0], "{text}");
    }
}

/// The lines with findings of a page that has one page and one file next to it.
fn page_findings(text: &str) -> Vec<usize> {
    let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
    let pages = [page("docs/a.md", text), page("docs/b.md", "## The `one` thing\n")];
    let exists = |path: &str| path == "scripts/test";
    pages::check(&pages[0], &pages, exists).iter().map(|finding| finding.line).collect()
}

#[test]
fn decisions_and_the_map_are_short_and_decisions_are_listed() {
    let page = |path: &str, text: String| Page { path: path.to_owned(), text };
    let index = || page("docs/decisions/README.md", "[0001](0001-a.md)\n".to_owned());
    let findings = |path: &str, words: usize| {
        let pages = [page(path, "word\n".repeat(words)), index()];
        pages::check(&pages[0], &pages, |_| true).len()
    };
    for (path, words, count) in [
        ("docs/decisions/0001-a.md", 200, 0),
        ("docs/decisions/0001-a.md", 201, 1),
        ("docs/decisions/0002-b.md", 201, 2),
        ("docs/decisions/README.md", 201, 0),
        ("ARCHITECTURE.md", 1500, 0),
        ("ARCHITECTURE.md", 1501, 1),
        ("docs/api.md", 6000, 0),
        ("docs/api.md", 6001, 1),
        ("docs/program.md", 6001, 0),
    ] {
        assert_eq!(findings(path, words), count, "{path} with {words} words");
    }
}

#[test]
fn two_decisions_do_not_have_one_number() {
    let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
    let pages = [
        page("docs/decisions/0001-a.md", ""),
        page("docs/decisions/0002-b.md", ""),
        page("docs/decisions/0002-c.md", ""),
        page("docs/decisions/README.md", "[](0001-a.md) [](0002-b.md) [](0002-c.md)"),
    ];
    for (decision, other) in [(0, None), (1, Some("0002-c.md")), (2, Some("0002-b.md"))] {
        let found = pages::check(&pages[decision], &pages, |_| true);
        let found: Vec<_> = found.into_iter().map(|finding| finding.message).collect();
        let expected = other.map(|name| format!("docs/decisions/{name} has the same number"));
        assert_eq!(found, Vec::from_iter(expected));
    }
}

#[test]
fn a_link_leads_to_a_file_or_a_heading() {
    for (text, leads) in [
        ("[a](b.md)", true),
        ("[a](b.md#the-one-thing)", true),
        ("[a](#here)\n\n# Here", true),
        ("[a](../scripts/test)", true),
        ("[a](https://example.org/x)", true),
        ("`[a](c.md)` in code\n```\n[a](c.md)\n```", false),
        ("[a](c.md)", false),
        ("[a](b.md#two)", false),
        ("[a](#there)", false),
    ] {
        assert_eq!(page_findings(text).is_empty(), leads, "{text}");
    }
}

#[test]
fn a_function_stays_under_seventy_lines() {
    assert!(model(&function(69)).is_empty());
    let found = model(&function(70));
    assert!(found[0].starts_with("2: the function `long` has 70 lines"), "{found:?}");
    let long = indented(&function(70));
    let method = format!("impl A {{\n{}}}\n", long.replace("fn ", "pub(crate) async fn "));
    assert_eq!(model(&method).len(), 1);
    assert!(model(&format!("#[cfg(test)]\nmod tests {{\n{long}}}\n")).is_empty());
    // A brace in the first column of a string does not end the function.
    let string = function(70).replacen("    a();\n", "    r#\"\n}\n\"#;\n", 1);
    assert!(model(&string)[0].contains("has 72 lines"));
    // Neither a declaration nor a one-liner runs into the next item.
    let gap = "\n".repeat(80);
    let declared = format!("trait A {{\n    fn a(\n        b: u8,\n    );\n{gap}    fn b();\n}}\n");
    assert!(model(&declared).is_empty());
    assert!(model(&format!("fn a() {{}}\n{gap}fn b() {{\n}}\n")).is_empty());
}

#[test]
fn a_line_ends_at_a_hundred_columns_unless_it_holds_an_address() {
    let wide = |columns: usize| format!("// {}\n", "é".repeat(columns - 3));
    assert!(model(&wide(100)).is_empty());
    assert_eq!(model(&wide(101)), ["2: 101 columns; break the line at 100"]);
    assert!(model(&format!("// https://example.org/{}\n", "a".repeat(100))).is_empty());
}

#[test]
fn marks_of_unfinished_work_are_found_in_comments_and_code() {
    for body in [
        "// TODO: later\n",
        "/* a\n FIXME */\n",
        "/// XXX\nfn a() {}\n",
        "fn a() {\n    todo!()\n}\n",
        "const A: &str = \"\\\"\"; // TODO\n",
        "const A: &[u8] = br#\"\"\"#; // TODO\n",
        "fn a<'a>(b: &'a str) {} // TODO '\n",
        "/* /* */ TODO */\n",
    ] {
        assert_eq!(model(body).len(), 1, "{body:?}");
    }
    let test = "fn a() {\n    unimplemented!()\n}\n";
    assert_eq!(findings("crates/api/tests/a.rs", test).len(), 1);
}

#[test]
fn words_in_strings_and_longer_words_are_not_marks() {
    for body in [
        "const A: &str = \"TODO todo!\";\n",
        "const A: &str = \"\n// TODO\n\\\" // TODO\";\n",
        "const A: &str = r#\"\n// FIXME \" \"#;\n",
        "const A: [char; 2] = ['\"', '\\''];\nconst B: &str = \"// XXX\";\n",
        "// TODOS and XXXL\n",
        "fn todo() {}\n",
        "fn r#todo() {}\n",
    ] {
        assert_eq!(model(body), Vec::<String>::new(), "{body:?}");
    }
}

#[test]
fn lints_are_silenced_only_by_expect_with_a_reason() {
    for body in [
        "#[allow(dead_code)]\nfn a() {}\n",
        "#![allow(dead_code, reason = \"none\")]\n",
        "#[cfg_attr(test, allow(dead_code))]\nfn a() {}\n",
        "#[expect(dead_code)]\nfn a() {}\n",
    ] {
        let found = model(body);
        assert!(found.len() == 1 && found[0].starts_with("2: "), "{body:?} gave {found:?}");
    }
    for body in [
        "#[expect(\n    dead_code,\n    reason = \"shown later\"\n)]\nfn a() {}\n",
        "// #[allow(dead_code)] is not our way\n",
        "#[derive(Debug)]\nstruct A;\nfn b() {\n    allow(1);\n}\n",
    ] {
        assert_eq!(model(body), Vec::<String>::new(), "{body:?}");
    }
}

#[test]
fn the_model_names_no_clock_no_files_and_no_environment() {
    for line in [
        "let now = SystemTime::now();",
        "let now = std::time::Instant::now();",
        "use std::env;",
        "use std::{env, fmt};",
        "use std::{fmt, fs::File};",
    ] {
        assert_eq!(model(&format!("{line}\n")).len(), 1, "{line}");
        assert!(model(&format!("// {line}\n")).is_empty(), "{line}");
        let test = format!("#[cfg(test)]\nmod tests {{\n    {line}\n}}\n");
        assert!(model(&test).is_empty(), "{line}");
    }
    assert!(model("use std::{fmt, time::Duration};\n").is_empty());
}

#[test]
fn only_the_program_reads_the_environment() {
    let line = "let path = std::env::var(NAME);\n";
    for (path, count) in [
        ("crates/store/src/a.rs", 1),
        ("crates/bulk/src/a.rs", 1),
        ("crates/api/src/a.rs", 1),
        ("crates/client/src/a.rs", 1),
        ("crates/cli/src/a.rs", 0),
        ("crates/api/tests/a.rs", 0),
        ("crates/api/examples/a.rs", 0),
        ("crates/api/benches/a.rs", 0),
        ("xtask/src/a.rs", 0),
    ] {
        assert_eq!(findings(path, line).len(), count, "{path}");
    }
    assert!(findings("crates/store/src/a.rs", "let now = Instant::now();\n").is_empty());
}

#[test]
fn dependencies_follow_the_table_of_the_architecture() {
    let verdict = |folder: &str, name: &str, kind: Option<&str>| {
        let manifest = format!("/somewhere/crates/{folder}/Cargo.toml");
        let dependencies = json!([{"name": name, "kind": kind}]);
        let package = json!({"manifest_path": manifest, "dependencies": dependencies});
        imports::judge(&json!({"packages": [package]})).is_empty()
    };
    for (folder, name, allowed) in [
        ("model", "serde_json", true),
        ("model", "tokio", false),
        ("model", "rusqlite", false),
        ("model", "uuid", false),
        ("model", "caseload-store", false),
        ("files", "encoding_rs", true),
        ("files", "tokio", false),
        ("files", "caseload-model", false),
        ("store", "rusqlite", false),
        ("store-sqlite", "rusqlite", true),
        ("store-sqlite", "tokio-postgres", false),
        ("store-postgres", "tokio-postgres", true),
        ("store-postgres", "caseload-store-sqlite", false),
        ("location", "caseload-store-sqlite", true),
        ("store", "caseload-model", true),
        ("store", "axum", false),
        ("store", "caseload-api", false),
        ("store", "caseload-bulk", false),
        ("bulk", "tokio", true),
        ("bulk", "caseload-store", true),
        ("bulk", "axum-extra", false),
        ("bulk", "tokio-postgres", false),
        ("bulk", "caseload-api", false),
        ("webhooks", "reqwest", true),
        ("webhooks", "axum", false),
        ("webhooks", "rusqlite", false),
        ("webhooks", "caseload-client", false),
        ("api", "axum", true),
        ("api", "caseload-webhooks", false),
        ("api", "caseload-bulk", false),
        ("api", "caseload-client", false),
        ("client", "reqwest", true),
        ("client", "caseload-store", false),
        ("client", "caseload-api", false),
        ("cli", "clap", true),
        ("cli", "caseload-client", true),
        ("cli", "rusqlite", false),
        ("unheard-of", "serde", false),
    ] {
        assert_eq!(verdict(folder, name, None), allowed, "{folder} on {name}");
    }
    assert!(verdict("client", "axum", Some("dev")), "tests may use other crates");
    assert!(!verdict("client", "axum", Some("build")));
}
