//! The description of attachments: one path, which serves the bytes of a file.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::operation::Operation;
use crate::openapi::parameters::path_id;

pub(crate) fn paths() -> Value {
    json!({"/v1/{domain}/attachments/{attachment_id}": {"get": get()}})
}

fn get() -> Value {
    // Some generators know no `*/*` and leave out an answer that has nothing else.
    let bytes = json!({"type": "string", "format": "binary"});
    let content = json!({
        "application/octet-stream": {"schema": bytes, "example": "hello"},
        "*/*": {"schema": {"description": "The bytes, under the type of the file. A type that a \
                                           browser might run is sent as \
                                           `application/octet-stream`."}},
    });
    Operation::desk("getAttachment", "Get an attachment", "The file, byte for byte.")
        .takes(["attachment_id", "If-None-Match", "Range", "If-Range"])
        .answers(200, "The file.", &["ETag", "Accept-Ranges", "Content-Disposition"], &content)
        .answers(
            206,
            "The range.",
            &["ETag", "Accept-Ranges", "Content-Range", "Content-Disposition"],
            &json!({"application/octet-stream": {"schema": bytes}, "*/*": {}}),
        )
        .answers(304, "The caller already has the file.", &["ETag"], &Value::Null)
        .fails(&[ErrorCode::NotFound, ErrorCode::RangeNotSatisfiable])
        .build()
}

pub(crate) fn parameters() -> Value {
    json!({
        "attachment_id": path_id(
            "attachment_id",
            "The id of an attachment, as its `url` ends.",
            "acme_attachment_20260101000000000-7e7211c0966b107",
        ),
    })
}
