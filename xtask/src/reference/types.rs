//! A schema in words: `integer (1 to 1000)`, `list of text`, a link to a record.

use serde_json::Value;

/// A map with more members than fit here is described by their names alone.
const MAP_CHARS_MAX: usize = 240;

/// The values that a schema allows. Null is left out: the name of a field shows whether it may be
/// absent, and its description says if null has a meaning.
pub(super) fn words(schema: &Value) -> String {
    let refer = schema["$ref"].as_str();
    if let Some(name) = refer.and_then(|refer| refer.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for content in ["contentSchema", "x-line-schema"] {
        if schema.get(content).is_some() {
            return words(&schema[content]);
        }
    }
    if let Some(value) = schema.get("const") {
        return code(value);
    }
    for list in ["enum", "oneOf", "anyOf"] {
        let is_enum = list == "enum";
        if let Some(members) = schema[list].as_array().filter(|_| !has_members(schema)) {
            return choice(members.iter().map(if is_enum { code } else { words }), is_enum);
        }
    }
    match &schema["type"] {
        Value::Array(types) => {
            let one = |plain: &Value| {
                let mut schema = schema.clone();
                schema["type"] = plain.clone();
                words(&schema)
            };
            choice(types.iter().filter(|plain| *plain != "null").map(one), false)
        }
        plain => of_type(schema, plain.as_str().unwrap_or_default()),
    }
}

/// Whether the schema is a map with named members.
pub(super) fn has_members(schema: &Value) -> bool {
    schema["properties"].as_object().is_some_and(|members| !members.is_empty())
}

fn of_type(schema: &Value, name: &str) -> String {
    match name {
        "string" => text(schema),
        "integer" | "number" => range(schema, name),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => {
            let items = schema.get("x-entry-schema").unwrap_or(&schema["items"]);
            let size = size(schema, "minItems", "maxItems", "");
            format!("list{size} of {}", words(items))
        }
        "object" if has_members(schema) => map(schema),
        "object" => match schema.get("additionalProperties").filter(|schema| schema.is_object()) {
            Some(values) => format!("map of {}", words(values)),
            None => "map".to_owned(),
        },
        "null" => String::new(),
        _ => "any JSON".to_owned(),
    }
}

fn map(schema: &Value) -> String {
    let members = schema["properties"].as_object().into_iter().flatten();
    let (names, pairs): (Vec<_>, Vec<_>) = members
        .map(|(name, schema)| (format!("`{name}`"), format!("`{name}`: {}", words(schema))))
        .unzip();
    let long = format!("map ({})", pairs.join("; "));
    if long.len() <= MAP_CHARS_MAX { long } else { format!("map of {}", names.join(", ")) }
}

fn text(schema: &Value) -> String {
    let of = match (schema["format"].as_str(), schema["pattern"].as_str()) {
        (Some("uuid"), _) => "UUID",
        (Some("uri-reference"), _) => "URL",
        (_, Some("^[0-9]+$")) => "digits",
        _ => "text",
    };
    format!("{of}{}", size(schema, "minLength", "maxLength", " characters"))
}

/// ` (1 to 255 characters)` or ` (at most 255 characters)`; nothing without an upper bound.
fn size(schema: &Value, min: &str, max: &str, unit: &str) -> String {
    match (schema[min].as_u64(), schema[max].as_u64()) {
        (Some(min), Some(max)) if min > 0 => format!(" ({min} to {max}{unit})"),
        (_, Some(max)) => format!(" (at most {max}{unit})"),
        _ => String::new(),
    }
}

fn range(schema: &Value, name: &str) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(min), Some(max)) => format!("{name} ({min} to {max})"),
        (Some(min), None) if min.as_u64() > Some(0) => format!("{name} (from {min})"),
        _ => name.to_owned(),
    }
}

fn code(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// The different ones of some values. A choice of words has commas between them.
fn choice(values: impl Iterator<Item = String>, of_words: bool) -> String {
    let mut all: Vec<String> = Vec::new();
    for value in values.filter(|value| !value.is_empty() && value != "`null`") {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all.join(if of_words { ", " } else { " or " })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_described_by_its_type_bounds_and_members() {
        for (schema, shown) in [
            (json!({"$ref": "#/components/schemas/IssueState"}), "[IssueState](#issuestate)"),
            (json!({"type": "integer", "minimum": 1, "maximum": 1000}), "integer (1 to 1000)"),
            (json!({"type": ["integer", "null"], "minimum": 0}), "integer"),
            (json!({"type": "integer", "minimum": 1}), "integer (from 1)"),
            (json!({"type": "string", "minLength": 1, "maxLength": 9}), "text (1 to 9 characters)"),
            (json!({"type": "string", "pattern": "^[0-9]+$"}), "digits"),
            (json!({"type": "string", "enum": ["asc", "desc"]}), "`asc`, `desc`"),
            (json!({"enum": ["true", "false", true, false]}), "`true`, `false`"),
            (json!({"oneOf": [{"type": "number"}, {"type": "null"}]}), "number"),
            (json!({"oneOf": [{"type": "number"}, {"type": "string"}]}), "number or text"),
            (json!({"type": "array", "maxItems": 2, "items": {}}), "list (at most 2) of any JSON"),
            (json!({"type": "object", "additionalProperties": true}), "map"),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), "map of text"),
            (
                json!({"type": "string", "contentSchema": {
                    "type": "object", "properties": {"or": {"type": "array", "items": {}}},
                }}),
                "map (`or`: list of any JSON)",
            ),
        ] {
            assert_eq!(words(&schema), shown, "{schema}");
        }
    }

    #[test]
    fn a_large_map_is_described_by_the_names_of_its_members() {
        let long = json!({"enum": ["a".repeat(MAP_CHARS_MAX)]});
        let schema = json!({"type": "object", "properties": {"a": long, "b": {}}});
        assert_eq!(words(&schema), "map of `a`, `b`");
    }
}
