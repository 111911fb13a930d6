//! How a parameter is described, and the parameters that several operations share. The name of a
//! parameter is the model's, or that of the API's first description; `x-spellings` adds the other
//! spelling. No parameter has a `default` in its schema: some generated clients send every default,
//! and a page together with a cursor is an error. The description names the default instead.

use caseload_model::issue::INSTANT_MS_MAX;
use caseload_model::issue_query::{COLUMNS_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use serde_json::{Value, json};

use super::json::{string, words as one_of};

/// A query parameter of plain text.
pub(crate) fn query(name: &str, description: &str, schema: Value) -> Value {
    let parameter = json!({
        "name": name, "in": "query", "description": description, "schema": schema,
    });
    with_spellings(name, parameter)
}

/// A query parameter whose value is JSON, percent-encoded. It is a text with the schema of its
/// content, because generators leave out an operation that has a parameter with `content`.
pub(crate) fn query_json(name: &str, description: &str, content: Value, example: Value) -> Value {
    let schema = json!({
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": content,
    });
    let mut parameter = query(name, description, schema);
    parameter["example"] = example.to_string().into();
    parameter
}

/// The columns of a list of these records as a table; `pattern` is that of a column.
pub(crate) fn query_columns(record: &str, pattern: &str, example: Value) -> Value {
    query_json(
        "columns",
        &format!(
            "The columns of the list as a table: members of {record}, with dots into maps. Only \
             with `format=csv`. A custom field has its type in the header, as in \
             `custom_fields.seats:number`."
        ),
        json!({
            "type": "array",
            "minItems": 1,
            "maxItems": COLUMNS_MAX,
            "uniqueItems": true,
            "items": {"type": "string", "pattern": pattern},
        }),
        example,
    )
}

/// The other forms in which a list is accepted, in words.
pub(crate) const OTHER_LISTS: &str =
    "A JSON array, the parameter several times, and `name[]` are accepted too.";

/// A query parameter of words separated by commas, or as a JSON array.
pub(crate) fn query_words(name: &str, description: &str, words: &[&str]) -> Value {
    let list = json!({"type": "array", "minItems": 1, "items": one_of(words)});
    let mut parameter = query(name, &format!("{description} {OTHER_LISTS}"), list);
    parameter["style"] = "form".into();
    parameter["explode"] = false.into();
    parameter["example"] = json!([words[0]]);
    parameter
}

/// An id in the path, as text.
pub(crate) fn path_id(name: &str, description: &str, example: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": {"type": "string", "minLength": 1},
        "example": example,
    })
}

/// A header of the request.
pub(crate) fn header(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

/// Both spellings of a name, if there are two.
pub(crate) fn spellings(name: &str) -> Option<[String; 2]> {
    name.contains(['-', '_']).then(|| [name.replace('_', "-"), name.replace('-', "_")])
}

fn with_spellings(name: &str, mut described: Value) -> Value {
    if let Some(both) = spellings(name) {
        described["x-spellings"] = json!(both);
    }
    described
}

/// The fields of a form, each with both of its spellings.
pub(crate) fn spelled<N: AsRef<str>>(fields: impl IntoIterator<Item = (N, Value)>) -> Value {
    let spelled = fields
        .into_iter()
        .map(|(name, field)| (name.as_ref().to_owned(), with_spellings(name.as_ref(), field)));
    Value::Object(spelled.collect())
}

/// A reference to a parameter.
pub(crate) fn refer(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

/// The accepted forms of an instant in a query, in words: generators make one type of a parameter.
pub(crate) const BOUND_FORMS: &str = "Unix milliseconds; ISO 8601, also a date alone, and floats \
                                      without a fraction are accepted too.";

/// An instant in a query.
pub(crate) fn bound() -> Value {
    json!({
        "type": "integer",
        "format": "int64",
        "minimum": 0,
        "maximum": INSTANT_MS_MAX,
        "examples": [1_767_225_600_000_u64],
    })
}

/// An instant in an answer.
pub(crate) fn instant() -> Value {
    json!({
        "type": "integer",
        "format": "int64",
        "minimum": 0,
        "description": "Unix milliseconds.",
        "examples": [1_767_225_600_000_u64],
    })
}

pub(crate) fn common() -> Value {
    json!({
        "domain": {
            "name": "domain",
            "in": "path",
            "required": true,
            "description": "The domain of the key.",
            "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
            "example": "acme",
        },
        "X-Request-Id": header(
            "X-Request-Id",
            "A request id of the caller's choice. The server replaces one that does not have 1 to \
             128 visible ASCII characters.",
            string(),
        ),
        "Idempotency-Key": header(
            "Idempotency-Key",
            "A new text for each new request, sent again with each repeat: a repeat receives the \
             first answer. Any UTF-8 text of 1 to 255 characters is accepted.",
            json!({
                "type": "string",
                "minLength": 1,
                "maxLength": 255,
                "pattern": "^[!-~]([ -~]{0,253}[!-~])?$",
                "examples": ["0c7d1a3e-5b1f-4a57-8a86-6f1f3f0f6f11"],
            }),
        ),
        "list-format": query(
            "format",
            "The format of the list. Without it, `Accept` chooses between `application/json`, \
             JSON lines and `text/csv`.",
            one_of(&["json", "jsonl", "ndjson", "csv"]),
        ),
        "bom": query(
            "bom",
            "Whether a table begins with a byte order mark. Other formats have none.",
            json!({"type": "boolean"}),
        ),
        "spreadsheet": query(
            "spreadsheet",
            "Whether a table is for a spreadsheet: with a byte order mark, and with ids and \
             numbers of more than 11 digits as `=\"…\"`, because a spreadsheet rounds them. Other \
             formats stay as they are.",
            json!({"type": "boolean"}),
        ),
        "page": query(
            "page",
            "The page, from 1, which is the default. `page` × `page-size` is at most 50000.",
            json!({"type": "integer", "minimum": 1, "maximum": 50_000}),
        ),
        "page-size": query(
            "page-size",
            &format!("The number of records on a page; the default is {PAGE_SIZE_DEFAULT}."),
            json!({"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX}),
        ),
    })
}
