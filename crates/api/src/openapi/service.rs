//! The paths that need no key: health, figures, and this description.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use super::operation::{Operation, json_content};
use super::schema;

pub(super) fn paths() -> Value {
    let ok = json_content(schema("Health"), json!({"status": "ok"}));
    let health = |id, summary, description| {
        Operation::open(id, "service", summary, description).answers(200, "It does.", &[], &ok)
    };
    let alive = health("getHealth", "Does the process run?", "Answers while the process runs.");
    let ready = health(
        "getReadiness",
        "Does the store answer?",
        "Answers 200 when the store answers to a reader and through its writer.",
    );
    let figures = Operation::open(
        "getMetrics",
        "service",
        "Figures for operators",
        "The text format 0.0.4 of Prometheus. No name of a domain, id of a record or key stands in \
         it. The figures are listed in docs/api.md, \"Health and metrics\".",
    );
    let figures = figures.answers(
        200,
        "The figures.",
        &[],
        &json!({"text/plain": {
            "schema": {"type": "string"},
            "example": "# TYPE caseload_store_up gauge\ncaseload_store_up 1\n",
        }}),
    );
    let description = Operation::open(
        "getOpenApi",
        "service",
        "This description",
        "What `caseload openapi` prints, without line breaks.",
    );
    let description = description.answers(
        200,
        "The description.",
        &[],
        &json_content(schema("OpenApi"), json!({"openapi": "3.1.0"})),
    );
    json!({
        "/healthz": {"get": alive.build()},
        "/readyz": {"get": ready.fails(&[ErrorCode::Unavailable]).build()},
        "/metrics": {"get": figures.build()},
        "/openapi.json": {"get": description.build()},
    })
}

pub(super) fn schemas() -> Value {
    json!({
        "Health": {
            "type": "object",
            "required": ["status"],
            "properties": {"status": {"const": "ok"}},
        },
        "OpenApi": {
            "type": "object",
            "description": "An OpenAPI document.",
            "required": ["openapi"],
            "properties": {"openapi": {"const": "3.1.0"}},
            "additionalProperties": true,
        },
    })
}
