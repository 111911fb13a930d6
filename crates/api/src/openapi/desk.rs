//! Apps, agents, queues and attachments. Query parameters that these paths do not know they take
//! no notice of, as clients of the API family send more than any server knows.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::PAGE_SIZE_MAX;
use serde_json::{Value, json};

use super::operation::{Operation, json_content};
use super::parameters::{instant, query_words};
use super::schema;

pub(super) fn paths() -> Value {
    json!({
        "/v1/{domain}/apps": {"get": apps()},
        "/v1/{domain}/apps/{publish_id}": {"get": app()},
        "/v1/{domain}/agents": {"get": agents()},
        "/v1/{domain}/queues": {"get": queues()},
        "/v1/{domain}/attachments/{attachment_id}": {"get": file()},
    })
}

fn operation(id: &str, summary: &str, description: &str) -> Operation {
    let description = format!("{description} Unknown query parameters are ignored.");
    Operation::guarded(id, "desk", summary, description.trim_start()).takes(["domain"])
}

fn apps() -> Value {
    let content = json_content(schema("Apps"), json!({"apps": [app_example()]}));
    operation("listApps", "List apps", "").answers(200, "All apps.", &[], &content).build()
}

fn app() -> Value {
    let content = json_content(schema("App"), app_example());
    operation("getApp", "Get an app", "The oldest app that has the publish id.")
        .takes(["publish_id"])
        .answers(200, "The app.", &[], &content)
        .fails(&[ErrorCode::NotFound])
        .build()
}

fn agents() -> Value {
    let agent = json!({
        "id": "acme_profile_20260101000000000-2e3e228632ec439",
        "name": "Grace Hopper",
        "email": "grace@example.org",
        "role": "agent",
        "team_name": "",
        "avatar": null,
        "availability": null,
        "groups": [],
    });
    let page = json!({
        "page": 1, "page-size": 100, "profiles": [agent], "total-profiles": 1, "total-pages": 1,
    });
    operation("listAgents", "List agents", "In the order in which they were made.")
        .takes(["page", "page-size", "emails", "roles"])
        .answers(200, "A page of agents.", &[], &json_content(schema("AgentEnvelope"), page))
        .fails(&[ErrorCode::ConflictingParameter, ErrorCode::InvalidValue, ErrorCode::OutOfRange])
        .build()
}

fn queues() -> Value {
    let page = json!({"queues": [{"id": "123", "name": "Queue A", "title": "Queue A"}]});
    let content = json_content(schema("Queues"), page);
    operation("listQueues", "List queues", "").answers(200, "All queues.", &[], &content).build()
}

fn file() -> Value {
    let content = json!({"*/*": {
        "schema": {"description": "The bytes. What a browser might run is sent as \
                                   `application/octet-stream`."},
        "example": "hello",
    }});
    operation("getAttachment", "Get an attachment", "The file, byte for byte.")
        .takes(["attachment_id", "If-None-Match", "Range", "If-Range"])
        .answers(200, "The file.", &["ETag", "Accept-Ranges", "Content-Disposition"], &content)
        .answers(
            206,
            "The range.",
            &["ETag", "Accept-Ranges", "Content-Range", "Content-Disposition"],
            &json!({"*/*": {}}),
        )
        .answers(304, "The caller has it already.", &["ETag"], &Value::Null)
        .fails(&[ErrorCode::NotFound, ErrorCode::RangeNotSatisfiable])
        .build()
}

pub(super) fn parameters() -> Value {
    let id = |name: &str, description: &str, example: &str| {
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": description,
            "schema": {"type": "string", "minLength": 1},
            "example": example,
        })
    };
    let words = |name: &str, description: &str, example: &str| {
        let mut parameter = query_words(name, description, &[example]);
        parameter["schema"]["items"] = json!({"type": "string"});
        parameter
    };
    json!({
        "publish_id": id("publish_id", "The publish id of an app.", "1"),
        "attachment_id": id(
            "attachment_id",
            "The id of an attachment, as its `url` ends.",
            "acme_attachment_20260101000000000-7e7211c0966b107",
        ),
        "emails": words("emails", "Agents with one of these addresses.", "grace@example.org"),
        "roles": words("roles", "Agents with one of these roles; all have `agent`.", "agent"),
    })
}

pub(super) fn schemas() -> Value {
    let text = || json!({"type": "string"});
    let list = |items: Value| json!({"type": "array", "items": items});
    let map = || json!({"type": "object", "additionalProperties": true});
    json!({
        "App": {
            "type": "object",
            "required": ["id", "title", "publish_id", "platform_ids", "platforms", "sections"],
            "properties": {
                "id": text(),
                "title": text(),
                "publish_id": text(),
                "platform_ids": list(text()),
                "platforms": list(map()),
                "logo": {"type": ["string", "null"]},
                "sections": list(map()),
                "created_at": instant(),
            },
        },
        "Apps": {
            "type": "object",
            "required": ["apps"],
            "properties": {"apps": list(schema("App"))},
        },
        "Agent": {
            "type": "object",
            "required": ["id", "name", "email", "role", "team_name"],
            "properties": {
                "id": text(),
                "name": text(),
                "email": text(),
                "role": text(),
                "team_name": text(),
                "avatar": {"type": ["string", "null"]},
                "availability": {"type": ["object", "null"], "additionalProperties": true},
                "groups": list(map()),
            },
        },
        "AgentEnvelope": {
            "type": "object",
            "required": ["page", "page-size", "profiles", "total-profiles", "total-pages"],
            "properties": {
                "page": {"type": "integer", "minimum": 1},
                "page-size": {"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX},
                "profiles": list(schema("Agent")),
                "total-profiles": {"type": "integer", "minimum": 0},
                "total-pages": {"type": "integer", "minimum": 1},
            },
        },
        "Queues": {
            "type": "object",
            "required": ["queues"],
            "properties": {"queues": list(schema("Queue"))},
        },
        "Queue": {
            "type": "object",
            "required": ["id", "name", "title"],
            "properties": {"id": text(), "name": text(), "title": text()},
        },
    })
}

fn app_example() -> Value {
    json!({
        "id": "acme_app_20260101000000000-1370923e4e06ab6",
        "title": "Web",
        "publish_id": "1",
        "platform_ids": [],
        "platforms": [],
        "logo": null,
        "sections": [],
        "created_at": 1_767_225_600_000_u64,
    })
}
