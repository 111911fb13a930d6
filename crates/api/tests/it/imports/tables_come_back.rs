//! The law of tables: an import of a table that the server wrote finds every record unchanged. It
//! holds for random profiles and issues with every field, for the columns by default and for custom
//! fields with columns of their own, and after a spreadsheet has written the table again.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

use caseload_teststore::on_each_store;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::support::form;
use crate::real_server::RealServer;

on_each_store!(
    profiles_come_back_unchanged_from_every_table,
    issues_come_back_unchanged_from_every_table,
    tables_come_back_unchanged_from_a_spreadsheet,
    each_type_of_a_custom_field_comes_back,
);

const RECORDS: usize = 150;

/// Texts of a record: any, or such as a spreadsheet gives back as they are.
#[derive(Clone, Copy, PartialEq)]
enum Texts {
    Any,
    Tame,
}

fn text(texts: Texts) -> BoxedStrategy<String> {
    let tame = "[A-Za-zäß😀,;:'\"\n/()&#%]{0,9}[a-zé]";
    if texts == Texts::Tame {
        return tame.prop_map(|text| format!("a{text}")).boxed();
    }
    let odd = select(vec![
        "#N/A",
        "=\"x\"",
        "=\"a\"\"\"",
        " x\u{a0}",
        "\ty",
        "[",
        "007",
        "",
        "  ",
        "1.80E+14",
        "true",
        "{\"type\":\"number\",\"value\":7}",
        "{\"type\":",
        "+4930",
        "=1+1",
        "N/A",
        "12345678901234",
    ]);
    let any = prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter);
    prop_oneof![3 => any, 3 => tame.prop_map(String::from), 2 => odd.prop_map(str::to_owned)]
        .boxed()
}

/// A number with its digits, which a JSON value of the tests would lose.
fn number() -> impl Strategy<Value = String> {
    let odd =
        ["1023.990", "10.50", "-0", "12345678901234567890.12", "0.10", "33.50", "12345678901"];
    prop_oneof![select(odd.to_vec()).prop_map(str::to_owned), "-?[1-9][0-9]{0,13}"]
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A profile as JSON. Numbers keep their digits.
fn profile(texts: Texts) -> impl Strategy<Value = String> {
    let value = prop_oneof![text(texts).prop_map(|text| quoted(&text)), number()];
    let fields = prop::collection::btree_map(
        select(vec!["plan", "seats:number", "Sitz.e", "note"]),
        value,
        0..4,
    );
    let parts = (
        (text(texts), text(texts), prop::collection::vec(text(texts), 0..3)),
        fields,
        (any::<bool>(), select(vec!["Germany", "de", "JPN"]), select(vec!["de", "EN"])),
        (select(vec!["0", "33.50", "40"]), number(), 0u64..253_402_300_800_000),
        text(texts),
    );
    parts.prop_map(|((first, city, tags), fields, (private, country, language), numbers, persona)| {
        let tags: Vec<_> = tags.iter().map(|tag| quoted(&format!("t{tag}"))).collect();
        let fields: Vec<_> =
            fields.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
        let (age, value, active) = numbers;
        format!(
            "\"user_persona\":{},\"names\":{{\"first_name\":{}}},\"last_city\":{},\"tags\":[{}],\
             \"custom_fields\":{{{}}},\"full_privacy_enabled\":{private},\
             \"last_country\":\"{country}\",\"preferred_language\":\"{language}\",\"age\":{age},\
             \"lifetime_value\":{value},\"last_active_date\":{active}",
            quoted(&persona),
            quoted(&first),
            quoted(&city),
            tags.join(","),
            fields.join(","),
        )
    })
}

fn custom_field(texts: Texts) -> impl Strategy<Value = Value> {
    let of = |kind: &'static str, value: BoxedStrategy<Value>| {
        let value = prop_oneof![8 => value, 1 => Just(Value::Null)];
        value.prop_map(move |value| json!({"type": kind, "value": value}))
    };
    let text = move || text(texts).prop_map(Value::from).boxed();
    let boolean = prop_oneof![any::<bool>().prop_map(Value::from), Just(json!("true"))];
    prop_oneof![
        of("singleline", text()),
        of("multiline", text()),
        of("dropdown", text()),
        of("checkbox", boolean.boxed()),
        of("number", (-1000i64..1_000_000_000).prop_map(Value::from).boxed()),
        of("date", (0i64..253_402_300_800_000).prop_map(Value::from).boxed()),
    ]
}

