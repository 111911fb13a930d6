//! The head of the document: the rules that apply everywhere, the tags, and authentication. The
//! long form is docs/api.md.

use serde_json::{Value, json};

const DESCRIPTION: &str = "\
Bulk actions import and export end-user profiles and import issues as asynchronous tasks; the \
issue API lists support issues with their messages.

Rules that apply everywhere:

- A trailing slash does not change a path. HEAD works wherever GET does. A method that a path does \
not have is a 405 with `Allow` (`#/components/responses/MethodNotAllowed`).
- Query parameters and form fields are accepted with hyphens and with underscores; `x-spellings` \
names both. Both at once with different values are a 400. Names of response members have one \
spelling.
- An unknown query parameter or form field is a 400 that names a known one if one is near, unless \
the operation says that it ignores them.
- Times are integer Unix milliseconds. Numbers are stored with all of their digits.
- Every answer has `X-Request-Id`. Every answer on a `/v1` or `/v2` path has the \
rate-limit headers; without a limit they report 2147483647 requests.
- Answers of 4 KiB or more are compressed with zstd or gzip, as `Accept-Encoding` prefers.
- Errors are `application/problem+json` with all faults of the request in `errors`.
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
    json!([{"url": "/", "description": "The server that sent this description."}])
}

pub(crate) fn tags() -> Value {
    json!([
        {"name": "issues", "description": "Support issues with their messages."},
        {"name": "desk", "description": "Apps, agents, queues, attachments."},
        {"name": "profiles", "description": "Core and app profiles."},
        {"name": "profile tasks", "description": "Bulk action tasks on end-user profiles."},
        {"name": "issue tasks", "description": "Bulk action tasks that import issues."},
        {"name": "imports", "description": "Files of any size as tasks."},
        {"name": "changes", "description": "The log of all changes."},
        {"name": "administration", "description": "Keys and settings of a domain."},
        {"name": "console", "description": "The console for browsers, and its session."},
        {"name": "service", "description": "Health, metrics and this description, without a key."},
    ])
}

pub(crate) fn security_schemes() -> Value {
    json!({
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "The API key as user name; the password is ignored. The base64 of \
                            the key without a colon is accepted too.",
        },
        "bearer": {"type": "http", "scheme": "bearer", "description": "The API key."},
    })
}
