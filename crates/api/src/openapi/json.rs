//! Building blocks of the description: references to schemas, values that may be null, and maps
//! joined into one.

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