/// An issue. Its times and id are added.
fn issue(texts: Texts) -> impl Strategy<Value = Map<String, Value>> {
    let own = move || text(texts);
    let keys = select(vec!["plan", "seats", "a.b", "x:date", "y:Singleline"]);
    let custom_fields = prop::collection::btree_map(keys, custom_field(texts), 0..4);
    let message = (own(), any::<bool>(), 0i64..1000).prop_map(|(body, ours, at)| {
        json!({
            "body": body, "created_at": 1_700_000_000_000i64 + at,
            "origin": if ours { "helpshift" } else { "end-user" },
            "attachments": [{"file_name": "a.png", "url": "https://x.example/a.png"}],
        })
    });
    let parts = (
        (own(), own(), own(), prop::collection::vec(own(), 0..3)),
        (custom_fields, prop::collection::vec(message, 0..3)),
        (select(vec!["new", "waiting-for-agent", "resolved", "rejected"]), any::<bool>()),
        (prop::option::of(1u8..6), own(), own(), own()),
        (
            select(vec!["ada@x.example", "Ada <ada@x.example>", "", "a@x.example, b@x.example"]),
            own(),
        ),
    );
    parts.prop_map(
        |((title, app, name, tags), (custom_fields, messages), state, extras, people)| {
            let (rating, comment, label, note) = extras;
            let (email, other) = people;
            let issue = json!({
                "title": title, "app_id": format!("a{app}"), "author_name": name,
                "tags": tags.iter().map(|tag| format!("t{tag}")).collect::<Vec<_>>(),
                "custom_fields": custom_fields, "messages": messages,
                "state_data": {"state": state.0}, "redacted": state.1,
                "feedback_rating": rating, "feedback_comment": comment,
                "current_predict_label": label, "author_email": email,
                "hs_user_id": format!("u{other}"),
                "private_notes": [{"body": note, "created_at": 1_700_000_000_000i64}],
                "assignee_id": "agent-1", "assignee_name": other, "language": "de",
                "platform_type": other, "queue": {"id": format!("q{other}"), "name": note},
                "cc": [email], "meta": {"browser": other, "application": {"name": note}},
                "sentiment_analysis": {"score": 0.5, "word": note}, "smart_intents": {"a": [note]},
            });
            let Value::Object(issue) = issue else { unreachable!() };
            issue
        },
    )
}

/// Random records, and the seed that gives them again.
fn records<T: std::fmt::Debug>(strategy: &impl Strategy<Value = T>) -> (Vec<T>, String) {
    let seed = new_seed();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let next = |_| strategy.new_tree(&mut runner).unwrap().current();
    ((0..RECORDS).map(next).collect(), format!("{seed:?}"))
}

/// Another one each time.
fn new_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&RandomState::new().hash_one(()).to_le_bytes());
    seed
}

impl RealServer {
    async fn add_profiles(&self, texts: Texts) -> String {
        let (profiles, seed) = records(&profile(texts));
        let lines = profiles.iter().enumerate().fold(String::new(), |mut lines, (n, profile)| {
            writeln!(
                lines,
                "{{\"identities\":[{{\"uid\":\"u{n}\",\"note\":\"x, y\"}}],{profile}}}"
            )
            .unwrap();
            lines
        });
        let task = self.run("identity", "create_core_profiles", &lines).await;
        assert_eq!(task["counts"]["failed"], 0, "{}", self.lines(&task, "errors").await);
        seed
    }

    async fn add_issues(&self, texts: Texts) -> String {
        let (issues, seed) = records(&issue(texts));
        let lines = issues.into_iter().enumerate().fold(String::new(), |lines, (n, mut issue)| {
            issue.insert("id".into(), (n + 1).into());
            // Some are shifted to the next free millisecond.
            issue.insert("created_at".into(), (1_700_000_000_000i64 + n as i64 / 2 * 3).into());
            lines + &Value::Object(issue).to_string() + "\n"
        });
        let task = self.run("issues", "import_issues", &lines).await;
        assert_eq!(task["counts"]["failed"], 0, "{}", self.lines(&task, "errors").await);
        seed
    }

