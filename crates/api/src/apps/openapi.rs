//! The description of apps: the list, the single app, and the app itself.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::admin::openapi::creation;
use crate::openapi::json::schema;
use crate::openapi::operation::{Operation, add_lines, add_table, json_content};
use crate::openapi::parameters::{instant, path_id};

pub(crate) fn paths() -> Value {
    json!({
        "/v1/{domain}/apps": {"get": list(), "post": create()},
        "/v1/{domain}/apps/{publish_id}": {"get": single()},
    })
}

fn list() -> Value {
    let mut content = json_content(schema("AppList"), json!({"apps": [example()]}));
    add_lines(&mut content, "One app per line.", &format!("{}\n", example()));
    let table = "id,title,publish_id,created_at\r\na1,Web,1,1767225600000\r\n";
    add_table(&mut content, "One app per row.", table);
    Operation::desk("listApps", "List apps", "")
        .takes(["list-format"])
        .answers(200, "All apps.", &[], &content)
        .fails(&[ErrorCode::InvalidValue])
        .build()
}

fn create() -> Value {
    let body = ("AppForm", json!({"title": "Web shop"}));
    creation(("createApp", "Create an app"), body, ("App", example()))
}

fn single() -> Value {
    let content = json_content(schema("App"), example());
    Operation::desk("getApp", "Get an app", "The oldest app with the publish id.")
        .takes(["publish_id"])
        .answers(200, "The app.", &[], &content)
        .fails(&[ErrorCode::NotFound])
        .build()
}

pub(crate) fn parameters() -> Value {
    json!({"publish_id": path_id("publish_id", "The publish id of an app.", "1")})
}

pub(crate) fn schemas() -> Value {
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
        "AppList": {
            "type": "object",
            "required": ["apps"],
            "properties": {"apps": list(schema("App"))},
        },
    })
}

fn example() -> Value {
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
