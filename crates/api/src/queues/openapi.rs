//! The description of queues: the list of queues of a domain, and the queue itself.

use serde_json::{Value, json};

use crate::openapi::json::schema;
use crate::openapi::operation::{Operation, json_content};

pub(crate) fn paths() -> Value {
    json!({"/v1/{domain}/queues": {"get": list()}})
}

fn list() -> Value {
    let page = json!({"queues": [{"id": "123", "name": "Queue A", "title": "Queue A"}]});
    let content = json_content(schema("Queues"), page);
    Operation::desk("listQueues", "List queues", "")
        .answers(200, "All queues.", &[], &content)
        .build()
}

pub(crate) fn schemas() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "Queues": {
            "type": "object",
            "required": ["queues"],
            "properties": {"queues": {"type": "array", "items": schema("Queue")}},
        },
        "Queue": {
            "type": "object",
            "required": ["id", "name", "title"],
            "properties": {"id": text(), "name": text(), "title": text()},
        },
    })
}
