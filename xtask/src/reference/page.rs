//! The reference as a page: the calls in the groups of the description, then the records, the
//! headers and the codes of errors. It begins with the facts that all calls have in common.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::types::{has_members, words};

const HEAD: &str = "\
# Reference

Every call, record and code of the API. The [guide](api.md) says how to use them. This page is
written by `cargo xtask reference` from `openapi.json`; do not edit it.

- A name in bold is required in a request, and always present in an answer.
- A parameter or field whose name has a hyphen or an underscore is accepted with either.
- A list in a query or a form has one of the [forms of lists](api.md#lists). A map is JSON text.
- Every call takes the header `X-Request-Id`, and `domain` in the path is the domain of the key.

";

/// Parameters that the head of the page describes.
const COMMON_PARAMETERS: [&str; 2] = ["domain", "X-Request-Id"];

/// The widest line of a paragraph.
const COLUMNS_MAX: usize = 100;

/// Renders the page of a description.
pub(super) fn render(document: &Value) -> String {
    let mut page = Page { document, common: common_codes(document), text: HEAD.to_owned() };
    let common = list(&page.common);
    page.paragraph(&format!("Every call on a `/v1` or `/v2` path can fail with {common}."));
    for tag in document["tags"].as_array().into_iter().flatten() {
        page.paragraph(&format!("## Calls: {}", line(&tag["name"])));
        page.paragraph(&line(&tag["description"]));
        for (path, method, call) in calls(document) {
            if call["tags"][0] == tag["name"] {
                page.paragraph(&format!("### {} `{path}`", method.to_uppercase()));
                page.call(call);
            }
        }
    }
    page.paragraph("## Records");
    let bodies = bodies(document);
    for (name, schema) in members(&document["components"]["schemas"]) {
        if !bodies.contains(&name.as_str()) {
            page.paragraph(&format!("### {name}"));
            page.record(schema);
        }
    }
    page.headers();
    page.codes();
    page.text.trim_end().to_owned() + "\n"
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Path, method and description of each call.
fn calls(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    members(&document["paths"]).flat_map(|(path, methods)| {
        members(methods).map(move |(method, call)| (path, method, call))
    })
}

/// The part of the document that a reference names, or the value itself.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|refer| refer.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// The codes with which a call can fail.
fn codes<'a>(document: &'a Value, call: &'a Value) -> Vec<&'a str> {
    let answers = members(&call["responses"]).map(|(_, answer)| resolved(document, answer));
    let lists =
        answers.map(|answer| &answer["content"]["application/problem+json"]["x-error-codes"]);
    lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect()
}

/// The codes that each call with a key can have.
fn common_codes(document: &Value) -> Vec<&str> {
    let with_key = calls(document).filter(|(path, ..)| path.starts_with("/v"));
    let mut all = with_key.map(|(.., call)| codes(document, call));
    let first = all.next().unwrap_or_default();
    all.fold(first, |mut common, codes| {
        common.retain(|code| codes.contains(code));
        common
    })
}

/// The names of the schemas that are bodies. They are described with their calls.
fn bodies(document: &Value) -> Vec<&str> {
    let contents = calls(document).flat_map(|(.., call)| members(&call["requestBody"]["content"]));
    let names = contents.filter_map(|(_, content)| content["schema"]["$ref"].as_str());
    names.filter_map(|refer| refer.rsplit('/').next()).collect()
}

struct Page<'a> {
    document: &'a Value,
    /// The codes of errors that the head of the page names.
    common: Vec<&'a str>,
    text: String,
}

impl Page<'_> {
    fn call(&mut self, call: &Value) {
        self.paragraph(&format!("{}. {}", line(&call["summary"]), line(&call["description"])));
        let parameters = call["parameters"].as_array().into_iter().flatten();
        let own = parameters
            .map(|parameter| resolved(self.document, parameter))
            .filter(|parameter| !COMMON_PARAMETERS.iter().any(|name| parameter["name"] == *name));
        let rows = own.map(|parameter| {
            let name = line(&parameter["name"]);
            let about = line(&parameter["description"]);
            let value = words(&parameter["schema"]);
            [named(&name, parameter["required"] == true), line(&parameter["in"]), value, about]
        });
        let rows = rows.collect();
        self.table(["parameter", "in", "value", "meaning"], rows);
        self.body(call);
        for (status, answer) in members(&call["responses"]) {
            if status.starts_with(['2', '3']) {
                self.answer(status, resolved(self.document, answer));
            }
        }
        let mut own = codes(self.document, call);
        own.retain(|code| !self.common.contains(code));
        if !own.is_empty() {
            self.paragraph(&format!("**Errors**: {}.", list(&own)));
        }
    }

    /// The fields of all forms of a body. A field is described as the first form has it.
    fn body(&mut self, call: &Value) {
        let contents: Vec<_> = members(&call["requestBody"]["content"]).collect();
        let mut fields: Map<String, Value> = Map::new();
        for (_, content) in &contents {
            let schema = resolved(self.document, &content["schema"]);
            for (name, field) in members(&schema["properties"]) {
                let name = named(name, is_required(schema, name));
                fields.entry(name).or_insert_with(|| field.clone());
            }
        }
        let row = |(name, field): (_, Value)| [name, words(&field), line(&field["description"])];
        self.table(["field", "value", "meaning"], fields.into_iter().map(row).collect());
        let types: Vec<_> = contents.iter().map(|(media_type, _)| media_type.as_str()).collect();
        if !types.is_empty() {
            self.paragraph(&format!("**Body**: {}.", list(&types)));
        }
    }

    fn answer(&mut self, status: &str, answer: &Value) {
        let types = members(&answer["content"]).map(|(media_type, content)| {
            match words(&content["schema"]) {
                record if record.contains("](#") => format!("`{media_type}` ({record})"),
                _ => format!("`{media_type}`"),
            }
        });
        let types = types.collect::<Vec<_>>().join(", ");
        let types = if types.is_empty() { types } else { format!(" As {types}.") };
        self.paragraph(&format!("**{status}**: {}{types}", line(&answer["description"])));
    }

    fn record(&mut self, schema: &Value) {
        self.paragraph(&line(&schema["description"]));
        if let Some(meanings) = schema.get("x-enum-descriptions") {
            let row = |(code, about): (&String, _)| [format!("`{code}`"), line(about)];
            self.table(["value", "meaning"], members(meanings).map(row).collect());
        } else if has_members(schema) {
            let mut rows = Vec::new();
            add_fields(&mut rows, "", schema);
            self.table(["field", "value", "meaning"], rows);
        } else {
            self.paragraph(&format!("A value is: {}.", words(schema)));
        }
    }

    fn headers(&mut self) {
        self.paragraph("## Headers of answers");
        let headers = members(&self.document["components"]["headers"]);
        let row =
            |(name, header): (&String, &Value)| [format!("`{name}`"), line(&header["description"])];
        self.table(["header", "meaning"], headers.map(row).collect());
    }

    fn codes(&mut self) {
        self.paragraph("## Error codes");
        self.paragraph("The codes of single entries are in [EntryErrorCode](#entryerrorcode).");
        let examples = members(&self.document["components"]["examples"]);
        let problems =
            examples.map(|(_, example)| &example["value"]).filter(|one| one["title"].is_string());
        let row = |problem: &Value| {
            let code = format!("`{}`", line(&problem["code"]));
            let status = problem["status"].to_string();
            [code, status, line(&problem["title"]), line(&problem["detail"])]
        };
        self.table(["code", "status", "title", "such as"], problems.map(row).collect());
    }

    /// A paragraph in lines of a readable width.
    fn paragraph(&mut self, text: &str) {
        let mut columns = 0;
        for word in text.split_whitespace() {
            let length = word.chars().count();
            if columns > 0 && columns + 1 + length > COLUMNS_MAX {
                self.text.push('\n');
                columns = 0;
            } else if columns > 0 {
                self.text.push(' ');
                columns += 1;
            }
            self.text.push_str(word);
            columns += length;
        }
        self.text.push_str(if columns > 0 { "\n\n" } else { "" });
    }

    fn table<const N: usize>(&mut self, head: [&str; N], rows: Vec<[String; N]>) {
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(self.text, "| {} |\n|{}", head.join(" | "), "---|".repeat(N));
        for row in rows {
            let cells = row.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        }
        self.text.push('\n');
    }
}

