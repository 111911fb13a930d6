//! The paths of issues and their query parameters. A test holds the parameters to the list that
//! the model reads.

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::ISSUE_ID_MAX;
use caseload_model::issue::IssueState;
use caseload_model::issue_query::{SortKey, SortOrder};
use serde_json::{Value, json};

use super::operation::{Operation, json_content};
use super::parameters::{bound, query, query_json, query_words};
use super::{filters, issue, merged, schema, writing};

/// What the list takes beside the page.
const LIST: [&str; 32] = [
    "created-since",
    "created-until",
    "updated-since",
    "updated-until",
    "state-since",
    "state-until",
    "state",
    "ids",
    "app-ids",
    "platform-types",
    "queue_ids",
    "end-user-ids",
    "issue_modes",
    "tags",
    "languages",
    "assignee-ids",
    "assignee_emails",
    "author_emails",
    "messages",
    "notes",
    "feedback-comment",
    "custom_fields",
    "feedback-rating",
    "redacted",
    "includes",
    "excludes",
    "timestamp-format",
    "sort-by",
    "sort-order",
    "cursor",
    "after",
    "count",
];
/// A cursor, for examples.
const TOKEN: &str = "ATEAAAAHAAABhWsikpAAAAAAAAAAKgECAwQFBgcI8Jh8dMzy";
/// Errors of a query that does not parse.
pub(super) const QUERY: [ErrorCode; 4] = [
    ErrorCode::UnknownParameter,
    ErrorCode::ConflictingParameter,
    ErrorCode::InvalidValue,
    ErrorCode::OutOfRange,
];

pub(super) fn paths() -> Value {
    json!({
        "/v1/{domain}/issues": {
            "get": list(),
            "post": writing::create(),
            "put": writing::edit_many(),
        },
        "/v1/{domain}/issues/{issue_id}": {"get": single(), "put": writing::edit()},
        "/v1/{domain}/issues/{issue_id}/messages": {"post": writing::message()},
        "/v1/{domain}/issues/{issue_id}/private-notes": {"post": writing::note()},
    })
}

fn list() -> Value {
    let page = json!({
        "page": 1, "page-size": 100, "issues": [issue::example()], "total-hits": 1,
        "total-pages": 1,
    });
    let lines =
        format!("{}\n{{\"end\":true,\"count\":1,\"next-cursor\":\"{TOKEN}\"}}\n", issue::example());
    let envelopes = json!({"anyOf": [schema("IssueEnvelope"), schema("IssueCursorEnvelope")]});
    let content = json!({
        "application/json": {"schema": envelopes, "example": page},
        "application/x-ndjson": {
            "schema": {
                "type": "string",
                "description": "Every match, one issue per line, and a last line that says how \
                                many they were. Without it the stream was cut.",
            },
            "example": lines,
        },
    });
    Operation::guarded(
        "listIssues",
        "issues",
        "List issues",
        "Filters combine with AND. Ties of the order are broken by id, so that paging is total and \
         stable. A page beyond the last has no issues and the true totals. With `cursor` the list \
         goes by place instead of number, to any depth; as JSON lines, without `page`, it is a \
         stream of every match.",
    )
    .takes(["domain"].into_iter().chain(LIST).chain(["page", "page-size", "If-None-Match"]))
    .answers(200, "A page of issues, a step by cursor, or a stream.", &["Link", "Tag"], &content)
    .answers(304, "The caller has it already.", &["ETag"], &Value::Null)
    .fails(&QUERY)
    .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
    .build()
}

fn single() -> Value {
    let mut shown = issue::example();
    shown["custom_fields"] = json!({"plan": {"type": "dropdown", "value": "gold"}});
    let example = json!({
        "page": 1, "page-size": 100, "issues": [shown], "total-hits": 1, "total-pages": 1,
    });
    Operation::guarded(
        "getIssue",
        "issues",
        "Get one issue",
        "The envelope of the list with the one issue, `custom_fields` included.",
    )
    .takes(["domain", "issue_id", "includes", "excludes", "timestamp-format", "If-None-Match"])
    .answers(304, "The caller has it already.", &["ETag"], &Value::Null)
    .answers(200, "The issue.", &["ETag"], &json_content(schema("IssueEnvelope"), example))
    .fails(&QUERY[..3])
    .fails(&[ErrorCode::NotFound, ErrorCode::QueryTooExpensive])
    .build()
}

pub(super) fn parameters() -> Value {
    merged([path(), times(), texts(), filters::parameters(), view(), order(), places()])
}

fn path() -> Value {
    json!({"issue_id": {
        "name": "issue_id",
        "in": "path",
        "required": true,
        "description": "The id of an issue, in digits.",
        "schema": {"type": "integer", "format": "int64", "minimum": 1, "maximum": ISSUE_ID_MAX},
        "example": 12,
    }})
}

fn times() -> Value {
    let time = |name, description| query(name, description, bound());
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
        let description = format!("{description} Any of them; an empty list matches nothing.");
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
        "ids": query_json("ids", "These issues.", ids, json!(["28", 29])),
        "app-ids": any("app-ids", "Ids of apps.", "acme_app_20260101000000000-1370923e4e06ab6"),
        "platform-types": any("platform-types", "What issues were created with.", "web"),
        "queue_ids": any("queue_ids", "Ids of queues.", "123"),
        "end-user-ids": any(
            "end-user-ids",
            "Compared with `hs_user_id`.",
            "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
        ),
        "issue_modes": any("issue_modes", "What issues were created with.", "chat"),
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
            "Members to add to each issue. `meta` is always there.",
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
            "How instants are written; `state_data.changed_at` is always a number.",
            json!({"enum": ["unix", "iso-8601"], "default": "unix"}),
        ),
    })
}

fn order() -> Value {
    let keys: Vec<_> = SortKey::ALL.iter().map(|key| key.as_str()).collect();
    let orders: Vec<_> = SortOrder::ALL.iter().map(|order| order.as_str()).collect();
    json!({
        "sort-by": query(
            "sort-by",
            "The instant that decides the order; by default the creation time, with a bound on the \
             update time the update time.",
            json!({"enum": keys}),
        ),
        "sort-order": query(
            "sort-order",
            "Oldest or newest first.",
            json!({"enum": orders, "default": "desc"}),
        ),
    })
}

fn places() -> Value {
    json!({
        "cursor": query(
            "cursor",
            "Lists by place: empty to begin, then `next-cursor` of the answer before, with the \
             same filters and order. Not beside `page` or `after`.",
            json!({"type": "string", "format": "cursor", "examples": ["", TOKEN]}),
        ),
        "after": query(
            "after",
            "A cursor in plain text: the instant that the list is sorted by and the id of an \
             issue; the list goes on behind it. Not beside `page` or `cursor`.",
            json!({
                "type": "string",
                "pattern": "^[0-9]{1,15},[0-9]{1,15}$",
                "examples": ["1767225600000,28"],
            }),
        ),
        "count": query(
            "count",
            "Whether the totals are wanted. Only with `cursor` or `after`.",
            json!({"type": "boolean", "default": false}),
        ),
    })
}
