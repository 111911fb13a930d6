//! The description of the front page and of the pages of the documentation.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{object, schema, string};
use crate::openapi::operation::Operation;
use crate::openapi::parameters::path_id;

pub(crate) fn paths() -> Value {
    let page = Operation::open(
        "getFrontPage",
        "service",
        "What runs here",
        "The product, its version, and links to its description and documentation: a page of HTML \
         for browsers, JSON for everyone else.",
    );
    let content = json!({
        "application/json": {"schema": schema("FrontPage"), "example": example()},
        "text/html": {"schema": {"type": "string"}},
    });
    let docs = Operation::open(
        "getDocs",
        "service",
        "A page of the documentation",
        "As it was when the program was built.",
    );
    let markdown = json!({"text/markdown": {
        "schema": {"type": "string"},
        "example": "# The API of Caseload\n",
    }});
    json!({
        "/": {"get": page.answers(200, "The page.", &[], &content).build()},
        "/docs/{page}": {"get": docs
            .takes(["docs_page"])
            .answers(200, "The page.", &[], &markdown)
            .fails(&[ErrorCode::NotFound])
            .build()},
    })
}

pub(crate) fn parameters() -> Value {
    let mut page = path_id("page", "The name of a page.", "api.md");
    page["schema"] = json!({"type": "string", "enum": super::PAGES.map(|(name, _)| name)});
    json!({"docs_page": page})
}

pub(crate) fn schemas() -> Value {
    let url = json!({"type": "string", "format": "uri-reference"});
    json!({
        "FrontPage": object(&["name", "version", "description", "links"], json!({
            "name": {"const": "Caseload"},
            "version": string(),
            "description": string(),
            "links": {
                "type": "object",
                "required": ["openapi", "docs"],
                "additionalProperties": url,
            },
        })),
    })
}

fn example() -> Value {
    json!({
        "name": "Caseload",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "A server for support-desk data.",
        "links": {
            "openapi": "https://desk.example/openapi.json",
            "docs": "https://desk.example/docs/api.md",
        },
    })
}
