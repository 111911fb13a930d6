//! Requests and entries whose work was more than linear in their bytes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::hostile::arena::Arena;
use crate::hostile::scale::Scale;

/// The time in which work is cancelled while the writer is busy.
const CANCEL_MAX: Duration = Duration::from_secs(5);
/// The length of a long field of an edit.
const FIELD_CHARS: usize = 4000;
/// The most bytes of an answer that lists faults.
const FAULTS_BYTES_MAX: usize = 200_000;

/// An entry of an import.
pub(super) fn entry(fields: Value) -> Vec<u8> {
    let mut entry = json!({ "title": "an import", "created_at": 1_700_000_000_000_i64 });
    if let (Some(entry), Value::Object(fields)) = (entry.as_object_mut(), fields) {
        entry.extend(fields);
    }
    format!("{entry}\n").into_bytes()
}

/// Imports an issue that must be refused with `too_many`.
async fn refused_import(arena: &Arena, fields: Value) -> Result<()> {
    let task = arena.hostile.run("import_issues", entry(fields)).await?;
    let errors = arena.hostile.errors("import_issues", &task).await?;
    let beginning: String = errors.chars().take(300).collect();
    ensure!(task["counts"]["failed"] == 1, "the import was accepted: {task}");
    ensure!(errors.contains("too_many"), "expected too_many, got {beginning}");
    Ok(())
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("t{n}")).collect()
}

pub(super) async fn tags_of_an_import(arena: &mut Arena) -> Result<String> {
    refused_import(arena, json!({ "tags": names(100_000) })).await?;
    Ok("100,000 tags are an error of their entry".to_owned())
}

pub(super) async fn tags_of_an_edit(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let count = arena.scale.of(50, 300);
    let lines: Vec<u8> = (0..count)
        .flat_map(|n| entry(json!({ "created_at": 1_700_000_000_000_i64 + n as i64 })))
        .collect();
    let task = hostile.run("import_issues", lines).await?;
    ensure!(task["counts"]["succeeded"] == count, "{task}");
    let ids: Vec<usize> = (1..=count).collect();
    let fields = json!({ "issue-ids": ids, "tags": names(3000) });
    hostile.write(Method::PUT, &hostile.path("v1", "issues"), &fields).await?.too_many()?;
    let fields = json!({ "tags": names(20_000) });
    hostile.write(Method::PUT, &hostile.path("v1", "issues/1"), &fields).await?.too_many()?;
    let fields = json!({ "message-body": "x", "email": "a@example.org", "tags": names(1001) });
    hostile.write(Method::POST, &hostile.path("v1", "issues"), &fields).await?.too_many()?;
    Ok("refused on every call".to_owned())
}

/// An object with so many keys, each with its own value.
pub(super) fn keys(count: usize, value: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..count).map(|n| (format!("k{n}"), value(n))).collect::<Map<_, _>>())
}

pub(super) async fn keys_of_meta(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    hostile.make_issue("an issue").await?.good()?;
    let count = arena.scale.of(50_000, 400_000);
    let path = hostile.path("v1", "issues/1");
    let fields = json!({ "meta": keys(count, |n| json!(n)) });
    hostile.write(Method::PUT, &path, &fields).await?.too_many()?;
    // The keys of all levels count, and so do those of earlier edits.
    let fields = json!({ "meta": { "deep": { "deeper": keys(600, |n| json!(n)) } } });
    hostile.write(Method::PUT, &path, &fields).await?.good()?;
    let fields = json!({ "meta": keys(600, |n| json!(n)) });
    hostile.write(Method::PUT, &path, &fields).await?.too_many()?;
    refused_import(arena, json!({ "meta": keys(count, |n| json!(n)) })).await?;
    Ok(format!("{count} keys are refused, and 600 after 600"))
}

pub(super) async fn custom_fields(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    hostile.make_issue("an issue").await?.good()?;
    let count = arena.scale.of(30_000, 200_000);
    let field = |n: usize| json!({ "type": "number", "value": n });
    let path = hostile.path("v1", "issues/1");
    let fields = json!({ "custom_fields": keys(count, field) });
    hostile.write(Method::PUT, &path, &fields).await?.too_many()?;
    refused_import(arena, json!({ "custom_fields": keys(count, field) })).await?;
    Ok(format!("{count} fields are refused"))
}

pub(super) async fn messages(arena: &mut Arena) -> Result<String> {
    let message = json!({ "body": "x" });
    refused_import(arena, json!({ "messages": vec![message; 10_001] })).await?;
    let file = json!({ "url": "https://example.org/a", "file_name": "a", "size": 1 });
    let message = json!({ "body": "x", "attachments": vec![file; 101] });
    refused_import(arena, json!({ "messages": [message] })).await?;
    Ok("10,001 messages and 101 attachments are refused".to_owned())
}

