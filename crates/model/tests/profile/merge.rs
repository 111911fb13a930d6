//! JSON Merge Patch, compared with the pseudocode of RFC 7396 over `serde_json` values, and with
//! the examples of its appendix A.

use caseload_model::json;
use caseload_model::profile::merge_patch;
use proptest::prelude::*;
use serde_json::Value;

/// Section 2 of the RFC, line by line.
fn oracle(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut merged = target.as_object().cloned().unwrap_or_default();
    for (name, value) in changes {
        if value.is_null() {
            merged.shift_remove(name);
        } else {
            let before = merged.get(name).cloned().unwrap_or(Value::Null);
            merged.insert(name.clone(), oracle(&before, value));
        }
    }
    Value::Object(merged)
}

fn merged(target: &str, patch: &str) -> String {
    let (target, patch) = (json::parse(target.as_bytes()), json::parse(patch.as_bytes()));
    let mut out = Vec::new();
    merge_patch(Some(&target.unwrap()), &patch.unwrap()).write_to(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_examples_of_the_rfc_give_their_results() {
    for (target, patch, wanted) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", "null"),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        assert_eq!(merged(target, patch), wanted, "{target} after {patch}");
    }
}

#[test]
fn a_patch_of_many_keys_removes_replaces_and_adds_keys() {
    let map = |range: std::ops::Range<u32>, value: &str| {
        let members: Vec<String> = range.map(|n| format!(r#""k{n}":{value}"#)).collect();
        members.join(",")
    };
    let target = format!("{{{}}}", map(0..90, "0"));
    let patch =
        format!("{{{},{},{}}}", map(80..100, "1"), map(0..30, "null"), map(200..220, "null"));
    let wanted = format!("{{{},{}}}", map(30..80, "0"), map(80..100, "1"));
    assert_eq!(merged(&target, &patch), wanted);
}

/// JSON values with few keys, so that target and patch share some.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3).prop_map(Value::from),
        "[ab]{0,1}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            3 => prop::collection::vec(("[a-e]", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_merge_agrees_with_the_pseudocode_of_the_rfc(target in any_json(), patch in any_json()) {
        let out = merged(&target.to_string(), &patch.to_string());
        prop_assert_eq!(out, oracle(&target, &patch).to_string());
    }

    #[test]
    fn merging_a_patch_twice_equals_merging_it_once(target in any_json(), patch in any_json()) {
        let once = merged(&target.to_string(), &patch.to_string());
        prop_assert_eq!(merged(&once, &patch.to_string()), once);
    }
}
