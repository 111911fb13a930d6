//! Tests of the description without a server: it is complete by the tables that the server reads,
//! and consistent in itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::change::{AUDIT_PARAMETERS, CHANGE_PARAMETERS, HISTORY_PARAMETERS};
use caseload_model::erasure::{ERASURE_FIELDS, REDACTION_FIELDS};
use caseload_model::error_code::{EntryErrorCode, ErrorCode};
use caseload_model::issue::ISSUE_FIELDS;
use caseload_model::issue::write::{
    BULK_EDIT_FIELDS, CREATE_FIELDS, EDIT_FIELDS, MESSAGE_FIELDS, NOTE_FIELDS,
};
use caseload_model::named_view::{VIEW_EDIT_FIELDS, VIEW_FIELDS};
use caseload_model::profile::{app_field_names, core_field_names};
use caseload_model::tags::{ADD_TAGS, REMOVE_TAGS};
use caseload_model::webhook::WEBHOOK_FIELDS;
use caseload_model::{issue_query, profile_query, task_query};
use serde_json::Value;

use super::openapi;
use crate::admin::{AGENT_FIELDS, APP_FIELDS, KEY_FIELDS, QUEUE_FIELDS, SETTINGS_FIELDS};
use crate::agents::PARAMETERS as AGENT_PARAMETERS;
use crate::bulk_actions::{STATUS_PARAMETERS, TASK_FIELDS};
use crate::imports::IMPORT_FIELDS;
use crate::issues::FILE_FIELDS;
use crate::openapi::parameters;
use crate::router::route_paths;

#[path = "openapi_generators_tests.rs"]
mod generators;

/// Every operation with its path and method.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

/// The target of a reference; any other value is itself.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(target) => document.pointer(&target[1..]).expect(target),
        None => value,
    }
}

/// The names of an operation's parameters in `location`.
fn names<'d>(document: &'d Value, operation: &'d Value, location: &str) -> BTreeSet<&'d str> {
    let all = operation["parameters"].as_array().unwrap().iter();
    all.map(|parameter| resolve(document, parameter))
        .filter(|parameter| parameter["in"] == location)
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect()
}

fn visit<'d>(value: &'d Value, see: &mut impl FnMut(&'d Value)) {
    see(value);
    match value {
        Value::Object(members) => members.values().for_each(|value| visit(value, see)),
        Value::Array(items) => items.iter().for_each(|value| visit(value, see)),
        _ => {}
    }
}

#[test]
fn every_route_is_described_and_every_described_path_is_a_route() {
    let document = openapi();
    let described: BTreeSet<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(described, route_paths().into_iter().collect());
}

#[test]
fn the_query_parameters_are_those_that_the_server_reads() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        let read: &[&str] = match (method, path.rsplit('/').next().unwrap()) {
            ("get", "issues") => &issue_query::LIST_PARAMETERS,
            ("get", "counts") => &issue_query::COUNT_PARAMETERS,
            ("get", "durations") => &issue_query::DURATION_PARAMETERS,
            ("get", "{issue_id}") => &issue_query::SINGLE_PARAMETERS,
            ("get", "bulk_actions") => &task_query::LIST_PARAMETERS,
            ("get", "imports") => &task_query::IMPORT_LIST_PARAMETERS,
            ("get", "{task_id}" | "{import_id}") => &STATUS_PARAMETERS,
            ("get", "rejects") => &task_query::REJECT_PARAMETERS,
            ("get", "results") => &issue_query::RESULT_PARAMETERS,
            ("get", "errors") => &issue_query::ERROR_LIST_PARAMETERS,
            ("get", "payload") => &task_query::PAYLOAD_PARAMETERS,
            ("get", "core_profiles") => &profile_query::CORE_PROFILE_PARAMETERS,
            ("get", "app_profiles") => &profile_query::APP_PROFILE_PARAMETERS,
            ("get", "{core_profile_id}" | "{pid}") => &profile_query::SINGLE_PROFILE_PARAMETERS,
            ("get", "changes") if path == "/v1/{domain}/changes" => &CHANGE_PARAMETERS,
            ("get", "changes") => &HISTORY_PARAMETERS,
            ("get", "_audit_logs") => &AUDIT_PARAMETERS,
            ("post", "replay") => &["cursor"],
            ("get", "agents") => &AGENT_PARAMETERS,
            ("get", "apps" | "queues") => &["format", "bom", "spreadsheet"],
            ("get", "messages" | "private-notes") => &issue_query::MESSAGE_LIST_PARAMETERS,
            _ => &[],
        };
        let hyphens = |name: &str| name.replace('_', "-");
        let described: BTreeSet<_> =
            names(&document, operation, "query").into_iter().map(hyphens).collect();
        let read: BTreeSet<_> = read.iter().map(|name| hyphens(name)).collect();
        assert_eq!(described, read, "{method} {path}");
    }
}

