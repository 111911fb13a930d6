//! Tests of the description as generators of clients read it. Nothing in it makes one of them leave
//! out an operation, an answer or a field, send something the caller did not ask for, or write code
//! that fails its own type check. `scripts/clients-check` generates clients with four of them and
//! calls a server; each test here is one rule that this takes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{openapi, operations, resolve, visit};

#[test]
fn a_parameter_whose_text_is_json_has_the_schema_of_its_content() {
    let document = openapi();
    let mut found = 0;
    for (name, parameter) in document["components"]["parameters"].as_object().unwrap() {
        assert!(parameter.get("content").is_none(), "{name}");
        let schema = &parameter["schema"];
        if schema.get("contentSchema").is_none() {
            continue;
        }
        assert_eq!(schema["type"], "string", "{name}");
        assert_eq!(schema["contentMediaType"], "application/json", "{name}");
        let example = parameter["example"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(example).is_ok(), "{name}");
        found += 1;
    }
    assert!(found >= 10, "only {found} parameters");
}

#[test]
fn an_edit_of_at_least_one_field_is_a_number_of_properties() {
    let document = openapi();
    for (name, least) in
        [("EditForm", 1), ("EditUpload", 1), ("BulkEditForm", 2), ("BulkEditUpload", 2)]
    {
        let form = &document["components"]["schemas"][name];
        assert_eq!(form["minProperties"], least, "{name}");
        assert!(form.get("anyOf").is_none(), "{name}");
    }
}

#[test]
fn no_parameter_and_no_form_field_has_a_default() {
    visit(&openapi(), &mut |value| assert!(value.get("default").is_none(), "{value}"));
}

/// The name that a Python client gives to the module of a schema: `AppList` is in `app_list`.
fn module_name(schema: &str) -> String {
    let mut module = String::new();
    for letter in schema.chars() {
        if letter.is_ascii_uppercase() && !module.is_empty() {
            module.push('_');
        }
        module.push(letter.to_ascii_lowercase());
    }
    module
}

#[test]
fn no_schema_has_a_property_of_its_own_name() {
    let document = openapi();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for property in schema["properties"].as_object().into_iter().flat_map(|all| all.keys()) {
            assert_ne!(property.replace('-', "_"), module_name(name), "in {name}");
        }
    }
}

#[test]
fn each_content_type_of_a_body_has_a_schema_of_its_own() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        let content = operation["requestBody"]["content"].as_object();
        let content = content.into_iter().flat_map(|content| content.values());
        let schemas: Vec<_> = content.map(|media| media["schema"]["$ref"].as_str()).collect();
        assert!(schemas.iter().all(Option::is_some), "{method} {path}: {schemas:?}");
        let different: BTreeSet<_> = schemas.iter().collect();
        assert_eq!(different.len(), schemas.len(), "{method} {path}: {schemas:?}");
    }
}

#[test]
fn json_is_the_first_content_type_of_a_body_without_a_file() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        let content = operation["requestBody"]["content"].as_object();
        let first = content.and_then(|content| content.keys().next());
        let is_file = path.contains("/imports");
        let first = first.filter(|first| !is_file || *first != "multipart/form-data");
        assert!(first.is_none_or(|first| first == "application/json"), "{method} {path}");
    }
}

#[test]
fn the_words_of_an_enum_in_a_body_or_answer_are_all_of_one_type() {
    visit(&openapi()["components"]["schemas"], &mut |value| {
        let words = value["enum"].as_array();
        let all_texts = words.is_none_or(|words| words.iter().all(Value::is_string));
        assert!(all_texts, "{value}");
    });
}

#[test]
fn an_error_is_a_problem_and_no_reference_is_narrowed() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let media = &resolve(&document, response)["content"]["application/problem+json"];
            let target = media["schema"]["$ref"].as_str();
            let expected = media.is_object().then_some("#/components/schemas/Problem");
            assert_eq!(target, expected, "{method} {path}: {status}");
        }
    }
    visit(&document, &mut |value| {
        let members = value.as_object().map_or(0, serde_json::Map::len);
        assert!(value.get("$ref").is_none() || members == 1, "{value}");
    });
}

#[test]
fn a_map_of_records_or_null_says_null_in_the_form_that_type_checks() {
    visit(&openapi(), &mut |value| {
        let values = &value["additionalProperties"];
        let choices = values["oneOf"].as_array().or(values["anyOf"].as_array());
        let null = choices.into_iter().flatten().any(|choice| choice["type"] == "null");
        let types = values["type"].as_array().map_or(0, Vec::len);
        assert!(!null && types < 3, "see or_null: {value}");
    });
}

#[test]
fn the_first_type_of_an_answer_is_one_that_generators_read() {
    let document = openapi();
    for (path, method, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let content = resolve(&document, response)["content"].as_object();
            let Some(first) = content.and_then(|content| content.keys().next()) else { continue };
            let is_read = first.ends_with("json") && !first.contains("ndjson")
                || first.starts_with("text/")
                || first == "application/octet-stream";
            assert!(is_read, "{method} {path}: {status} {first}");
        }
    }
}