    /// Imports a table; every record must be unchanged.
    async fn comes_back(&self, family: &str, action: &str, table: &str, about: &str) {
        self.comes_back_with(family, &[("action", action), ("again", "true")], table, about).await;
    }

    async fn comes_back_with(
        &self,
        family: &str,
        options: &[(&str, &str)],
        table: &str,
        about: &str,
    ) {
        let path = format!("/v2/acme/{family}/imports");
        let request = self.request(Method::POST, &path).multipart(form(options, table));
        let answer = request.send().await.unwrap();
        let (status, import): (_, Value) = (answer.status(), answer.json().await.unwrap());
        assert_eq!(status, 201, "{about}: {import}");
        let import = self.completed(import["links"]["self"].as_str().unwrap()).await;
        let results = self.lines(&import, "results").await;
        let errors = self.lines(&import, "errors").await;
        assert_eq!(errors, "", "{about}");
        let results: Vec<Value> =
            results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(results.len(), RECORDS, "{about}");
        for result in results {
            assert_eq!(result["outcome"], "unchanged", "{about}: {result}");
        }
    }
}

const PROFILES: &str = "/v2/acme/identity/core_profiles?format=csv";
const ISSUES: &str = "/v1/acme/issues?format=csv";

/// The columns of a table with each custom field as one of its own.
fn spread(table: &str, fields: &[&str]) -> String {
    let header = table.trim_start_matches('\u{feff}').lines().next().unwrap();
    let fields: Vec<_> = fields.iter().map(|key| format!("custom_fields.{key}")).collect();
    let columns = header.split(',').filter(|name| *name != "custom_fields").map(str::to_owned);
    let columns: Vec<_> = columns.chain(fields).collect();
    let columns = serde_json::to_string(&columns).unwrap();
    form_urlencoded::Serializer::new(String::from("&")).append_pair("columns", &columns).finish()
}

const PROFILE_FIELDS: [&str; 4] = ["plan", "seats:number:text", "Sitz.e", "note:number"];
const ISSUE_FIELDS: [&str; 5] = ["plan", "seats:number", "a.b", "x:date:date", "y:Singleline"];

async fn profiles_come_back_unchanged_from_every_table() {
    let real = RealServer::start().await;
    let seed = real.add_profiles(Texts::Any).await;
    let table = real.text(PROFILES).await;
    let spread = spread(&table, &PROFILE_FIELDS);
    let before = real.text("/v2/acme/identity/core_profiles?format=jsonl&trailer=false").await;
    for style in ["", "&bom=true", "&spreadsheet=true"] {
        for columns in ["", &spread] {
            let table = real.text(&format!("{PROFILES}{style}{columns}")).await;
            for action in ["update_core_profiles", "upsert_core_profiles"] {
                let about = format!("{style}{columns} {action} {seed}");
                real.comes_back("identity", action, &table, &about).await;
            }
        }
    }
    let ids: String = before
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|profile| json!({"core-profile-id": profile["core-profile-id"]}).to_string() + "\n")
        .collect();
    let read = real.run("identity", "get_core_profiles", &ids).await;
    for style in ["", "&spreadsheet=true"] {
        let results = read["links"]["results"].as_str().unwrap();
        let table = real.text(&format!("{results}?format=csv{style}")).await;
        real.comes_back("identity", "update_core_profiles", &table, &seed).await;
    }
    let after = real.text("/v2/acme/identity/core_profiles?format=jsonl&trailer=false").await;
    assert_eq!(after, before, "the same bytes");
    real.stop().await;
}

async fn issues_come_back_unchanged_from_every_table() {
    let real = RealServer::start().await;
    let seed = real.add_issues(Texts::Any).await;
    let table = real.text(ISSUES).await;
    let spread = spread(&table, &ISSUE_FIELDS);
    for style in ["", "&bom=true", "&spreadsheet=true", "&timestamp-format=iso-8601"] {
        for columns in ["", &spread] {
            let table = real.text(&format!("{ISSUES}{style}{columns}")).await;
            let about = format!("{style}{columns} {seed}");
            real.comes_back("issues", "import_issues", &table, &about).await;
        }
    }
    // App profiles came with the issues.
    let before = real.text("/v2/acme/identity/app_profiles?format=jsonl&trailer=false").await;
    let table = real.text("/v2/acme/identity/app_profiles?format=csv").await;
    let count = before.lines().count();
    let path = "/v2/acme/identity/imports";
    let options = [("action", "update_app_profiles")];
    let request = real.request(Method::POST, path).multipart(form(&options, table));
    let import: Value = request.send().await.unwrap().json().await.unwrap();
    let import = real.completed(import["links"]["self"].as_str().unwrap()).await;
    assert_eq!(import["counts"]["succeeded"], count, "{}", real.lines(&import, "errors").await);
    let results = real.lines(&import, "results").await;
    assert_eq!(results.matches("\"outcome\":\"unchanged\"").count(), count, "{results}");
    real.stop().await;
}

