//! The description of the history of one record, and of its form for clients of the API family.

use caseload_model::change::{AUDIT_ACTIONS, AUDIT_PAGE_SIZE_DEFAULT, AUDIT_PAGE_SIZE_MAX};
use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{array, described, integer, map, null_value, object, schema, words};
use crate::openapi::operation::{Operation, QUERY, json_content};
use crate::openapi::parameters::{BOUND_FORMS, bound, instant, query, query_words};

pub(crate) fn paths() -> Value {
    json!({
        "/v1/{domain}/issues/{issue_id}/changes": {"get": history(
            ("getIssueChanges", "issues", "List the changes of an issue"),
            "issue_id",
            &json!({
                "position": "1042",
                "at": 1_767_225_600_000_u64,
                "resource": "issue",
                "id": "12",
                "action": "updated",
                "fields": ["state"],
                "by": {"key_id": "0f1e2d3c", "key_name": "desk"},
                "changes": {"state": {"from": "new", "to": "resolved"}},
            }),
        )},
        "/v2/{domain}/identity/core_profiles/{core_profile_id}/changes": {"get": history(
            ("getCoreProfileChanges", "profiles", "List the changes of a core profile"),
            "core_profile_id",
            &json!({
                "position": "1043",
                "at": 1_767_225_600_000_u64,
                "resource": "core_profile",
                "id": "188474421477632",
                "action": "updated",
                "fields": ["tags"],
                "by": {"task_id": "0f1e2d3c", "index": 7},
            }),
        )},
        "/v2/{domain}/issues/{issue_id}/_audit_logs": {"get": audit_logs()},
    })
}

fn history((id, tag, summary): (&str, &str, &str), record: &str, example: &Value) -> Value {
    let page = json!({"changes": [example], "next-cursor": "1042"});
    Operation::guarded(
        id,
        tag,
        summary,
        "Newest first. A record that was deleted still has its history, until the server has \
         purged its changes. A page may have fewer changes than `page-size`, \
         even none: the history ends where `next-cursor` is null.",
    )
    .takes(["domain", record, "history-cursor", "page-size"])
    .answers(200, "A part of the history.", &[], &json_content(schema("History"), page))
    .fails(&QUERY)
    .fails(&[ErrorCode::NotFound, ErrorCode::QueryTooExpensive])
    .build()
}

fn audit_logs() -> Value {
    let entry = json!({
        "action_taken_at": 1_767_225_600_000_u64,
        "action": "add-tags",
        "action_owner": {"key_id": "0f1e2d3c", "key_name": "desk"},
        "data": {"tags": ["vip"]},
    });
    let size = AUDIT_PAGE_SIZE_DEFAULT;
    let page = json!({"page": 1, "page_size": size, "audit_logs": [entry], "total": 1});
    Operation::guarded(
        "getIssueAuditLogs",
        "issues",
        "List the audit log of an issue",
        "The changes of the issue for clients of the API family: one entry for each thing that a \
         change changed. `update-state`, `update-assignee`, `update-queue` and `update-title` \
         have `from` and `to` as `data`; `add-tags` and `remove-tags` have `tags`; `add-messages` \
         has `message_ids`; `add-private-notes` has `count`; `update-issue` has `fields`, those \
         of which only the name is known. The other actions have no data.",
    )
    .takes(["domain", "issue_id", "audit-sort-order", "audit-actions", "audit-since"])
    .takes(["audit-until", "audit-page", "audit-page-size"])
    .answers(200, "A page of the log.", &[], &json_content(schema("AuditLog"), page))
    .fails(&QUERY)
    .fails(&[ErrorCode::NotFound, ErrorCode::QueryTooExpensive])
    .build()
}

pub(crate) fn parameters() -> Value {
    let time = |name: &str, which: &str| {
        query(name, &format!("The time of the {which} entries to list. {BOUND_FORMS}"), bound())
    };
    json!({
        "history-cursor": query(
            "cursor",
            "Empty or `*` for the newest changes, which is the default, then `next-cursor` of the \
             previous answer.",
            json!({"type": "string", "pattern": "^([0-9]+|\\*)?$"}),
        ),
        "audit-sort-order": query(
            "sort-order",
            "The order by time; `desc` is the default.",
            words(&["asc", "desc"]),
        ),
        "audit-actions": query_words("actions", "Only entries of these.", &AUDIT_ACTIONS),
        "audit-since": time("since", "first"),
        "audit-until": time("until", "last"),
        "audit-page": query(
            "page",
            "The page, from 1, which is the default.",
            json!({"type": "integer", "minimum": 1}),
        ),
        "audit-page-size": query(
            "page-size",
            &format!(
                "The number of entries on a page. The default is {AUDIT_PAGE_SIZE_DEFAULT}, also \
                 in place of a number below 1 or above {AUDIT_PAGE_SIZE_MAX}."
            ),
            json!({"type": "integer", "minimum": 0}),
        ),
    })
}

pub(crate) fn schemas() -> Value {
    let cursor = json!({"oneOf": [{"type": "string", "pattern": "^[0-9]+$"}, null_value()]});
    json!({
        "History": object(&["changes", "next-cursor"], json!({
            "changes": array(schema("Change")),
            "next-cursor": described("The `cursor` of the next request; null at the end.", cursor),
        })),
        "AuditLog": object(&["page", "page_size", "audit_logs", "total"], json!({
            "page": integer(1, "The page."),
            "page_size": integer(1, "The most entries of an answer."),
            "audit_logs": array(schema("AuditLogEntry")),
            "total": integer(0, "All entries that match."),
        })),
        "AuditLogEntry": object(&["action_taken_at", "action", "action_owner", "data"], json!({
            "action_taken_at": instant(),
            "action": words(&AUDIT_ACTIONS),
            "action_owner": {"oneOf": [schema("ChangeAuthor"), null_value()]},
            "data": map(),
        })),
    })
}
