//! Errors in the description: their schema, and a response for each status of an operation with the
//! codes that it can have. Codes, statuses and titles are those of the model's table.

use std::collections::BTreeMap;

use caseload_model::error_code::ErrorCode;
use serde_json::{Map, Value, json};

use super::headers::{self, ALWAYS, QUOTA};
use super::json::{described, integer, names, record, schema, string, text, words};

pub(crate) fn schemas() -> Value {
    let task = |about| described(about, json!({"type": "string", "format": "uuid"}));
    json!({
        "Problem": record(
            "An error (RFC 9457). With several faults, `code` is that of the first.",
            &["type", "title", "status", "detail", "code", "request_id"],
            json!({
                "type": {"type": "string", "format": "uri-reference"},
                "title": text("The same for each code."),
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "detail": text("The cause, and how to correct it."),
                "code": schema("ErrorCode"),
                "request_id": string(),
                "errors": {
                    "type": "array",
                    "description": "All faults of the request.",
                    "minItems": 1,
                    "items": schema("Fault"),
                },
                "retried_by": task("Only with `already_retried`: the id of the task that retries \
                                    this one."),
                "run_by": task("Only with `already_run`: the id of the task that runs the payload \
                                of this dry run."),
            }),
        ),
        "Fault": record("One fault of a request.", &["parameter", "code", "detail"], json!({
            "parameter": text("The query parameter, form field or part of the path; `#3` \
                               is the third column of a file."),
            "line": integer(1, "The line of the payload, from 1."),
            "code": schema("ErrorCode"),
            "detail": string(),
        })),
        "ErrorCode": words(&names(ErrorCode::ALL, ErrorCode::as_str)),
    })
}

/// A response for each code. An operation refers to it if only one code has its status.
pub(crate) fn responses() -> Value {
    let name = |code: &ErrorCode| (component(*code), response(&[*code], true));
    Value::Object(ErrorCode::ALL.iter().map(name).collect())
}

/// The responses of an operation that may fail with `codes`.
pub(crate) fn by_status(codes: &[ErrorCode], guarded: bool) -> BTreeMap<u16, Value> {
    let mut sorted: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in codes {
        let same = sorted.entry(code.status()).or_default();
        if !same.contains(code) {
            same.push(*code);
        }
    }
    let response = |(status, codes): (u16, Vec<ErrorCode>)| match codes[..] {
        [code] if guarded => {
            let refer = format!("#/components/responses/{}", component(code));
            (status, json!({"$ref": refer}))
        }
        _ => (status, response(&codes, guarded)),
    };
    sorted.into_iter().map(response).collect()
}

/// `not_found` is the component `NotFound`.
fn component(code: ErrorCode) -> String {
    let words = code.as_str().split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// A response of codes that have one status. `x-error-codes` lists them, because generators drop an
/// answer whose schema narrows another one.
fn response(codes: &[ErrorCode], guarded: bool) -> Value {
    let status = codes[0].status();
    let titles: Vec<_> =
        codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
    let examples: Map<_, _> =
        codes.iter().map(|code| (code.as_str().to_owned(), refer(*code))).collect();
    let quota = if guarded { &QUOTA[..] } else { &[] };
    let own = match codes {
        [ErrorCode::NotCompleted | ErrorCode::IdempotencyInProgress | ErrorCode::Unavailable] => {
            &["Retry-After-Always"]
        }
        _ => own_headers(status),
    };
    json!({
        "description": format!("{}.", titles.join("; ")),
        "headers": headers::refer(own.iter().chain(&ALWAYS).chain(quota).copied()),
        "content": {"application/problem+json": {
            "schema": schema("Problem"),
            "x-error-codes": names(codes, ErrorCode::as_str),
            "examples": examples,
        }},
    })
}

/// The headers of errors with this status.
const fn own_headers(status: u16) -> &'static [&'static str] {
    match status {
        401 => &["WWW-Authenticate"],
        405 => &["Allow"],
        409 | 503 => &["Retry-After"],
        416 => &["Content-Range"],
        429 => &["Retry-After-Always"],
        _ => &[],
    }
}

