//! The operations that read issues: the list in its three forms, and the single issue.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::ISSUE_FILTERS;
use serde_json::{Value, json};

use super::filters::documented;
use super::issue;
use super::parameters::TOKEN;
use crate::openapi::json::schema;
use crate::openapi::operation::{Operation, QUERY, add_lines, add_table, json_content};

/// The parameters of the list that are not filters, without those of the page.
const NO_FILTERS: [&str; 13] = [
    "includes",
    "excludes",
    "timestamp-format",
    "sort-by",
    "sort-order",
    "cursor",
    "after",
    "count",
    "list-format",
    "bom",
    "spreadsheet",
    "trailer",
    "columns",
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
    let about = "Every match, one issue per row.";
    add_table(&mut content, about, "id,title\r\n12,Refund of order 1001\r\n");
    Operation::guarded(
        "listIssues",
        "issues",
        "List issues",
        "Filters combine with AND. Issues with equal times are in the order of their ids, so that \
         paging is stable. A page beyond the last has no issues and the true totals. With `cursor` \
         the list continues from a position instead of a page number, to any depth. As JSON lines \
         or as a table, without `page`, it is a stream of every match.",
    )
    .takes(["domain"].into_iter().chain(ISSUE_FILTERS.iter().map(|one| documented(one.name))))
    .takes(NO_FILTERS.into_iter().chain(["page", "page-size", "If-None-Match"]))
    .answers(200, "A page of issues, a step by cursor, or a stream.", &["Link", "Tag"], &content)
    .answers(304, "The caller already has the current answer.", &["ETag"], &Value::Null)
    .fails(&QUERY)
    .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
    .build()
}

pub(super) fn messages() -> Value {
    let message = issue::example()["messages"][0].clone();
    let page = json!({
        "page": 1, "page-size": 100, "messages": [message], "total-hits": 1, "total-pages": 1,
    });
    part("listMessages", "List the messages of an issue", "MessageEnvelope", (page, &message))
}

pub(super) fn notes() -> Value {
    let note = json!({
        "body": "called back",
        "created_at": 1_767_225_600_000_u64,
        "author": {"name": "Desk", "id": "eva", "emails": ["eva@desk.example"]},
    });
    let page = json!({
        "page": 1, "page-size": 100, "private_notes": [note], "total-hits": 1, "total-pages": 1,
    });
    let envelope = "PrivateNoteEnvelope";
    part("listPrivateNotes", "List the private notes of an issue", envelope, (page, &note))
}

/// A list of an issue, with an example of its page and of a record.
fn part(id: &str, summary: &str, envelope: &str, (page, record): (Value, &Value)) -> Value {
    let mut content = json_content(schema(envelope), page);
    add_lines(&mut content, "The records of the page, one per line.", &format!("{record}\n"));
    let table = "created_at,body\r\n1767225600000,called back\r\n";
    add_table(&mut content, "The records of the page, one per row.", table);
    Operation::guarded(
        id,
        "issues",
        summary,
        "Oldest first; those of the same time are in the order of the issue. For issues that are \
         too long to be read whole. By cursor the answer has `next-cursor`, and totals only with \
         `count=true`.",
    )
    .takes(["domain", "issue_id", "page", "page-size", "cursor", "count", "timestamp-format"])
    .takes(["list-format", "bom", "spreadsheet", "If-None-Match"])
    .answers(200, "A part of the list.", &["Link", "ETag"], &content)
    .answers(304, "The caller already has the current answer.", &["ETag"], &Value::Null)
    .fails(&QUERY)
    .fails(&[ErrorCode::PageTooDeep, ErrorCode::NotFound, ErrorCode::QueryTooExpensive])
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
