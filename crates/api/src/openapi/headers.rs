//! The headers of answers, each described once. Operations refer to them by name. A header that is
//! marked as required is part of every answer that names it.

use serde_json::{Map, Value, json};

use super::json::string;

/// The headers of every answer.
pub(crate) const ALWAYS: [&str; 1] = ["X-Request-Id"];
/// The headers of every answer on a guarded path.
pub(crate) const QUOTA: [&str; 5] = [
    "X-Rate-Limit-Limit",
    "X-Rate-Limit-Remaining",
    "X-Rate-Limit-Reset",
    "RateLimit-Policy",
    "RateLimit",
];

pub(crate) fn headers() -> Value {
    let count = || json!({"type": "integer", "minimum": 0});
    json!({
        "X-Request-Id": required(
            "The request id: the caller's own, if it has 1 to 128 visible ASCII characters, else \
             a new one. It is also in the log of the server.",
            json!({"type": "string", "minLength": 1, "maxLength": 128}),
            "5f0c2f1e-0d5c-4b7e-9d3a-6d1c1d3f7a10",
        ),
        "X-Rate-Limit-Limit": required(
            "The number of requests per window; 2147483647 without a limit.",
            count(),
            1500,
        ),
        "X-Rate-Limit-Remaining":
            required("The requests that remain in this window.", count(), 1499),
        "X-Rate-Limit-Reset": required(
            "The end of the window, in Unix milliseconds.",
            count(),
            1_767_225_660_000_u64,
        ),
        "RateLimit-Policy":
            required("Requests and seconds of a window.", string(), "\"key\";q=1500;w=60"),
        "RateLimit":
            required("Requests and seconds that remain in it.", string(), "\"key\";r=1499;t=60"),
        "Retry-After": header("How many seconds to wait before the next try.", count(), 1),
        "Retry-After-Always":
            required("How many seconds to wait before the next try.", count(), 10),
        "Link": header(
            "RFC 8288: `first`, `prev`, `next` and `last` with the caller's own parameters. No \
             target answers with an error.",
            string(),
            "<https://desk.example/v1/acme/issues?state=new&page=2>; rel=\"next\"",
        ),
        "Location": required(
            "The URL of the new record.",
            json!({"type": "string", "format": "uri-reference"}),
            "https://desk.example/v2/acme/identity/bulk_actions/019b7716-2a80-7c3e-9a51-0f3c8d1e4b22",
        ),
        "Idempotent-Replayed": header(
            "The answer is the stored one of an earlier request with the same `Idempotency-Key`.",
            json!({"type": "string", "enum": ["true"]}),
            "true",
        ),
        "ETag": required("The tag of this answer, for `If-None-Match`.", string(), "\"a1\""),
        "Tag": header("The tag of a page. A stream has none.", string(), "W/\"a1\""),
        "Accept-Ranges": header("The server accepts ranges of bytes.", string(), "bytes"),
        "Content-Range":
            required("The range of bytes, and the file size.", string(), "bytes 0-99/1234"),
        "Content-Disposition": header(
            "With `download=true`: the name of the file.",
            string(),
            "attachment; filename=\"create_core_profiles-019b7716-results.json.gz\"",
        ),
        "WWW-Authenticate":
            required("How to authenticate.", string(), "Basic realm=\"caseload\", Bearer"),
        "Allow": required("The methods of the path.", string(), "GET,HEAD"),
    })
}

fn header(description: &str, schema: Value, example: impl Into<Value>) -> Value {
    json!({"description": description, "schema": schema, "example": example.into()})
}

fn required(description: &str, schema: Value, example: impl Into<Value>) -> Value {
    let mut header = header(description, schema, example);
    header["required"] = true.into();
    header
}

/// References to headers, by their names in answers.
pub(crate) fn refer<'n>(names: impl IntoIterator<Item = &'n str>) -> Map<String, Value> {
    let refer = |name: &str| {
        let header = match name {
            "Tag" => "ETag",
            _ => name.strip_suffix("-Always").unwrap_or(name),
        };
        (header.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}))
    };
    names.into_iter().map(refer).collect()
}
