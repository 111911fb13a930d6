//! The description of queues: the list of queues of a domain, and the queue itself.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::admin::openapi::creation;
use crate::openapi::json::{array, object, schema, string};
use crate::openapi::operation::{Operation, add_lines, add_table, json_content};

pub(crate) fn paths() -> Value {
    json!({"/v1/{domain}/queues": {"get": list(), "post": create()}})
}

fn list() -> Value {
    let queue = json!({"id": "123", "name": "Queue A", "title": "Queue A"});
    let line = format!("{queue}\n");
    let mut content = json_content(schema("QueueList"), json!({"queues": [queue]}));
    add_lines(&mut content, "One queue per line.", &line);
    add_table(&mut content, "One queue per row.", "id,name\r\n123,Queue A\r\n");
    Operation::desk("listQueues", "List queues", "")
        .takes(["list-format", "bom", "spreadsheet"])
        .answers(200, "All queues.", &[], &content)
        .fails(&[ErrorCode::InvalidValue])
        .build()
}

fn create() -> Value {
    let made = json!({"id": "123", "name": "Queue A", "title": "Queue A"});
    let body = ("QueueForm", json!({"name": "Queue A"}));
    creation(("createQueue", "Create a queue"), body, ("Queue", made))
}

pub(crate) fn schemas() -> Value {
    json!({
        "QueueList": object(
            &["queues"],
            json!({"queues": array(schema("Queue"))}),
        ),
        "Queue": object(
            &["id", "name", "title"],
            json!({"id": string(), "name": string(), "title": string()}),
        ),
    })
}
