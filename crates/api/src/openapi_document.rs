//! The `OpenAPI` document, version 3.1: the body of `GET /openapi.json`, the output of the command
//! `caseload openapi`, and the file `openapi.json` of the repository. Each room describes its own
//! paths; this module lists the parts in their order. The parts are plain data, because most bodies
//! have no Rust type to derive from: the server reads forms as they arrive, and sends issues,
//! profiles and records as stored bytes. Invariant: paths, methods, parameters, fields and examples
//! are those of the server; tests compare them.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::header;
use serde_json::{Value, json};

use crate::admin;
use crate::agents;
use crate::apps;
use crate::attachments;
use crate::bulk_actions;
use crate::changes;
use crate::console;
use crate::erasures;
use crate::front_page;
use crate::health;
use crate::imports;
use crate::issues;
use crate::metrics;
use crate::openapi::json::{merged, schema};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::{headers, info, parameters, problem};
use crate::profiles;
use crate::queues;
use crate::redactions;
use crate::views;

/// The document.
pub fn openapi() -> Value {
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": info::info(),
        "servers": info::servers(),
        "tags": info::tags(),
        "security": [{"basic": []}, {"bearer": []}],
        "paths": all_paths(),
        "components": {
            "securitySchemes": info::security_schemes(),
            "parameters": merged([
                parameters::common(),
                bulk_actions::openapi::parameters(),
                imports::openapi::parameters(),
                profiles::openapi::parameters(),
                issues::openapi::parameters(),
                changes::history_openapi::parameters(),
                apps::openapi::parameters(),
                attachments::openapi::parameters(),
                agents::openapi::parameters(),
                admin::openapi::parameters(),
                admin::webhooks_openapi::parameters(),
                views::openapi::parameters(),
                changes::openapi::parameters(),
                redactions::openapi::parameters(),
                console::openapi::parameters(),
                front_page::openapi::parameters(),
            ]),
            "headers": headers::headers(),
            "responses": problem::responses(),
            "examples": problem::examples(),
            "schemas": merged([
                problem::schemas(),
                bulk_actions::openapi::schemas(),
                imports::openapi::schemas(),
                profiles::openapi::schemas(),
                issues::openapi::schemas(),
                changes::history_openapi::schemas(),
                apps::openapi::schemas(),
                agents::openapi::schemas(),
                queues::openapi::schemas(),
                changes::openapi::schemas(),
                erasures::openapi::schemas(),
                redactions::openapi::schemas(),
                admin::openapi::schemas(),
                admin::webhooks_openapi::schemas(),
                views::openapi::schemas(),
                console::openapi::schemas(),
                front_page::openapi::schemas(),
                health::openapi::schemas(),
                schemas(),
            ]),
        },
    })
}

fn all_paths() -> Value {
    merged([
        front_page::openapi::paths(),
        health::openapi::paths(),
        metrics::openapi::paths(),
        paths(),
        issues::openapi::paths(),
        changes::history_openapi::paths(),
        apps::openapi::paths(),
        agents::openapi::paths(),
        queues::openapi::paths(),
        changes::openapi::paths(),
        erasures::openapi::paths(),
        redactions::openapi::paths(),
        admin::openapi::paths(),
        admin::webhooks_openapi::paths(),
        views::openapi::paths(),
        console::openapi::paths(),
        attachments::openapi::paths(),
        profiles::openapi::paths(),
        bulk_actions::openapi::paths(),
        imports::openapi::paths(),
    ])
}

/// The document as it is committed: readable, with a newline at its end.
pub fn openapi_text() -> String {
    format!("{:#}\n", openapi())
}

/// `GET /openapi.json`
pub(crate) async fn get() -> Response {
    static BODY: LazyLock<Bytes> = LazyLock::new(|| openapi().to_string().into());
    ([(header::CONTENT_TYPE, "application/json")], BODY.clone()).into_response()
}

/// The document's own path.
fn paths() -> Value {
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
    json!({"/openapi.json": {"get": description.build()}})
}

fn schemas() -> Value {
    json!({
        "OpenApi": {
            "type": "object",
            "description": "An OpenAPI document.",
            "required": ["openapi"],
            "properties": {"openapi": {"const": "3.1.0"}},
            "additionalProperties": true,
        },
    })
}

#[cfg(test)]
#[path = "openapi_document_tests.rs"]
mod tests;
