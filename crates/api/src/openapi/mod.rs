//! The description of the API, version 3.1 of the `OpenAPI` format: what `GET /openapi.json`
//! answers, `caseload openapi` prints and `openapi.json` at the root holds. It is written as plain
//! data, one module per resource, because most bodies have no Rust type to derive from: forms are
//! read as they arrive, and issues, profiles and records go out as stored bytes. Words, limits and
//! error codes come from the model's tables; tests hold paths, methods, parameters, fields and
//! examples to what the server does.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the macro that writes JSON takes references; calls that pass values read better"
)]

mod bulk;
mod bulk_paths;
mod desk;
mod filters;
mod forms;
mod headers;
mod info;
mod issue;
mod issues;
mod operation;
mod parameters;
mod problem;
mod profile;
mod records;
mod service;
mod writing;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::header;
use serde_json::{Map, Value, json};

/// The document.
pub fn openapi() -> Value {
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": info::info(),
        "servers": info::servers(),
        "tags": info::tags(),
        "security": [{"basic": []}, {"bearer": []}],
        "paths": merged([service::paths(), issues::paths(), desk::paths(), bulk_paths::paths()]),
        "components": {
            "securitySchemes": info::security_schemes(),
            "parameters": merged([
                parameters::common(),
                bulk::parameters(),
                issues::parameters(),
                desk::parameters(),
            ]),
            "headers": headers::headers(),
            "responses": problem::responses(),
            "examples": problem::examples(),
            "schemas": merged([
                problem::schemas(),
                bulk::schemas(),
                records::schemas(),
                profile::schemas(),
                issue::schemas(),
                forms::schemas(),
                writing::schemas(),
                desk::schemas(),
                service::schemas(),
            ]),
        },
    })
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

/// The members of all maps, in their order. No two maps have a key in common.
fn merged<const N: usize>(maps: [Value; N]) -> Value {
    let mut all = Map::new();
    for (key, value) in maps.into_iter().flat_map(into_members) {
        let shown = key.clone();
        assert!(all.insert(key, value).is_none(), "{shown} stands twice in the description");
    }
    Value::Object(all)
}

fn into_members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => unreachable!("a part of the description is no map: {other}"),
    }
}

fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
