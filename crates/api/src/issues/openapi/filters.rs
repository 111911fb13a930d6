//! The filters of the issue list, described by the model's table of them. The schemas of
//! conditions, ratings and custom fields have exactly the keys and operators that the model reads.

use caseload_model::issue::IssueState;
use caseload_model::issue_query::{ConditionKey, FilterKind, ISSUE_FILTERS, IssueFilter};
use caseload_model::spelling::same_name;
use serde_json::{Map, Value, json};

use crate::openapi::json::{array, names, string};
use crate::openapi::parameters::{BOUND_FORMS, bound, query, query_json, query_words};

/// The filters that the document names with underscores.
const WITH_UNDERSCORES: [&str; 5] =
    ["queue_ids", "issue_modes", "assignee_emails", "author_emails", "custom_fields"];

/// The parameters of counts and those of the list that are filters, as the document names them.
pub(super) fn documented(name: &'static str) -> &'static str {
    let spelled = WITH_UNDERSCORES.into_iter().find(|other| same_name(name, other));
    spelled.unwrap_or(name)
}

pub(super) fn parameters() -> Value {
    let all = ISSUE_FILTERS.iter().map(|filter| {
        let name = documented(filter.name);
        (name.to_owned(), parameter(name, filter))
    });
    Value::Object(all.collect())
}

fn parameter(name: &str, filter: &IssueFilter) -> Value {
    let about = filter.about;
    let json = |about: &str, content: Value| {
        query_json(name, about, content, filter.example.parse().unwrap_or_default())
    };
    match filter.kind {
        FilterKind::Instant(..) => query(name, &format!("{about} {BOUND_FORMS}"), bound()),
        FilterKind::States(_) => {
            query_words(name, about, &names(IssueState::ALL, IssueState::as_str))
        }
        FilterKind::Ids(_) => {
            let id = json!({"type": "integer", "minimum": 0});
            let text = json!({"type": "string", "pattern": "^[0-9]+$"});
            json(about, array(json!({"oneOf": [id, text]})))
        }
        FilterKind::AnyOf(..) => {
            let any = "An issue with any of them matches; an empty list matches none.";
            json(&format!("{about} {any}"), texts())
        }
        FilterKind::Person(_) => {
            query(name, about, json!({"type": "string", "pattern": "^[0-9]+$"}))
        }
        FilterKind::Condition(rules, _) => {
            let all = "An issue must satisfy every key that is given: `and` all of these, `or` \
                       any, `nor` none, `exists` whether there is a value. The schema lists the \
                       keys of this parameter.";
            json(&format!("{about} {all}"), condition(rules.keys))
        }
        FilterKind::Text(_) => {
            let examples = [filter.example];
            query(name, about, json!({"type": "string", "minLength": 1, "examples": examples}))
        }
        FilterKind::CustomFields(_) => json(about, custom_fields()),
        FilterKind::Rating(_) => json(about, rating()),
        FilterKind::Boolean(_) => query(name, about, json!({"type": "boolean"})),
    }
}

fn boolean() -> Value {
    json!({"enum": ["true", "false", true, false]})
}

fn texts() -> Value {
    array(string())
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

fn condition(keys: &[ConditionKey]) -> Value {
    map(keys.iter().map(|key| {
        let values = if *key == ConditionKey::Exists { boolean() } else { texts() };
        (key.as_str(), values)
    }))
}

fn rating() -> Value {
    let operators = ["is", "is_not", "is_greater_than", "is_smaller_than"];
    let mut condition = map(operators.map(|operator| (operator, number())));
    condition["minProperties"] = 1.into();
    let conditions = array(condition);
    map([("and", conditions.clone()), ("or", conditions), ("exists", boolean())])
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
    map(types.map(grouped))
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
    [("is", string()), ("is_not", string()), ("is_one_of", texts()), ("is_none_of", texts())]
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