/// An example of each code.
pub(crate) fn examples() -> Value {
    let named = |code: &ErrorCode| {
        (code.as_str().to_owned(), json!({"summary": code.title(), "value": example(*code)}))
    };
    Value::Object(ErrorCode::ALL.iter().map(named).collect())
}

fn refer(code: ErrorCode) -> Value {
    json!({"$ref": format!("#/components/examples/{}", code.as_str())})
}

fn example(code: ErrorCode) -> Value {
    let (parameter, detail) = sample(code);
    let mut problem = json!({
        "type": format!("/problems/{}", code.as_str()),
        "title": code.title(),
        "status": code.status(),
        "detail": detail,
        "code": code.as_str(),
        "request_id": "5f0c2f1e-0d5c-4b7e-9d3a-6d1c1d3f7a10",
    });
    if code == ErrorCode::AlreadyRetried {
        problem["retried_by"] = "019b7716-2a80-7c3e-9a51-0f3c8d1e4b23".into();
    }
    if code == ErrorCode::AlreadyRun {
        problem["run_by"] = "019b7716-2a80-7c3e-9a51-0f3c8d1e4b23".into();
    }
    if let Some(parameter) = parameter {
        let fault = json!({"parameter": parameter, "code": code.as_str(), "detail": detail});
        problem["errors"] = json!([fault]);
    }
    problem
}

/// A sample of an error with this code: the parameter, if there is one, and the detail.
fn sample(code: ErrorCode) -> (Option<&'static str>, &'static str) {
    match code {
        ErrorCode::InvalidRequest => (None, "the body ended before it was complete; send it again"),
        ErrorCode::UnknownParameter => (
            Some("creatd-since"),
            "there is no query parameter \"creatd-since\"; did you mean created-since?",
        ),
        ErrorCode::ConflictingParameter => (
            Some("created_since"),
            "created-since and created_since are two spellings of one parameter and have different \
             values; send one of them",
        ),
        ErrorCode::InvalidValue => (Some("sort-order"), "\"up\" is not one of asc, desc"),
        ErrorCode::OutOfRange => {
            (Some("page-size"), "1001 is out of range: a page has 1 to 1000 issues, by default 100")
        }
        ErrorCode::PageTooDeep => (
            Some("page"),
            "page 501 with page-size 100 goes beyond 50000 issues, the deepest a numbered page may \
             reach. To read further, walk by time",
        ),
        ErrorCode::MissingField => (
            Some("payload"),
            "the field payload is missing; send a JSON array with one map per entry",
        ),
        ErrorCode::UnknownAction => {
            (Some("action"), "there is no action \"import\"; this path accepts import_issues")
        }
        ErrorCode::InvalidPayload => (Some("payload"), "the payload is not a JSON array of maps"),
        ErrorCode::EmptyPayload => (Some("payload"), "the payload has no entries; send 1 to 10000"),
        ErrorCode::TooManyEntries => (
            Some("payload"),
            "the payload has more than 10000 entries; send them in several requests",
        ),
        ErrorCode::RoundedIds => (
            Some("file"),
            "all 6 ids in column \"uid\" have 15 digits or more and end in 0, as they do after a \
             spreadsheet has rounded them; export the file again, and keep the ids as text",
        ),
        ErrorCode::TooMany => {
            (Some("tags"), "1001 tags are too many: an issue may have at most 1000")
        }
        ErrorCode::Unauthorized => {
            (None, "the API key is not known, has expired or was revoked; use one that works")
        }
        ErrorCode::Forbidden => {
            (None, "the API key does not open this domain; use a key of the domain in the path")
        }
        ErrorCode::NotFound => (None, "the domain has no issue with that id"),
        ErrorCode::CrossSite => (
            None,
            "a browser sent this request for a page of another site, which may not write; send it \
             from a page of the server itself, or from a program",
        ),
        ErrorCode::TooSlow => (
            None,
            "the body arrived too slowly; send at least 1 KiB a second, and a form within 30 \
             minutes",
        ),
        ErrorCode::UnknownCoding => (
            None,
            "the server does not know the transfer coding \"gzip\"; send the body with a \
             Content-Length or in chunks, and a compressed one with Content-Encoding",
        ),
        other => (None, sample_of_state(other)),
    }
}