/// A row for each member of a map, and below it those of its own members.
fn add_fields(rows: &mut Vec<[String; 3]>, prefix: &str, schema: &Value) {
    for (name, field) in members(&schema["properties"]) {
        let path = format!("{prefix}{name}");
        let value = if has_members(field) { "map".to_owned() } else { words(field) };
        rows.push([named(&path, is_required(schema, name)), value, line(&field["description"])]);
        add_fields(rows, &format!("{path}."), field);
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().into_iter().flatten().any(|required| required == name)
}

fn named(name: &str, required: bool) -> String {
    if required { format!("**`{name}`**") } else { format!("`{name}`") }
}

fn list(codes: &[&str]) -> String {
    codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ")
}

/// A text of the description in one line.
fn line(text: &Value) -> String {
    text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_has_its_parameters_fields_answers_and_errors() {
        let problem = |codes: &[&str]| {
            let codes = json!({"x-error-codes": codes});
            json!({"content": {"application/problem+json": codes}})
        };
        let form = json!({"schema": {"$ref": "#/components/schemas/Form"}});
        let page = render(&json!({
            "tags": [{"name": "desk", "description": "Apps."}],
            "paths": {
                "/v1/{domain}/apps": {"post": {
                    "tags": ["desk"],
                    "summary": "Create an app",
                    "description": "Now.",
                    "parameters": [{"$ref": "#/components/parameters/wait"}, {"name": "domain"}],
                    "requestBody": {"content": {"application/json": form}},
                    "responses": {
                        "201": {"description": "The app.", "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/App"}},
                        }},
                        "400": {"$ref": "#/components/responses/Invalid"},
                        "401": problem(&["unauthorized"]),
                    },
                }},
                "/v1/{domain}/keys": {"get": {"responses": {"401": problem(&["unauthorized"])}}},
            },
            "components": {
                "parameters": {"wait": {
                    "name": "wait", "in": "query", "description": "A | B.",
                    "schema": {"type": "boolean"},
                }},
                "responses": {"Invalid": problem(&["invalid_value"])},
                "schemas": {
                    "Form": {"required": ["title"], "properties": {"title": {"type": "string"}}},
                    "App": {"properties": {"a": {"properties": {"b": {"type": "string"}}}}},
                    "Code": {"x-enum-descriptions": {"one": "The first."}},
                },
                "examples": {"x": {"value": {
                    "code": "unauthorized", "status": 401, "title": "A key", "detail": "Send it",
                }}},
            },
        }));
        for part in [
            "can fail with `unauthorized`.\n",
            "## Calls: desk\n\nApps.\n\n### POST `/v1/{domain}/apps`\n\nCreate an app. Now.\n\n",
            "|---|---|---|---|\n| `wait` | query | `true` or `false` | A \\| B. |\n\n",
            "| **`title`** | text |  |\n\n**Body**: `application/json`.\n",
            "**201**: The app. As `application/json` ([App](#app)).\n\n**Errors**: `invalid_value`",
            "### App\n\n| field | value | meaning |\n|---|---|---|\n| `a` | map |  |\n| `a.b` |",
            "### Code\n\n| value | meaning |\n|---|---|\n| `one` | The first. |\n",
            "| `unauthorized` | 401 | A key | Send it |\n",
        ] {
            assert!(page.contains(part), "{part} is missing in:\n{page}");
        }
        assert!(!page.contains("### Form"), "a body is described with its call");
    }

    #[test]
    fn a_paragraph_has_lines_of_a_readable_width() {
        let page = render(&json!({"tags": [{"name": "a", "description": "word ".repeat(200)}]}));
        assert!(page.lines().all(|line| line.len() <= COLUMNS_MAX), "{page}");
        assert_eq!(page.matches("word").count(), 200);
    }
}
