//! The filters of the issue list that are JSON maps: conditions, ratings and custom fields. Their
//! schemas have exactly the keys and operators that the model reads.

use serde_json::{Map, Value, json};

use crate::openapi::parameters::{query, query_json};

pub(super) fn parameters() -> Value {
    let all = ["and", "or", "nor", "exists"];
    let texts = "The search is literal and ignores case.";
    let one_of = |text: &str| json!({"or": [text]});
    json!({
        "tags": condition("tags", "Compared exactly.", &all, one_of("vip")),
        "languages": condition("languages", "Compared exactly.", &all, one_of("en")),
        "assignee-ids": condition(
            "assignee-ids",
            "Compared exactly. An unassigned issue has none.",
            &all,
            json!({"exists": "false"}),
        ),
        "assignee_emails": condition(
            "assignee_emails",
            "The address of the assigned agent; case is ignored.",
            &["or"],
            one_of("ann@desk.example"),
        ),
        "author_emails": condition(
            "author_emails",
            "Compared without regard to case.",
            &["or", "exists"],
            json!({"or": ["eva@example.com"], "exists": "true"}),
        ),
        "text": query(
            "text",
            "A literal part of the title, of a message, of a private note or of the comment of \
             the rating; case is ignored.",
            json!({"type": "string", "minLength": 1, "examples": ["crash on login"]}),
        ),
        "title": condition(
            "title",
            &format!("The title; an empty title counts as none. {texts}"),
            &all,
            json!({"and": ["crash"]}),
        ),
        "messages": condition(
            "messages",
            &format!("The bodies of all messages. {texts}"),
            &all,
            json!({"and": ["crash", "login"]}),
        ),
        "notes": condition(
            "notes",
            &format!("The bodies of all private notes. {texts}"),
            &all,
            json!({"and": ["refund"]}),
        ),
        "feedback-comment": condition(
            "feedback-comment",
            &format!("The comment of the rating. {texts}"),
            &["and", "nor", "exists"],
            json!({"and": ["great"]}),
        ),
        "feedback-rating": rating(),
        "custom_fields": custom_fields(),
    })
}

fn boolean() -> Value {
    json!({"enum": ["true", "false", true, false]})
}

fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn number() -> Value {
    json!({"oneOf": [
        {"type": "number"},
        {"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,18})?$"},
    ]})
}

/// A map with these optional keys and no others.
fn map<'k>(keys: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let properties: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn condition(name: &str, description: &str, keys: &[&str], example: Value) -> Value {
    let schema =
        map(keys.iter().map(|key| (*key, if *key == "exists" { boolean() } else { texts() })));
    let description = format!(
        "{description} An issue must satisfy every key that is given: `and` all of these, `or` \
         any, `nor` none, `exists` whether there is a value. The schema lists the keys of this \
         parameter."
    );
    query_json(name, &description, schema, example)
}

fn rating() -> Value {
    let operators = ["is", "is_not", "is_greater_than", "is_smaller_than"];
    let mut condition = map(operators.map(|operator| (operator, number())));
    condition["minProperties"] = 1.into();
    let conditions = json!({"type": "array", "items": condition});
    query_json(
        "feedback-rating",
        "Conditions on the rating. An issue must satisfy every key of the map. A missing rating \
         matches no operator.",
        map([("and", conditions.clone()), ("or", conditions), ("exists", boolean())]),
        json!({"and": [{"is_greater_than": "3"}]}),
    )
}

fn custom_fields() -> Value {
    let date = || {
        json!({"oneOf": [
            {"type": "integer"},
            {"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,17})$"},
        ]})
    };
    let date =
        tests(&[("is", date()), ("is_not", date()), ("is_after", date()), ("is_before", date())]);
    let text = tests(&parts());
    let types = [
        ("checkbox", boolean()),
        ("singleline", text.clone()),
        ("multiline", text),
        ("number", tests(&comparisons())),
        ("date", date),
        ("dropdown", tests(&choices())),
    ];
    query_json(
        "custom_fields",
        "Conditions on custom fields, by their type, then `and` or `or`, then their key. In `and` \
         every test of every key must hold, in `or` at least one test of one key. An issue must \
         satisfy both groups of every type.",
        map(types.map(grouped)),
        json!({"number": {"and": {"quantity": {"is_set": true, "is_smaller_than": 80}}}}),
    )
}

/// The schema of conditions on the custom fields of profiles.
pub(crate) fn profile_fields() -> Value {
    let text: Vec<_> = parts().into_iter().chain(choices()).collect();
    map([("text", tests(&text)), ("number", tests(&comparisons()))].map(grouped))
}

fn parts() -> [(&'static str, Value); 2] {
    [("contains", texts()), ("does_not_contain", texts())]
}

fn choices() -> [(&'static str, Value); 4] {
    let choice = || json!({"type": "string"});
    [("is", choice()), ("is_not", choice()), ("is_one_of", texts()), ("is_none_of", texts())]
}

fn comparisons() -> [(&'static str, Value); 4] {
    ["is", "is_not", "is_greater_than", "is_smaller_than"].map(|name| (name, number()))
}

/// The tests of a field: those of its type, and `is_set`.
fn tests(operators: &[(&'static str, Value)]) -> Value {
    let is_set = ("is_set", boolean());
    let mut tests = map([is_set].into_iter().chain(operators.iter().cloned()));
    tests["minProperties"] = 1.into();
    tests
}

/// The two groups of a type, whose fields have these tests.
fn grouped((name, tests): (&'static str, Value)) -> (&'static str, Value) {
    let fields = json!({"type": "object", "additionalProperties": tests});
    (name, map([("and", fields.clone()), ("or", fields)]))
}