/// A sample detail of an error that is not about a parameter.
const fn sample_of_state(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Expired => {
            "the results and errors of this task have expired, at the time in its expires_at"
        }
        ErrorCode::CursorExpired => {
            "changes after this cursor were dropped, up to position 4711, because the server \
             stores changes for a limited time; take a new cursor with cursor=latest, then read \
             all records again and drop those that are gone, then follow the log from that cursor"
        }
        ErrorCode::MethodNotAllowed => {
            "this path does not accept DELETE; the header Allow lists the methods that it accepts"
        }
        ErrorCode::NotCompleted => {
            "the task is processing (40 %); ask again until its status is completed"
        }
        ErrorCode::AlreadyCompleted => "the task is already completed and cannot be cancelled",
        ErrorCode::AlreadyRun => {
            "the task 019b7716-2a80-7c3e-9a51-0f3c8d1e4b23 runs the payload of this dry run; look \
             at that task"
        }
        ErrorCode::NotADryRun => "the task is not a dry run: its entries have taken effect already",
        ErrorCode::AlreadyRetried => {
            "the task 019b7716-2a80-7c3e-9a51-0f3c8d1e4b23 runs the failed and unprocessed entries \
             of this one again; retry that task if entries of it fail"
        }
        ErrorCode::LimitReached => "the key has 50 views, as many as it may have; delete one first",
        ErrorCode::NameTaken => "a view of this list has the name; send another one",
        ErrorCode::NothingToRetry => "every entry of the task succeeded; there is nothing to retry",
        ErrorCode::IdempotencyInProgress => {
            "the first request with this idempotency key is still being answered; send it again"
        }
        ErrorCode::TooLarge => {
            "the body has more than 134217728 bytes, compressed or decompressed; send the entries \
             in several requests"
        }
        ErrorCode::UnsupportedMediaType => {
            "\"text/plain\" is not supported here; send application/x-www-form-urlencoded or \
             multipart/form-data"
        }
        ErrorCode::RangeNotSatisfiable => {
            "the file has 1234 bytes, and the range is beyond its end"
        }
        ErrorCode::IdempotencyKeyReused => {
            "this idempotency key belongs to another request of this domain; send a new key with a \
             new request"
        }
        ErrorCode::RateLimited => {
            "the API key may make 1500 requests in 60 s and has made them; retry after 2026-01-01 \
             00:01:00 UTC"
        }
        ErrorCode::QueueFull => {
            "the domain has 1000 unfinished tasks and may have 1000; wait for some to complete, \
             then try again"
        }
        ErrorCode::QueryTooExpensive => {
            "the list could not be read within its deadline: the filters are messages; narrow it, \
             for example by created_since and created_until"
        }
        ErrorCode::Unavailable => "the store cannot answer now; try again",
        other => sample_of_data(other),
    }
}

/// A sample detail of an error about the stored data, or about the server itself.
const fn sample_of_data(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::QuotaExceeded => {
            "the domain has reached its quota: it would store 1073741901 bytes and may store \
             1073741824, and expired results make room by themselves; this request changed \
             nothing. The operator can raise the quota"
        }
        ErrorCode::Damaged => {
            "stored data that this answer needs is damaged, and the server does not serve it; send \
             the operator this request_id: caseload check names the damage, and a backup has the \
             data"
        }
        _ => {
            "the server had an internal error; its log has the cause under this request_id. Try \
             again, and report it to the operator if it persists"
        }
    }
}
