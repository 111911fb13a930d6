//! The description of apps: the list, the single app, and the app itself.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::admin::openapi::creation;
use crate::openapi::json::{array, map, object, schema, string};
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
        .takes(["list-format", "bom", "spreadsheet"])
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
    json!({
        "App": object(
            &["id", "title", "publish_id", "platform_ids", "platforms", "sections"],
            json!({
                "id": string(),
                "title": string(),
                "publish_id": string(),
                "platform_ids": array(string()),
                "platforms": array(map()),
                "logo": {"type": ["string", "null"]},
                "sections": array(map()),
                "created_at": instant(),
            }),
        ),
        "AppList": object(&["apps"], json!({"apps": array(schema("App"))})),
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
