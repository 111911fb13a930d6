//! The operation that counts issues by groups, its parameters and its answer.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::{COUNT_PARAMETERS, GROUPS_DEFAULT, GROUPS_MAX, Group};
use serde_json::{Map, Value, json};

use super::filters::documented;
use crate::openapi::json::{array, described, names, record, schema, text};
use crate::openapi::operation::{Operation, QUERY, json_content};
use crate::openapi::parameters::{query, query_words};

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
    let mut by = query_words(
        "group-by",
        "One or two properties, with a comma between them. An issue counts once in each property, \
         except that it counts once for each of its tags.",
        &names(Group::ALL, Group::as_str),
    );
    by["required"] = true.into();
    by["schema"]["maxItems"] = 2.into();
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
    let or_null = |about| described(about, json!({"type": ["string", "null"]}));
    let of = |group: &Group| match group {
        Group::Rating => described("1 to 5.", json!({"type": ["integer", "null"]})),
        Group::CreatedDay | Group::UpdatedDay | Group::ChangedDay => {
            text("A day such as 2026-02-03.")
        }
        Group::CreatedWeek => text("A week of ISO 8601, such as 2026-W05."),
        Group::CreatedMonth => text("A month such as 2026-02."),
        Group::State => text("The state."),
        Group::Mode => text("The issue mode."),
        Group::App => text("The id of the app."),
        Group::Queue => or_null("The id of the queue; null for issues without one."),
        Group::Assignee => or_null("The id of the agent; null for unassigned issues."),
        Group::Language => or_null("The language; null for issues without one."),
        Group::Platform => or_null("The platform type; null for issues without one."),
        Group::Tag => or_null("A tag; null for issues without tags."),
    };
    let properties = Group::ALL.iter().map(|group| (group.as_str().to_owned(), of(group)));
    let mut properties: Map<_, _> = properties.collect();
    properties.insert("count".to_owned(), json!({"type": "integer", "minimum": 1}));
    json!({
        "IssueCounts": record(
            "Numbers of issues. `total-hits` is exact, and `other` is the sum of the groups beyond \
             `limit`.",
            &["total-hits", "groups", "other"],
            json!({
                "total-hits": {"type": "integer", "minimum": 0},
                "groups": array(schema("IssueGroup")),
                "other": {"type": "integer", "minimum": 0},
            }),
        ),
        "IssueGroup": record(
            "The number of issues of a group, after its value of each property that the request \
             groups by.",
            &["count"],
            properties.into(),
        ),
    })
}
