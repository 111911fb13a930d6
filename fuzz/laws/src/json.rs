//! Reading and writing JSON. A text is read exactly if another reader's grammar accepts it, apart
//! from faults of content. Both read the same value. Writing that value and reading it again
//! changes nothing.

use std::collections::HashSet;

use caseload_model::json::{self, Json};
use serde_json::Value;

use crate::second;

/// The details of faults of content; all others are about the grammar.
const CONTENT: [&str; 4] = ["occurs twice", "surrogate", "nest deeper", "more faults than"];

/// Levels at which the other reader gives up.
const SECOND_DEPTH_MAX: usize = 100;

pub(crate) fn holds(data: &[u8]) {
    let stepped = json::skip_value(data, usize::MAX);
    if let Ok(len) = stepped {
        assert!(len <= data.len(), "a value ends within its text");
        let is_utf8 = std::str::from_utf8(&data[..len]).is_ok();
        assert_eq!(second::is_json(&data[..len]), is_utf8, "a value that was stepped over is JSON");
    }
    match json::parse(data) {
        Ok(json) => {
            assert!(second::is_json(data), "the value is JSON");
            let len = stepped.expect("a text that can be read can be stepped over");
            assert!(data[len..].iter().all(u8::is_ascii_whitespace), "nothing remains unread");
            assert!(has_no_key_twice(&json), "a key is once in a map");
            written(&json);
            compare(data, &json);
        }
        Err(faults) => {
            assert!(!faults.is_empty() && faults.len() <= json::FAULTS_MAX + 1);
            for fault in &faults {
                assert!(fault.offset <= data.len() && !fault.detail.is_empty(), "{fault:?}");
                let pointer = fault.pointer.as_deref().unwrap_or_default();
                assert!(pointer.is_empty() || pointer.starts_with('/'), "{pointer:?}");
            }
            let by_content =
                faults.iter().all(|fault| CONTENT.iter().any(|word| fault.detail.contains(word)));
            let cut_short = faults.iter().any(|fault| fault.detail.contains("nest deeper"));
            assert!(
                !second::is_json(data) || by_content,
                "a text without faults of content is read: {faults:?}"
            );
            assert!(
                second::is_json(data) || !by_content || cut_short || faults.len() > 1000,
                "broken grammar is a fault: {faults:?}"
            );
        }
    }
}

fn has_no_key_twice(json: &Json<'_>) -> bool {
    match json {
        Json::Array(items) => items.iter().all(has_no_key_twice),
        Json::Object(members) => {
            let keys: HashSet<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
            keys.len() == members.len() && members.iter().all(|(_, item)| has_no_key_twice(item))
        }
        _ => true,
    }
}

/// Writes the value and reads it again.
fn written(json: &Json<'_>) {
    let text = second::text(json);
    assert!(second::is_json(&text), "the written text is JSON");
    assert!(text.iter().all(|byte| *byte >= 0x20), "the written text is one line");
    let again = json::parse(&text).expect("the written text can be read");
    assert_eq!(again, *json, "nothing is lost on the way out and in");
    assert!(again.same(json) && json.same(&again));
    assert_eq!(second::text(&again), text);
}

/// Compares the value with that of the other reader.
fn compare(data: &[u8], json: &Json<'_>) {
    // It cannot say anything about numbers beyond the range of floats.
    if depth(json) > SECOND_DEPTH_MAX {
        return;
    }
    if let Ok(other) = serde_json::from_slice::<Value>(data) {
        assert_eq!(rounded(json), Some(other), "both readers read the same");
    }
}

fn depth(json: &Json<'_>) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Json::Object(members) => {
            1 + members.iter().map(|(_, item)| depth(item)).max().unwrap_or_default()
        }
        _ => 0,
    }
}

/// The value with its numbers as the other reader has them.
fn rounded(json: &Json<'_>) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(digits) => serde_json::from_str(digits).ok()?,
        Json::String(text) => Value::String(text.to_string()),
        Json::Array(items) => Value::Array(items.iter().map(rounded).collect::<Option<_>>()?),
        Json::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, item)| Some((key.to_string(), rounded(item)?)))
                .collect::<Option<_>>()?,
        ),
    })
}
