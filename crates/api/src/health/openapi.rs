//! The description of the two health checks, which need no key.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{object, schema};
use crate::openapi::operation::{Operation, json_content};

pub(crate) fn paths() -> Value {
    let ok = json_content(schema("Health"), json!({"status": "ok"}));
    let health = |id, summary, description| {
        Operation::open(id, "service", summary, description).answers(200, "Yes.", &[], &ok)
    };
    let alive = health("getHealth", "Does the process run?", "Answers while the process runs.");
    let ready = health(
        "getReadiness",
        "Does the store answer?",
        "Answers 200 if the store can be read and written, and the server has found no damage in \
         it since its start.",
    );
    json!({
        "/healthz": {"get": alive.build()},
        "/readyz": {"get": ready.fails(&[ErrorCode::Unavailable, ErrorCode::Damaged]).build()},
    })
}

pub(crate) fn schemas() -> Value {
    json!({
        "Health": object(&["status"], json!({"status": {"const": "ok"}})),
    })
}