pub(super) async fn an_edit_times_its_issues(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let count = arena.scale.of(500, 2000);
    let lines: Vec<u8> = (0..count)
        .flat_map(|n| entry(json!({ "created_at": 1_700_000_000_000_i64 + n as i64 })))
        .collect();
    hostile.run("import_issues", lines).await?;
    let text = "x".repeat(FIELD_CHARS);
    let field = |_: usize| json!({ "type": "singleline", "value": text });
    let each = (10 << 20) / count / FIELD_CHARS + 1;
    let ids: Vec<usize> = (1..=count).collect();
    let fields = json!({ "issue-ids": ids, "custom_fields": keys(each, field) });
    let answer = hostile.write(Method::PUT, &hostile.path("v1", "issues"), &fields).await?;
    let refused = answer.status.is_client_error();
    ensure!(refused, "an edit of more than 8 MiB was answered {}", answer.short());
    let issue = hostile.get(&hostile.path("v1", "issues/1")).await?.good()?;
    ensure!(issue.text.len() < 10_000, "a refused edit wrote something");
    Ok(format!("refused with {}", answer.status))
}

pub(super) async fn parameters(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let count = arena.scale.of(5_000, 11_000);
    let query: Vec<String> = (0..count).map(|n| format!("{n:x}")).collect();
    let path = hostile.path("v1", &format!("issues?{}", query.join("&")));
    let answer = hostile.get(&path).await?;
    ensure!(answer.status.is_client_error(), "accepted: {}", answer.short());
    ensure!(answer.text.len() < FAULTS_BYTES_MAX, "an answer of {} bytes", answer.text.len());
    let form: Vec<(String, &str)> = (0..900).map(|n| (format!("f{n}"), "x")).collect();
    let request = hostile.request(Method::POST, &hostile.path("v1", "issues")).form(&form);
    let answer = hostile.send(request).await?;
    answer.refused(400)?;
    let faults = answer.json()?["errors"].as_array().map_or(0, Vec::len);
    ensure!(faults <= 101, "an answer lists {faults} faults");
    Ok(format!("{count} parameters are refused; {faults} faults are listed of 900"))
}

pub(super) async fn faults_of_an_entry(arena: &mut Arena) -> Result<String> {
    let fields = keys(20_000, |n| json!(n));
    let task = arena.hostile.run("import_issues", entry(fields)).await?;
    let errors = arena.hostile.errors("import_issues", &task).await?;
    let records: Value = serde_json::from_str(&errors)?;
    let faults = records[0]["errors"].as_array().context("no errors")?.len();
    ensure!(faults <= 101, "{faults} faults are listed of one entry");
    Ok(format!("{faults} of 20,000 are listed"))
}

pub(super) async fn the_last_id(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    for (n, id) in [8_000_000_000_000_001_u64, 8_999_999_999_999_999, 9_007_199_254_740_991]
        .into_iter()
        .enumerate()
    {
        let created_at = 1_700_000_000_000_i64 + n as i64;
        let lines = entry(json!({ "id": id, "created_at": created_at }));
        let task = hostile.run("import_issues", lines).await?;
        ensure!(task["counts"]["succeeded"] == 1, "{id} was not imported: {task}");
    }
    let made = hostile.make_issue("a new issue").await?.good()?.json()?;
    let id: u64 = made["id"].as_str().context("no id")?.parse()?;
    ensure!(id < 8_000_000_000_000_000, "the next issue has the id {id}");
    Ok(format!("the next issue has the id {id}"))
}

pub(super) async fn cancel_at_work(arena: &mut Arena) -> Result<String> {
    let hostile = &arena.hostile;
    let count = arena.scale.of(2_000, 10_000);
    let body = "word ".repeat(400);
    let lines: Vec<u8> = (0..count)
        .flat_map(|n| {
            let created_at = 1_700_000_000_000_i64 + n as i64;
            entry(json!({ "created_at": created_at, "messages": [{ "body": body }] }))
        })
        .collect();
    let task = hostile.submit("import_issues", lines).await?.good()?.json()?;
    let id = task["task_id"].as_str().context("no task id")?;
    let begun = Instant::now();
    let path = hostile.path("v2", &format!("issues/bulk_actions/{id}/cancel"));
    let answer = hostile.write(Method::POST, &path, &json!({})).await?;
    let known = answer.status.is_success() || answer.code() == "already_completed";
    ensure!(known, "{}", answer.short());
    let ended = hostile.end_of("import_issues", id).await?;
    let took = begun.elapsed();
    ensure!(arena.scale == Scale::Brief || took <= CANCEL_MAX, "it took {took:?}");
    Ok(format!("{} after {:.1} s", ended["outcome"], took.as_secs_f64()))
}