#[test]
fn the_form_fields_are_those_that_the_server_reads() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        let read: &[&str] = match (method, path.rsplit('/').next().unwrap()) {
            // Only imports take the last one.
            ("post", "bulk_actions") if path.contains("/identity/") => &TASK_FIELDS[..3],
            ("post", "bulk_actions") => &TASK_FIELDS,
            ("post", "imports" | "preview") if path.contains("/identity/") => &IMPORT_FIELDS[..13],
            ("post", "imports" | "preview") => &IMPORT_FIELDS,
            ("post", "issues") => CREATE_FIELDS,
            ("post", "messages") => MESSAGE_FIELDS,
            ("post", "private-notes") => NOTE_FIELDS,
            ("put", "{issue_id}") => EDIT_FIELDS,
            ("put", "issues") => BULK_EDIT_FIELDS,
            ("post", "keys") => &KEY_FIELDS,
            ("post", "apps") => &APP_FIELDS,
            ("post", "agents") => &AGENT_FIELDS,
            ("post", "queues") => &QUEUE_FIELDS,
            ("post", "webhooks") | ("put", "{webhook_id}") => &WEBHOOK_FIELDS,
            ("post", "views") => &VIEW_FIELDS,
            ("put", "{view_id}") => &VIEW_EDIT_FIELDS,
            ("post", "erasures") => ERASURE_FIELDS,
            ("post", "redactions") => REDACTION_FIELDS,
            ("put", "settings") => &SETTINGS_FIELDS,
            ("post", "session") => &["key", "code"],
            _ => &[],
        };
        let files: &[&str] = match (method, path.rsplit('/').next().unwrap()) {
            ("post", "issues" | "messages") => &FILE_FIELDS,
            _ => &[],
        };
        let content = operation["requestBody"]["content"].as_object();
        for (kind, media) in content.into_iter().flatten() {
            let form = resolve(&document, &media["schema"]);
            let described = form["properties"].as_object().into_iter().flat_map(|p| p.keys());
            let described: BTreeSet<_> = described.map(String::as_str).collect();
            let files = if kind == "multipart/form-data" { files } else { &[] };
            let read = read.iter().chain(files).copied().collect();
            assert_eq!(described, read, "{method} {path}, {kind}");
        }
    }
}

#[test]
fn path_parameters_are_those_of_the_template() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        let template = path.split(['{', '}']).skip(1).step_by(2).collect();
        assert_eq!(names(&document, operation, "path"), template, "{method} {path}");
    }
}

#[test]
fn parameters_and_fields_with_two_spellings_name_both() {
    let document = openapi();
    let check = |name: &str, described: &Value| {
        let both = described.get("x-spellings").map(|both| both.as_array().unwrap().clone());
        let expected = parameters::spellings(name);
        let expected = expected.map(|both| both.map(Value::from).to_vec());
        assert_eq!(both, expected, "{name}");
    };
    for (_, _, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().unwrap() {
            let parameter = resolve(&document, parameter);
            if parameter["in"] == "query" {
                check(parameter["name"].as_str().unwrap(), parameter);
            }
        }
        let content = operation["requestBody"]["content"].as_object();
        for media in content.into_iter().flat_map(|content| content.values()) {
            let form = resolve(&document, &media["schema"]);
            for (name, field) in form["properties"].as_object().into_iter().flatten() {
                check(name, field);
            }
        }
    }
}

/// Codes of answers that belong to no operation.
const WITHOUT_OPERATION: [ErrorCode; 1] = [ErrorCode::MethodNotAllowed];

/// The error codes that a response may have.
fn error_codes(response: &Value) -> Vec<&str> {
    let codes = response["content"]["application/problem+json"]["x-error-codes"].as_array();
    codes.into_iter().flatten().map(|code| code.as_str().unwrap()).collect()
}

