//! The description of the console: its page, its files and its session.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use super::session::SESSION_HOURS;
use crate::openapi::headers::QUOTA;
use crate::openapi::json::{object, schema, string, text};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::{instant, path_id};

const ERRORS: [ErrorCode; 3] = [ErrorCode::Internal, ErrorCode::Unavailable, ErrorCode::Damaged];

pub(crate) fn paths() -> Value {
    json!({
        "/console": {"get": page()},
        "/console/{version}/{file}": {"get": file()},
        "/console/session": {"post": begin(), "get": get(), "delete": end()},
    })
}

fn page() -> Value {
    let text = "The console for people: a client of this API for browsers.";
    Operation::open("getConsole", "console", "The console", text)
        .answers(200, "The page.", &[], &media("text/html", "<!doctype html>"))
        .answers(308, "The page is at `/console/`.", &[], &Value::Null)
        .build()
}

fn file() -> Value {
    let text = "The page has the addresses of its files. They never change.";
    Operation::open("getConsoleFile", "console", "A file of the console", text)
        .takes(["version", "file"])
        .answers(200, "The file.", &[], &media("text/javascript", "export {};"))
        .fails(&[ErrorCode::NotFound])
        .build()
}

fn media(kind: &str, example: &str) -> Value {
    json!({kind: {"schema": {"type": "string"}, "example": example}})
}

fn session() -> Value {
    json_content(
        schema("Session"),
        json!({
            "key_id": "key-5f0c91d2a7b4", "key_name": "console", "access": "admin",
            "domain": "acme", "expires_at": 1_767_254_400_000_u64, "version": "0.1.0",
            "features": [],
        }),
    )
}

fn begin() -> Value {
    let text = format!(
        "With a key, or with the code of a one-time link, which works once and for 60 seconds. The \
         answer sets a cookie of {SESSION_HOURS} hours that opens the API to pages of this server. \
         It ends with its key. A sign-in counts against the rate limit of the key. An address that \
         has made 10 wrong ones in 60 seconds is answered 429 until the end of these seconds."
    );
    let body = json!({"required": true, "content": {"application/json": {
        "schema": schema("SignIn"), "example": {"key": "caseload_0f1e2d3c"}}}});
    Operation::open("beginSession", "console", "Sign in", &text)
        .body(body)
        .answers(201, "The session.", &QUOTA, &session())
        .fails(&[ErrorCode::InvalidRequest, ErrorCode::Unauthorized])
        .fails(&[ErrorCode::RateLimited, ErrorCode::QuotaExceeded])
        .fails(&ERRORS)
        .build()
}

fn get() -> Value {
    Operation::open("getSession", "console", "Get the session", "By the cookie of the request.")
        .answers(200, "The session.", &[], &session())
        .fails(&[ErrorCode::Unauthorized])
        .fails(&ERRORS)
        .build()
}

fn end() -> Value {
    Operation::open("endSession", "console", "Sign out", "Ends the session of the cookie.")
        .answers(204, "The session has ended.", &[], &Value::Null)
        .fails(&[ErrorCode::CrossSite])
        .fails(&ERRORS)
        .build()
}

pub(crate) fn parameters() -> Value {
    json!({
        "version": path_id("version", "The hash in the addresses of the page.", "0f1e2d3c4b5a6978"),
        "file": path_id("file", "The name of a file.", "app.js"),
    })
}

pub(crate) fn schemas() -> Value {
    json!({
        "SignIn": {
            "type": "object",
            "description": "One of the two.",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false,
            "properties": {
                "key": text("An API key."),
                "code": text("The code of a one-time link."),
            },
        },
        "Session": object(
            &[
                "key_id", "key_name", "access", "domain", "expires_at", "version", "features",
            ],
            json!({
                "key_id": string(),
                "key_name": string(),
                "access": {"type": "string", "enum": ["read", "write", "admin"]},
                "domain": string(),
                "expires_at": instant(),
                "version": text("The version of the server."),
                "features": {"type": "array", "items": string(),
                    "description": "The abilities that a server of another version may lack."},
            }),
        ),
    })
}