async fn tables_come_back_unchanged_from_a_spreadsheet() {
    let real = RealServer::start().await;
    let seed = real.add_profiles(Texts::Tame).await;
    let issues_seed = real.add_issues(Texts::Tame).await;
    for (delimiter, with_bom) in [(';', true), (',', false), ('\t', true)] {
        for (family, action, path, fields, seed) in [
            ("identity", "update_core_profiles", PROFILES, &PROFILE_FIELDS[..], &seed),
            ("issues", "import_issues", ISSUES, &ISSUE_FIELDS, &issues_seed),
        ] {
            let table = real.text(&format!("{path}&spreadsheet=true")).await;
            let columns = spread(&table, fields);
            let spread = real.text(&format!("{path}&spreadsheet=true{columns}")).await;
            for table in [table, spread] {
                let again = rewritten(&table, delimiter, with_bom);
                real.comes_back(family, action, &again, &format!("{delimiter:?} {seed}")).await;
            }
        }
    }
    real.stop().await;
}

async fn each_type_of_a_custom_field_comes_back() {
    let real = RealServer::start().await;
    let values = ["7", "\"x\"", "\"{\\\"type\\\":1}\"", "1.50"];
    let profile = |(n, value): (usize, &&str)| {
        format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}],\"custom_fields\":{{\"a\":{value}}}}}\n")
    };
    let lines: String = values.iter().enumerate().map(profile).collect();
    real.run("identity", "create_core_profiles", &lines).await;
    let columns = "&sort-order=asc&columns=identities,custom_fields.a";
    let table = real.text(&format!("{PROFILES}{columns}")).await;
    let cells: Vec<_> =
        table.lines().map(|line| line.rsplit_once("]\",").map_or(line, |(_, cell)| cell)).collect();
    assert_eq!(
        cells,
        [
            "identities,custom_fields.a:number",
            "7",
            "\"{\"\"type\"\":\"\"text\"\",\"\"value\"\":\"\"x\"\"}\"",
            "\"{\"\"type\"\":\"\"text\"\",\"\"value\"\":\"\"{\\\"\"type\\\"\":1}\"\"}\"",
            "1.50",
        ]
    );
    let typed = real.text(&format!("{PROFILES}{columns}:text")).await;
    assert!(typed.starts_with("identities,custom_fields.a\r\n"), "{typed}");
    assert!(typed.contains("{\"\"type\"\":\"\"number\"\",\"\"value\"\":7}"), "{typed}");
    real.stop().await;
}

/// A table as a spreadsheet writes it after it has read it: formulas by their value, numbers in its
/// own form, quotes only where they are needed.
fn rewritten(table: &str, delimiter: char, with_bom: bool) -> String {
    let mut out = String::from(if with_bom { "\u{feff}" } else { "" });
    for row in rows(table.trim_start_matches('\u{feff}')) {
        let cells: Vec<_> = row.iter().map(|cell| shown(cell, delimiter)).collect();
        out += &cells.join(&delimiter.to_string());
        out += "\r\n";
    }
    out
}

fn shown(cell: &str, delimiter: char) -> String {
    let formula = cell.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    let text = match (formula, cell.parse::<f64>()) {
        (Some(text), _) => text.replace("\"\"", "\""),
        (None, Ok(number)) if number.is_finite() && number.abs() < 1e11 => number.to_string(),
        (None, Ok(number)) if number.is_finite() => format!("{number:.5E}"),
        _ if matches!(cell, "true" | "false") => cell.to_uppercase(),
        _ => cell.to_owned(),
    };
    if text.contains([delimiter, '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

/// The cells of a table with commas.
fn rows(table: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) =
        (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = table.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    rows
}
