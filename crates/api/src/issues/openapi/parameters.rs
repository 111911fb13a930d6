//! The parameters of the issue list and of the single issue. A test compares them with the
//! parameters that the model reads.

use caseload_model::ids::ISSUE_ID_MAX;
use caseload_model::issue_query::{SortKey, SortOrder, columns_pattern};
use serde_json::{Value, json};

use super::{counts, durations, filters};
use crate::openapi::json::{array, merged, names, words};
use crate::openapi::parameters::{query, query_columns, query_json};

/// The cursor of examples.
pub(super) const TOKEN: &str = "ATEAAAAHAAABhWsikpAAAAAAAAAAKgECAwQFBgcI8Jh8dMzy";
pub(crate) fn parameters() -> Value {
    let (of_counts, of_durations) = (counts::parameters(), durations::parameters());
    merged([path(), filters::parameters(), of_counts, of_durations, view(), order(), position()])
}

fn path() -> Value {
    json!({"issue_id": {
        "name": "issue_id",
        "in": "path",
        "required": true,
        "description": "The id of an issue: digits.",
        "schema": {"type": "integer", "format": "int64", "minimum": 1, "maximum": ISSUE_ID_MAX},
        "example": 12,
    }})
}

fn view() -> Value {
    let any_of = |words: &[&str]| array(json!({"enum": words}));
    let includes = [
        "feedback",
        "custom_fields",
        "meta",
        "queue",
        "private_notes",
        "predict_labels",
        "sentiment_analysis",
        "smart_intents",
    ];
    json!({
        "includes": query_json(
            "includes",
            "Members to add to each issue. `meta` is always included.",
            any_of(&includes),
            json!(["feedback"]),
        ),
        "excludes": query_json(
            "excludes",
            "`messages` leaves the messages out.",
            any_of(&["messages"]),
            json!(["messages"]),
        ),
        "timestamp-format": query(
            "timestamp-format",
            "The form of instants; `unix` is the default. `state_data.changed_at` is always a \
             number.",
            words(&["unix", "iso-8601"]),
        ),
    })
}

fn order() -> Value {
    json!({
        "sort-by": query(
            "sort-by",
            "The time that the list is sorted by. The default is the creation time, or the update \
             time if the query has a bound on it.",
            words(&names(SortKey::ALL, SortKey::as_str)),
        ),
        "sort-order": query(
            "sort-order",
            "Oldest first, or newest first, which is the default.",
            words(&names(SortOrder::ALL, SortOrder::as_str)),
        ),
    })
}

fn position() -> Value {
    json!({
        "cursor": query(
            "cursor",
            "Lists from a position: empty or `*` to begin, then `next-cursor` of the previous \
             answer, with the same filters and order. Cannot be combined with `page` or `after`.",
            json!({"type": "string", "format": "cursor", "examples": ["*"]}),
        ),
        "after": query(
            "after",
            "A cursor in plain text: the time that the list is sorted by, and the id of an issue; \
             the list continues after it. Cannot be combined with `page` or `cursor`.",
            json!({
                "type": "string",
                "pattern": "^[0-9]{1,15},[0-9]{1,15}$",
                "examples": ["1767225600000,28"],
            }),
        ),
        "trailer": query(
            "trailer",
            "Whether a stream ends in a line that says that it is complete; `true` is the default. \
             Without that line, a broken transfer is the only sign of a cut stream.",
            json!({"type": "boolean"}),
        ),
        "columns": query_columns(
            "an issue",
            &columns_pattern(),
            json!(["id", "title", "custom_fields.plan"]),
        ),
        "count": query(
            "count",
            "Whether to include the totals. Only with `cursor` or `after`.",
            json!({"type": "boolean"}),
        ),
    })
}
