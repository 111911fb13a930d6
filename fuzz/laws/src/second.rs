//! The second opinion on JSON: another reader, and its limits. It rounds numbers, drops all but the
//! last of repeated keys and gives up on deep nesting, so each question avoids these.

use std::borrow::Cow;

use caseload_model::json::Json;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Whether `text` is JSON by grammar and UTF-8 alone, at any depth.
pub(crate) fn is_json(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok() && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// The other reader's value of the same content, with a mark before each number and string, and
/// numbers by their digits.
pub(crate) fn value(json: &Json<'_>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(digits) => Value::String(format!("#{digits}")),
        Json::String(text) => Value::String(format!("\"{text}")),
        Json::Array(items) => Value::Array(items.iter().map(value).collect()),
        Json::Object(members) => {
            let member = |(key, item): &(Cow<'_, str>, Json<'_>)| (key.to_string(), value(item));
            Value::Object(members.iter().map(member).collect())
        }
    }
}

/// JSON Merge Patch as RFC 7396 writes it down.
pub(crate) fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut out = target.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            out.shift_remove(name);
        } else {
            let before = out.get(name).cloned().unwrap_or(Value::Null);
            out.insert(name.clone(), merged(&before, change));
        }
    }
    Value::Object(out)
}

/// The value at an RFC 6901 pointer.
pub(crate) fn at<'j, 't>(json: &'j Json<'t>, pointer: &str) -> Option<&'j Json<'t>> {
    if pointer.is_empty() {
        return Some(json);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(json, |json, token| match json {
        Json::Array(items) => items.get(token.parse::<usize>().ok()?),
        Json::Object(_) => json.get(&token.replace("~1", "/").replace("~0", "~")),
        _ => None,
    })
}

/// The compact text of a value.
pub(crate) fn text(json: &Json<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    json.write_to(&mut out);
    out
}
