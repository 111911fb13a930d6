//! What stands at the head of the description: the rules that hold everywhere, the tags, and how
//! callers say who they are. The long form of all of it is docs/api.md.

use serde_json::{Value, json};

const DESCRIPTION: &str = "\
Bulk actions import and export end-user profiles and import issues as asynchronous tasks; the \
issue API lists support issues with their messages.

Rules that hold everywhere:

- A trailing slash is the same path. HEAD works wherever GET does. A method that a path does not \
have is a 405 with `Allow` (`#/components/responses/MethodNotAllowed`).
- Query parameters and form fields are accepted with hyphens and with underscores; `x-spellings` \
names both. Both at once with different values: 400. Names of response members have one spelling.
- An unknown query parameter and an unknown form field is a 400 that names the nearest known one, \
except where an operation says that it takes no notice.
- Times are integer Unix milliseconds. Numbers keep their digits, however many.
- Every answer has `X-Request-Id`. Every answer on a `/v1` or `/v2` path has the \
rate-limit headers, unless the server runs without a limit.
- Answers from 4 KiB on are packed with zstd or gzip as `Accept-Encoding` prefers.
- Errors are `application/problem+json` with all faults of the request under `errors`.
";

pub(crate) fn info() -> Value {
    json!({
        "title": "Caseload",
        "summary": "Support-desk data: bulk actions on end-user profiles, and issues.",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    })
}

pub(crate) fn servers() -> Value {
    json!([{"url": "/", "description": "The server that this description comes from."}])
}

pub(crate) fn tags() -> Value {
    json!([
        {"name": "issues", "description": "Support issues with their messages."},
        {"name": "desk", "description": "Apps, agents, queues, attachments."},
        {"name": "profile tasks", "description": "Bulk action tasks on end-user profiles."},
        {"name": "issue tasks", "description": "Bulk action tasks that import issues."},
        {"name": "service", "description": "Health, figures, this description. No key needed."},
    ])
}

pub(crate) fn security_schemes() -> Value {
    json!({
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "The API key as user name, an empty password. The base64 of the key \
                            without a colon is accepted too.",
        },
        "bearer": {"type": "http", "scheme": "bearer", "description": "The API key."},
    })
}
