//! The description of the administrative calls: keys and settings, and how the records of short
//! lists are made. Their lists are described with apps, agents and queues.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{
    array, closed, described, into_members, object, schema, string, text, words,
};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::{instant, path_id, spelled};

/// The errors of any form.
pub(crate) const FORM_ERRORS: [ErrorCode; 8] = [
    ErrorCode::InvalidRequest,
    ErrorCode::UnknownParameter,
    ErrorCode::ConflictingParameter,
    ErrorCode::InvalidValue,
    ErrorCode::MissingField,
    ErrorCode::OutOfRange,
    ErrorCode::TooLarge,
    ErrorCode::UnsupportedMediaType,
];

pub(crate) fn paths() -> Value {
    json!({
        "/v1/{domain}/keys": {"get": list_keys(), "post": create_key()},
        "/v1/{domain}/keys/{key_id}": {"delete": revoke_key()},
        "/v1/{domain}/settings": {"get": get_settings(), "put": edit_settings()},
    })
}

/// An operation that needs an admin key.
pub(super) fn admin(id: &str, summary: &str, description: &str) -> Operation {
    let description = format!("{description} Needs a key with the access `admin`.");
    Operation::guarded(id, "administration", summary, description.trim_start()).takes(["domain"])
}

/// A JSON body; a form with the same fields is accepted too.
pub(crate) fn json_body(name: &str, example: Value) -> Value {
    json!({"required": true, "content": json_content(schema(name), example)})
}

/// The operation that makes a record of a list.
pub(crate) fn creation(
    (id, summary): (&str, &str),
    (body, example): (&str, Value),
    (record, made): (&str, Value),
) -> Value {
    admin(id, summary, "")
        .body(json_body(body, example))
        .answers(201, "The new record.", &[], &json_content(schema(record), made))
        .fails(&FORM_ERRORS)
        .build()
}

fn key() -> Value {
    json!({
        "id": "key-5f0c91d2a7b4", "name": "warehouse", "access": "read", "state": "active",
        "created_at": 1_767_225_600_000_u64, "last_used_at": null, "expires_at": null,
        "revoked_at": null,
    })
}

fn list_keys() -> Value {
    admin("listKeys", "List the API keys", "Revoked and expired keys included, oldest first.")
        .answers(200, "All keys.", &[], &json_content(schema("KeyList"), json!({"keys": [key()]})))
        .build()
}

fn create_key() -> Value {
    let mut made = key();
    made["secret"] =
        "caseload_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0".into();
    let description = "`secret` is the key. It is in this answer only, because the server stores \
                       its hash.";
    let example = json!({"name": "warehouse", "access": "read"});
    admin("createKey", "Create an API key", description)
        .body(json_body("KeyForm", example))
        .answers(201, "The new key.", &[], &json_content(schema("NewKey"), made))
        .fails(&FORM_ERRORS)
        .build()
}

fn revoke_key() -> Value {
    let description = "It takes effect within 5 seconds on every server, and ends the sessions of \
                       the key.";
    admin("revokeKey", "Revoke an API key", description)
        .takes(["key_id"])
        .answers(204, "The key is revoked.", &[], &Value::Null)
        .fails(&[ErrorCode::NotFound, ErrorCode::CrossSite])
        .build()
}

fn settings() -> Value {
    json!({
        "domain": "acme", "created_at": 1_767_225_600_000_u64, "desk_name": "Desk",
        "desk_email": "desk@acme.invalid",
        "quotas": {"bytes": null, "tasks": 100, "requests_per_minute": null},
        "usage": {"bytes": 52_428_800, "tasks": 2},
    })
}

fn get_settings() -> Value {
    admin("getSettings", "Get the settings of the domain", "With its quotas and their usage.")
        .answers(200, "The settings.", &[], &json_content(schema("Settings"), settings()))
        .build()
}

fn edit_settings() -> Value {
    let description = "Fields that are not sent stay. The operator of the server sets the quotas.";
    let example = json!({"desk_name": "Shop support"});
    admin("editSettings", "Change the settings of the domain", description)
        .body(json_body("SettingsForm", example))
        .answers(200, "The settings.", &[], &json_content(schema("Settings"), settings()))
        .fails(&FORM_ERRORS)
        .build()
}

pub(crate) fn parameters() -> Value {
    let key_id = path_id("key_id", "The id of an API key.", "key-5f0c91d2a7b4");
    json!({"key_id": key_id})
}

fn access() -> Value {
    described(
        "`admin` includes `write`, `write` includes `read`.",
        words(&["read", "write", "admin"]),
    )
}

/// A key, with `more` members.
fn key_schema(more: &[&str]) -> Value {
    let time = || {
        let mut time = instant();
        time["type"] = json!(["integer", "null"]);
        time
    };
    let mut names = vec!["id", "name", "access", "state", "created_at"];
    names.extend(more);
    let mut properties = json!({
        "id": string(), "name": string(), "access": access(),
        "state": words(&["active", "expired", "revoked"]),
        "created_at": instant(), "last_used_at": time(), "expires_at": time(),
        "revoked_at": time(),
    });
    if !more.is_empty() {
        properties["secret"] = text("The key, shown only this once.");
    }
    object(&names, properties)
}

pub(crate) fn schemas() -> Value {
    let line = |description: &str| {
        json!({
            "type": "string", "minLength": 1, "maxLength": 255, "description": description,
        })
    };
    let form =
        |required: &[&str], fields: Value| closed(object(required, spelled(into_members(fields))));
    let count = || json!({"type": ["integer", "null"], "minimum": 0});
    let expires = "When the key ends: Unix milliseconds or ISO 8601; without it, it does not.";
    let author =
        "The author of messages and notes that no agent signs. After an empty text, `Desk`.";
    let address = "Without one, or after an empty text, `desk@{domain}.invalid`.";
    json!({
        "Key": key_schema(&[]),
        "NewKey": key_schema(&["secret"]),
        "KeyList": object(&["keys"], json!({"keys": array(schema("Key"))})),
        "KeyForm": form(&[], json!({
            "name": line("The name of the key in lists."), "access": access(),
            "expires_at": described(expires, instant()),
        })),
        "AppForm": form(&["title"], json!({"title": line("The title of the app.")})),
        "AgentForm": form(&["name", "email"], json!({
            "name": line("The name of the agent."), "email": line("The address of the agent."),
        })),
        "QueueForm": form(&["name"], json!({"name": line("The name of the queue.")})),
        "SettingsForm": form(&[], json!({
            "desk_name": {"type": "string", "maxLength": 255, "description": author},
            "desk_email": {"type": "string", "maxLength": 255, "description": address},
        })),
        "Settings": object(
            &["domain", "created_at", "desk_name", "desk_email", "quotas", "usage"],
            json!({
                "domain": string(), "created_at": instant(), "desk_name": string(),
                "desk_email": string(),
                "quotas": {"type": "object", "properties":
                    {"bytes": count(), "tasks": count(), "requests_per_minute": count()}},
                "usage": {"type": "object", "properties":
                    {"bytes": {"type": "integer"}, "tasks": {"type": "integer"}}},
            }),
        ),
    })
}
