//! The operations that read issues: the list in its three forms, and the single issue.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use super::issue;
use super::parameters::TOKEN;
use crate::openapi::json::schema;
use crate::openapi::operation::{Operation, QUERY, add_lines, json_content};

/// The parameters of the list, without those of the page.
const LIST: [&str; 34] = [
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
    "list-format",
    "trailer",
];

pub(super) fn list() -> Value {
    let page = json!({
        "page": 1, "page-size": 100, "issues": [issue::example()], "total-hits": 1,
        "total-pages": 1,
    });
    let lines =
        format!("{}\n{{\"end\":true,\"count\":1,\"next-cursor\":\"{TOKEN}\"}}\n", issue::example());
    let envelopes = json!({"anyOf": [schema("IssueEnvelope"), schema("IssueCursorEnvelope")]});
    let mut content = json_content(envelopes, page);
    let about = "Every match, one issue per line, and a last line with their number. A stream \
                 without that line was cut.";
    add_lines(&mut content, about, &lines);
    Operation::guarded(
        "listIssues",
        "issues",
        "List issues",
        "Filters combine with AND. Issues with equal times are in the order of their ids, so that \
         paging is stable. A page beyond the last has no issues and the true totals. With `cursor` \
         the list continues from a position instead of a page number, to any depth. As JSON lines, \
         without `page`, it is a stream of every match.",
    )
    .takes(["domain"].into_iter().chain(LIST).chain(["page", "page-size", "If-None-Match"]))
    .answers(200, "A page of issues, a step by cursor, or a stream.", &["Link", "Tag"], &content)
    .answers(304, "The caller already has the current answer.", &["ETag"], &Value::Null)
    .fails(&QUERY)
    .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
    .build()
}

pub(super) fn single() -> Value {
    let mut shown = issue::example();
    shown["custom_fields"] = json!({"plan": {"type": "dropdown", "value": "gold"}});
    let example = json!({
        "page": 1, "page-size": 100, "issues": [shown], "total-hits": 1, "total-pages": 1,
    });
    Operation::guarded(
        "getIssue",
        "issues",
        "Get one issue",
        "The envelope of the list with one issue, including `custom_fields`.",
    )
    .takes(["domain", "issue_id", "includes", "excludes", "timestamp-format", "If-None-Match"])
    .answers(304, "The caller already has the current answer.", &["ETag"], &Value::Null)
    .answers(200, "The issue.", &["ETag"], &json_content(schema("IssueEnvelope"), example))
    .fails(&QUERY[..3])
    .fails(&[ErrorCode::NotFound, ErrorCode::QueryTooExpensive])
    .build()
}
