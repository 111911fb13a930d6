//! The operation that says how long issues take, its parameters and its answer.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::{DURATION_GROUPS, Group, ISSUE_FILTERS};
use serde_json::{Value, json};

use super::filters::documented;
use crate::openapi::json::{array, record, schema, text};
use crate::openapi::operation::{Operation, QUERY, json_content};
use crate::openapi::parameters::query;

pub(super) fn operation() -> Value {
    let hour = 3_600_000;
    let first_reply = json!({"count": 9, "median_ms": hour, "p90_ms": 24 * hour});
    let resolution = json!({"count": 3, "median_ms": 30 * hour, "p90_ms": 72 * hour});
    let example = json!({
        "total-hits": 12,
        "first_reply": first_reply,
        "resolution": resolution,
        "groups": [{"created-week": "2026-W05", "count": 12, "first_reply": first_reply,
            "resolution": resolution}],
    });
    let filters = ISSUE_FILTERS.iter().map(|filter| documented(filter.name));
    Operation::guarded(
        "getIssueDurations",
        "issues",
        "How long issues take",
        "The times to the first reply and to the resolution: of all issues that the filters match, \
         and of those of each period, in the order of time. A period without issues is left out. \
         The server reads each of these issues within the deadline of one read.",
    )
    .takes(["domain"].into_iter().chain(filters).chain(["group-by-period", "timezone"]))
    .answers(200, "The times.", &[], &json_content(schema("IssueDurations"), example))
    .fails(&QUERY)
    .fails(&[ErrorCode::QueryTooExpensive])
    .build()
}

pub(super) fn parameters() -> Value {
    let words = DURATION_GROUPS.map(Group::as_str);
    json!({
        "group-by-period": query(
            "group-by",
            "The periods by the creation of issues; the default is weeks.",
            json!({"type": "string", "enum": words}),
        ),
    })
}

pub(super) fn schemas() -> Value {
    let of_time = |about: &str| json!({"type": ["integer", "null"], "description": about});
    json!({
        "IssueDurations": record(
            "How long issues took. The first reply is from the customer's first message to the \
             first one of an agent after it. The resolution is from the creation to the change to \
             `resolved`, if the issue is resolved now.",
            &["total-hits", "first_reply", "resolution", "groups"],
            json!({
                "total-hits": {"type": "integer", "minimum": 0},
                "first_reply": schema("Durations"),
                "resolution": schema("Durations"),
                "groups": array(schema("IssueDurationGroup")),
            }),
        ),
        "IssueDurationGroup": record(
            "The times of the issues that were created in a period, which has the name of \
             `group-by`.",
            &["count", "first_reply", "resolution"],
            json!({
                "created-day": text("A day such as 2026-02-03."),
                "created-week": text("A week of ISO 8601, such as 2026-W05."),
                "created-month": text("A month such as 2026-02."),
                "count": {"type": "integer", "minimum": 1},
                "first_reply": schema("Durations"),
                "resolution": schema("Durations"),
            }),
        ),
        "Durations": record(
            "Times in milliseconds.",
            &["count", "median_ms", "p90_ms"],
            json!({
                "count": {"type": "integer", "minimum": 0,
                    "description": "The issues that have such a time."},
                "median_ms": of_time("The least time that half of them did not exceed."),
                "p90_ms": of_time("The least time that 90 % of them did not exceed."),
            }),
        ),
    })
}
