//! Building blocks of the description: schemas of common shapes, references to schemas, values that
//! may be null, and maps joined into one.

use serde_json::{Map, Value, json};

/// A reference to the schema of this name.
pub(crate) fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The schema with a description of its value.
pub(crate) fn described(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}

/// A text without a description.
pub(crate) fn string() -> Value {
    json!({"type": "string"})
}

/// A text with a description.
pub(crate) fn text(description: &str) -> Value {
    described(description, string())
}

/// One of these words.
pub(crate) fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// The words of a table.
pub(crate) fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().copied().map(name).collect()
}

/// An integer of at least `minimum`.
pub(crate) fn integer(minimum: u64, description: &str) -> Value {
    described(description, json!({"type": "integer", "minimum": minimum}))
}

/// A list of these.
pub(crate) fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// A map with any members.
pub(crate) fn map() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

/// A map with these members, of which it always has those in `required`.
pub(crate) fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// The same with a description.
pub(crate) fn record(description: &str, required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": required,
        "properties": properties,
    })
}

/// The map without members other than those described.
pub(crate) fn closed(mut object: Value) -> Value {
    object["additionalProperties"] = false.into();
    object
}

/// A record as the value of a map, or null.
pub(crate) fn or_null(record: Value) -> Value {
    json!({"oneOf": [record, null_value()]})
}

/// Null as a choice for the values of a map. The longer form has a reason: a generator simplifies
/// the shorter one to a record that may be missing, and then its own code for maps of such records
/// fails the type check.
pub(crate) fn null_value() -> Value {
    json!({"type": ["string", "null"], "const": null})
}

/// The members of all maps, in their order. No two maps have a key in common.
pub(crate) fn merged<const N: usize>(maps: [Value; N]) -> Value {
    let mut all = Map::new();
    for (key, value) in maps.into_iter().flat_map(into_members) {
        let shown = key.clone();
        assert!(all.insert(key, value).is_none(), "the description defines {shown} twice");
    }
    Value::Object(all)
}

/// The members of a map.
pub(crate) fn into_members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => unreachable!("a part of the description is not a map: {other}"),
    }
}
