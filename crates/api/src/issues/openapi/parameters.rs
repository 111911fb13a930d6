//! The parameters of the issue list and of the single issue. A test compares them with the
//! parameters that the model reads.

use caseload_model::ids::ISSUE_ID_MAX;
use caseload_model::issue::IssueState;
use caseload_model::issue_query::{SortKey, SortOrder, columns_pattern};
use serde_json::{Value, json};

use super::{counts, filters};
use crate::openapi::json::merged;
use crate::openapi::parameters::{bound, query, query_columns, query_json, query_words};

/// The cursor of examples.
pub(super) const TOKEN: &str = "ATEAAAAHAAABhWsikpAAAAAAAAAAKgECAwQFBgcI8Jh8dMzy";
pub(crate) fn parameters() -> Value {
    merged([
        path(),
        times(),
        texts(),
        filters::parameters(),
        counts::parameters(),
        view(),
        order(),
        position(),
    ])
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

fn times() -> Value {
    let time = |name, description: &str| {
        let forms = "Unix milliseconds; ISO 8601 and floats without a fraction are accepted too.";
        query(name, &format!("{description} {forms}"), bound())
    };
    json!({
        "created-since": time("created-since", "Created at this instant or later."),
        "created-until": time("created-until", "Created at this instant or earlier."),
        "updated-since": time(
            "updated-since",
            "Written at this instant or later. Without `sort-by` the order is then by update time.",
        ),
        "updated-until": time(
            "updated-until",
            "Written at this instant or earlier. Without `sort-by` the order is then by update \
             time.",
        ),
        "state-since": time("state-since", "State changed at this instant or later."),
        "state-until": time("state-until", "State changed at this instant or earlier."),
    })
}

fn texts() -> Value {
    let any = |name, description: &str, example| {
        let description =
            format!("{description} An issue with any of them matches; an empty list matches none.");
        let texts = json!({"type": "array", "items": {"type": "string"}});
        query_json(name, &description, texts, json!([example]))
    };
    let states: Vec<_> = IssueState::ALL.iter().map(|state| state.as_str()).collect();
    let id = json!({"type": "integer", "minimum": 0});
    let ids = json!({
        "type": "array",
        "items": {"oneOf": [id, {"type": "string", "pattern": "^[0-9]+$"}]},
    });
    json!({
        "state": query_words("state", "Issues in one of these states.", &states),
        "ids": query_json("ids", "The issues with these ids.", ids, json!(["28", 29])),
        "app-ids": any("app-ids", "Ids of apps.", "acme_app_20260101000000000-1370923e4e06ab6"),
        "platform-types": any("platform-types", "The platforms that created the issues.", "web"),
        "queue_ids": any("queue_ids", "Ids of queues.", "123"),
        "end-user-ids": any(
            "end-user-ids",
            "Compared with `hs_user_id`.",
            "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
        ),
        "core-profile-id": query(
            "core-profile-id",
            "The issues of one person: the app profile of their author shares an identity with \
             this core profile.",
            json!({"type": "string", "pattern": "^[0-9]+$"}),
        ),
        "issue_modes": any("issue_modes", "The modes in which the issues were created.", "chat"),
        "redacted": query("redacted", "Only redacted issues, or none.", json!({"type": "boolean"})),
    })
}

fn view() -> Value {
    let words = |words: &[&str]| json!({"type": "array", "items": {"enum": words}});
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
            words(&includes),
            json!(["feedback"]),
        ),
        "excludes": query_json(
            "excludes",
            "`messages` leaves the messages out.",
            words(&["messages"]),
            json!(["messages"]),
        ),
        "timestamp-format": query(
            "timestamp-format",
            "The form of instants; `unix` is the default. `state_data.changed_at` is always a \
             number.",
            json!({"type": "string", "enum": ["unix", "iso-8601"]}),
        ),
    })
}

fn order() -> Value {
    let keys: Vec<_> = SortKey::ALL.iter().map(|key| key.as_str()).collect();
    let orders: Vec<_> = SortOrder::ALL.iter().map(|order| order.as_str()).collect();
    json!({
        "sort-by": query(
            "sort-by",
            "The time that the list is sorted by. The default is the creation time, or the update \
             time if the query has a bound on it.",
            json!({"type": "string", "enum": keys}),
        ),
        "sort-order": query(
            "sort-order",
            "Oldest first, or newest first, which is the default.",
            json!({"type": "string", "enum": orders}),
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