#[test]
fn every_error_code_is_an_answer_of_some_operation_under_its_status() {
    let document = openapi();
    let mut found = BTreeMap::new();
    for (_, _, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            for code in error_codes(resolve(&document, response)) {
                found.insert(code, status.parse().unwrap());
            }
        }
    }
    let codes = ErrorCode::ALL.iter().filter(|code| !WITHOUT_OPERATION.contains(code));
    assert_eq!(found, codes.map(|code| (code.as_str(), code.status())).collect());
    for code in &WITHOUT_OPERATION {
        let mut responses = document["components"]["responses"].as_object().unwrap().values();
        assert!(responses.any(|response| error_codes(response) == [code.as_str()]), "{code:?}");
    }
    let entry = document["components"]["schemas"]["EntryErrorCode"]["enum"].as_array().unwrap();
    let codes: Vec<_> = EntryErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(*entry, codes);
}

#[test]
fn the_fields_of_profiles_and_issues_are_those_of_the_model() {
    let document = openapi();
    let properties = |name: &str| -> BTreeSet<String> {
        let schema = &document["components"]["schemas"][name]["properties"];
        schema.as_object().unwrap().keys().cloned().collect()
    };
    let with = |fields: Vec<&'static str>, others: &[&str]| -> BTreeSet<String> {
        fields.into_iter().chain(others.iter().copied()).map(str::to_owned).collect()
    };
    let core: Vec<_> = core_field_names().collect();
    let app: Vec<_> = app_field_names().collect();
    assert_eq!(properties("CreateCoreProfile"), with(core.clone(), &[]));
    let mut core = with(core, &["core-profile-id", "created_at", "updated_at"]);
    let mut shown = core.clone();
    shown.insert("app_profile_pids".to_owned());
    assert_eq!(properties("CoreProfile"), shown);
    core.extend([ADD_TAGS, REMOVE_TAGS].map(str::to_owned));
    assert_eq!(properties("UpdateCoreProfile"), core);
    assert_eq!(properties("UpsertCoreProfile"), core);
    let app = with(app, &["pid", "app_id", "name", "emails", "created_at", "updated_at"]);
    assert_eq!(properties("UpdateAppProfile"), app);
    let mut shown = app;
    shown.insert("core-profile-id".to_owned());
    assert_eq!(properties("AppProfile"), shown);
    let mut issue = with(ISSUE_FIELDS.to_vec(), &[]);
    assert_eq!(properties("IssueEntry"), issue);
    issue.remove("assignee_email");
    assert_eq!(properties("Issue"), issue);
}

#[test]
fn references_have_targets_and_components_are_used() {
    let document = openapi();
    let mut targets = BTreeSet::new();
    visit(&document, &mut |value| targets.extend(value["$ref"].as_str()));
    for target in &targets {
        assert!(document.pointer(&target[1..]).is_some(), "{target}");
    }
    for kind in ["parameters", "headers", "schemas"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(targets.contains(reference.as_str()), "nothing refers to {reference}");
        }
    }
}

#[test]
fn every_operation_explains_itself_and_shows_an_answer() {
    let document = openapi();
    let mut ids = BTreeSet::new();
    let tags: Vec<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    for (path, method, operation) in operations(&document) {
        let shown = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{shown}");
        assert!(tags.contains(&operation["tags"][0]), "{shown}");
        for text in ["summary", "description"] {
            assert!(!operation[text].as_str().unwrap().is_empty(), "{shown}");
        }
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{shown}");
        for (status, response) in responses {
            let response = resolve(&document, response);
            assert!(response["headers"].get("X-Request-Id").is_some(), "{shown}: {status}");
            let content = response.get("content").and_then(Value::as_object);
            let first = content.and_then(|content| content.values().next());
            let has_example = first.is_none_or(|media| {
                media.get("example").is_some() || media.get("examples").is_some()
            });
            assert!(has_example || status == "206", "{shown}: {status} has no example");
        }
    }
}

#[test]
fn guarded_operations_name_the_errors_of_every_key() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        let guarded = path.starts_with("/v1/") || path.starts_with("/v2/");
        assert_eq!(operation.get("security").is_none(), guarded, "{method} {path}");
        for status in ["401", "403", "429", "500", "503"] {
            let named = operation["responses"].get(status).is_some();
            assert!(named || !guarded, "{method} {path}: {status}");
        }
    }
}
