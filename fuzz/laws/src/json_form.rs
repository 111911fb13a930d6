//! JSON bodies as whole requests. For any bytes, neither cuts nor compression change the outcome,
//! and an accepted body has the members that another reader finds in it.

use serde_json::Value;

use crate::request::{payload, read_in_every_form};

const CONTENT_TYPE: &str = "application/json";
const BOM: &[u8] = b"\xef\xbb\xbf";

pub(crate) fn holds(data: &[u8]) {
    let Ok(form) = read_in_every_form(CONTENT_TYPE, data) else { return };
    // The entries may break rules that the body does not: they are read later, one by one.
    let text = data.strip_prefix(BOM).unwrap_or(data);
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(text) else { return };
    let member = |name: &str| {
        let mut found = members
            .iter()
            .filter(|(known, value)| known.replace('-', "_") == name && !value.is_null());
        let value = found.next().map(|(_, value)| value.clone());
        assert!(found.next().is_none(), "a member that is given twice is refused");
        value
    };
    assert_eq!(member("action"), Some(Value::from(form.action.as_str())));
    let dry_run = member("dry_run").is_some_and(|value| value == true || value == "true");
    assert_eq!(dry_run, form.dry_run);
    let entries = match member("payload").expect("a body without payload is refused") {
        Value::Array(entries) => entries.len(),
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(entries)) => entries.len(),
            _ => return,
        },
        other => panic!("{other} is not a payload"),
    };
    assert_eq!(payload(&form).len(), entries, "every element is an entry");
}
