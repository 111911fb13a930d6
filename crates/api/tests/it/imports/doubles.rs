//! The warning about a file whose entries without an id an earlier import has created already.

use std::fmt::Write as _;

use caseload_model::ids::DomainName;
use caseload_model::key::Access;
use caseload_store::{CreateDomain, CreateKey};
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::support::form;
use crate::real_server::RealServer;

on_each_store!(
    an_edited_file_without_ids_is_warned_of_its_doubles,
    only_entries_that_were_created_are_doubles,
);

const PATH: &str = "/v2/acme/issues/imports";
const OTHER: &str = "a key of another domain";

/// Issues without ids as JSON lines.
fn lines(count: usize) -> String {
    (0..count).fold(String::new(), |mut lines, n| {
        let _ = writeln!(lines, "{{\"title\":\"№ {n}\",\"created_at\":{}}}", 1000 + n);
        lines
    })
}

/// Other issues without ids as a table.
fn table(count: usize) -> String {
    (0..count).fold("title,created_at\n".to_owned(), |mut lines, n| {
        let _ = writeln!(lines, "row {n},{}", 1000 + n);
        lines
    })
}

async fn import_at(
    real: &RealServer,
    (path, key): (&str, Option<&str>),
    options: &[(&str, &str)],
    file: &str,
) -> Value {
    let options = [&[("action", "import_issues")], options].concat();
    let mut request = real.request(Method::POST, path).multipart(form(&options, file));
    if let Some(key) = key {
        request = real.client.post(real.url(path)).bearer_auth(key).multipart(form(&options, file));
    }
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let import: Value = answer.json().await.unwrap();
    assert_eq!(status, 201, "{import}");
    import
}

/// The record of a completed import of the file.
async fn import(real: &RealServer, options: &[(&str, &str)], file: &str) -> Value {
    let made = import_at(real, (PATH, None), options, file).await;
    completed(real, &made).await
}

async fn completed(real: &RealServer, import: &Value) -> Value {
    real.completed(import["links"]["self"].as_str().unwrap()).await
}

/// A new import of another one.
async fn derived(real: &RealServer, import: &Value, call: &str) -> Value {
    let path = format!("{}/{call}", import["links"]["self"].as_str().unwrap());
    let answer = real.request(Method::POST, &path).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let made = answer.json().await.unwrap();
    completed(real, &made).await
}

async fn an_edited_file_without_ids_is_warned_of_its_doubles() {
    let real = RealServer::start().await;
    let dry = &[("dry_run", "true")][..];
    let whole = lines(300);
    let edited = whole.replace("№ 7\"", "number 7\"");
    assert_eq!(import(&real, dry, &whole).await.get("doubles"), None, "the first file");
    let first = import(&real, &[], &whole).await;
    assert_eq!(first.get("doubles"), None, "dry runs create nothing");
    let tried = import(&real, dry, &edited).await;
    let doubles = &tried["doubles"];
    assert_eq!(doubles["import_id"], first["import_id"]);
    assert_eq!(doubles["created_at"], first["created_at"]);
    assert_eq!(doubles["without_id"], 300);
    let estimate = doubles["entries"].as_u64().unwrap();
    assert!((290..=300).contains(&estimate), "{estimate}");
    let run = derived(&real, &tried, "run").await;
    assert_eq!((&run["doubles"], &run["counts"]["succeeded"]), (doubles, &json!(300)));
    let rows = table(100);
    let first = import(&real, &[], &rows).await;
    assert_eq!(first.get("doubles"), None);
    let edited = rows.replace("row 7,", "number 7,").replace("row 8,", "number 8,");
    for options in [dry, &[]] {
        let doubles = &import(&real, options, &edited).await["doubles"];
        let found = (&doubles["import_id"], &doubles["entries"], &doubles["without_id"]);
        assert_eq!(found, (&first["import_id"], &json!(98), &json!(100)));
    }
    let listed = real.text(&format!("{PATH}?format=csv")).await;
    assert!(listed.contains("doubles.entries") && listed.contains(",98,100"), "{listed}");
    // Another domain has no such file.
    let (name, now) = (DomainName::parse("other").unwrap(), real.clock.now());
    let other = CreateDomain { name, origin: now.into(), random: 2 };
    let key = CreateKey {
        domain: real.store.create_domain(other).await.unwrap().id,
        id: "other".to_owned(),
        hash: Sha256::digest(OTHER).into(),
        name: "other".to_owned(),
        access: Access::Write,
        origin: now.into(),
        expires_at: None,
    };
    real.store.create_key(key).await.unwrap();
    let at = ("/v2/other/issues/imports", Some(OTHER));
    assert_eq!(import_at(&real, at, &[], &rows).await.get("doubles"), None);
    real.stop().await;
}

async fn only_entries_that_were_created_are_doubles() {
    let real = RealServer::start().await;
    // An import that created nothing is no earlier one.
    let faulty = lines(20).replace("created_at", "made_at");
    assert_eq!(import(&real, &[], &faulty).await["counts"]["failed"], 20);
    let edited = faulty.replace("№ 7\"", "number 7\"");
    assert_eq!(import(&real, &[], &edited).await.get("doubles"), None);
    // A retry has the entries that failed. With its parent it has those of the file.
    let mixed = format!("{}{{\"title\":\"no time\"}}\n", lines(20));
    let first = import(&real, &[], &mixed).await;
    assert_eq!((first.get("doubles"), &first["counts"]["failed"]), (None, &json!(1)));
    let retried = derived(&real, &first, "retry").await;
    assert_eq!(retried.get("doubles"), None);
    assert_eq!(derived(&real, &retried, "retry").await.get("doubles"), None);
    let again = import(&real, &[("again", "true")], &mixed).await;
    assert_eq!(again["doubles"]["import_id"], first["import_id"]);
    assert_eq!(again["doubles"]["entries"], 20, "one of them failed");
    // An issue that has an id is not created twice.
    let numbered = |(line, id): (&str, u32)| line.replacen('{', &format!("{{\"id\":{id},"), 1);
    let with_ids = lines(20).lines().zip(5000..).map(numbered).collect::<Vec<_>>().join("\n");
    assert_eq!(import(&real, &[], &with_ids).await["counts"]["succeeded"], 20);
    let edited = with_ids.replace("\"id\":5001,", "\"id\":6001,");
    assert_eq!(import(&real, &[], &edited).await.get("doubles"), None);
    real.stop().await;
}
