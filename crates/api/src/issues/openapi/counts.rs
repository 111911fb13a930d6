//! The operation that counts issues by groups, its parameters and its answer.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::{COUNT_PARAMETERS, GROUPS_DEFAULT, GROUPS_MAX, Group};
use serde_json::{Value, json};

use super::filters::documented;
use crate::openapi::json::schema;
use crate::openapi::operation::{Operation, QUERY, json_content};
use crate::openapi::parameters::query;

pub(super) fn operation() -> Value {
    let example = json!({
        "total-hits": 12,
        "groups": [{"state": "new", "count": 9}, {"state": "resolved", "count": 3}],
        "other": 0,
    });
    Operation::guarded(
        "countIssues",
        "issues",
        "Count issues by groups",
        "The number of issues that the filters match, and their numbers by one or two properties. \
         Groups by time are in the order of time, others come largest first, and equal ones in \
         the order of their names. A group without issues is left out.",
    )
    .takes(["domain"].into_iter().chain(COUNT_PARAMETERS.map(documented)))
    .answers(200, "The numbers.", &[], &json_content(schema("IssueCounts"), example))
    .fails(&QUERY)
    .fails(&[ErrorCode::MissingField, ErrorCode::QueryTooExpensive])
    .build()
}

pub(super) fn parameters() -> Value {
    let words: Vec<_> = Group::ALL.iter().map(|group| group.as_str()).collect();
    let group = json!({"type": "string", "enum": words});
    let groups = json!({"type": "array", "minItems": 1, "maxItems": 2, "items": group});
    let mut by = query(
        "group-by",
        "One or two properties, with a comma between them. An issue counts once in each property, \
         except that it counts once for each of its tags. A JSON array, the parameter several \
         times, and `name[]` are accepted too.",
        groups,
    );
    by["required"] = true.into();
    by["style"] = "form".into();
    by["explode"] = false.into();
    by["example"] = json!(["state"]);
    json!({
        "group-by": by,
        "timezone": query(
            "timezone",
            "The IANA name of the time zone of days, weeks and months; the default is UTC.",
            json!({"type": "string", "format": "time-zone", "examples": ["Europe/Berlin"]}),
        ),
        "limit": query(
            "limit",
            &format!("The most groups of the answer; the default is {GROUPS_DEFAULT}."),
            json!({"type": "integer", "minimum": 1, "maximum": GROUPS_MAX}),
        ),
    })
}

pub(super) fn schemas() -> Value {
    let text = |description: &str| json!({"type": ["string", "null"], "description": description});
    let mut properties = serde_json::Map::new();
    for group in Group::ALL {
        let schema = match group {
            Group::Rating => json!({"type": ["integer", "null"], "description": "1 to 5."}),
            Group::CreatedDay | Group::UpdatedDay | Group::ChangedDay => {
                json!({"type": "string", "description": "A day such as 2026-02-03."})
            }
            Group::CreatedWeek => {
                json!({"type": "string", "description": "A week of ISO 8601, such as 2026-W05."})
            }
            Group::CreatedMonth => {
                json!({"type": "string", "description": "A month such as 2026-02."})
            }
            Group::State => json!({"type": "string", "description": "The state."}),
            Group::Mode => json!({"type": "string", "description": "The issue mode."}),
            Group::App => json!({"type": "string", "description": "The id of the app."}),
            Group::Queue => text("The id of the queue; null for issues without one."),
            Group::Assignee => text("The id of the agent; null for unassigned issues."),
            Group::Language => text("The language; null for issues without one."),
            Group::Platform => text("The platform type; null for issues without one."),
            Group::Tag => text("A tag; null for issues without tags."),
        };
        properties.insert(group.as_str().to_owned(), schema);
    }
    properties.insert("count".to_owned(), json!({"type": "integer", "minimum": 1}));
    json!({
        "IssueCounts": {
            "type": "object",
            "description": "Numbers of issues. `total-hits` is exact, and `other` is the sum of \
                            the groups beyond `limit`.",
            "required": ["total-hits", "groups", "other"],
            "properties": {
                "total-hits": {"type": "integer", "minimum": 0},
                "groups": {"type": "array", "items": schema("IssueGroup")},
                "other": {"type": "integer", "minimum": 0},
            },
        },
        "IssueGroup": {
            "type": "object",
            "description": "The number of issues of a group, after its value of each property \
                            that the request groups by.",
            "required": ["count"],
            "properties": properties,
        },
    })
}
