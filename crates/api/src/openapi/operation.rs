//! The builder of an operation. It adds the parts that all operations share: the headers of every
//! answer, and the errors of every guarded path.

use caseload_model::error_code::ErrorCode;
use serde_json::{Map, Value, json};

use super::headers::{self, ALWAYS, QUOTA};
use super::parameters::refer;
use super::problem;
use crate::http::format::LINES;

/// The errors of every guarded operation.
const GUARDED: [ErrorCode; 7] = [
    ErrorCode::Unauthorized,
    ErrorCode::Forbidden,
    ErrorCode::RateLimited,
    ErrorCode::QuotaExceeded,
    ErrorCode::Internal,
    ErrorCode::Unavailable,
    ErrorCode::Damaged,
];

/// The errors of an invalid query.
pub(crate) const QUERY: [ErrorCode; 5] = [
    ErrorCode::UnknownParameter,
    ErrorCode::ConflictingParameter,
    ErrorCode::InvalidValue,
    ErrorCode::OutOfRange,
    ErrorCode::TooMany,
];

/// The errors of a call that deletes a record.
const DELETION: [ErrorCode; 8] = [
    ErrorCode::UnknownParameter,
    ErrorCode::ConflictingParameter,
    ErrorCode::InvalidValue,
    ErrorCode::TooMany,
    ErrorCode::NotFound,
    ErrorCode::CrossSite,
    ErrorCode::IdempotencyInProgress,
    ErrorCode::IdempotencyKeyReused,
];

/// An operation under construction.
pub(crate) struct Operation {
    members: Map<String, Value>,
    parameters: Vec<Value>,
    responses: Map<String, Value>,
    errors: Vec<ErrorCode>,
    /// Whether it needs a key.
    guarded: bool,
}

impl Operation {
    /// An operation that needs a key of the domain in its path.
    pub(crate) fn guarded(id: &str, tag: &str, summary: &str, description: &str) -> Self {
        let mut operation = Self::open(id, tag, summary, description);
        operation.guarded = true;
        operation.errors = GUARDED.to_vec();
        operation.members.shift_remove("security");
        operation
    }

    /// An operation without a key.
    pub(crate) fn open(id: &str, tag: &str, summary: &str, description: &str) -> Self {
        let members = [
            ("operationId", json!(id)),
            ("tags", json!([tag])),
            ("summary", json!(summary)),
            ("description", json!(description)),
            ("security", json!([])),
        ];
        Self {
            members: members.map(|(key, value)| (key.to_owned(), value)).into_iter().collect(),
            parameters: Vec::new(),
            responses: Map::new(),
            errors: Vec::new(),
            guarded: false,
        }
    }

    /// A guarded operation on the apps, agents, queues or attachments of a domain. Their paths
    /// ignore unknown query parameters.
    pub(crate) fn desk(id: &str, summary: &str, description: &str) -> Self {
        let description = format!("{description} Unknown query parameters are ignored.");
        Self::guarded(id, "desk", summary, description.trim_start()).takes(["domain"])
    }

    /// Adds these shared parameters.
    pub(crate) fn takes<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.parameters.extend(names.into_iter().map(refer));
        self
    }

    /// Adds a body, and the errors of every call that has one.
    pub(crate) fn body(mut self, body: Value) -> Self {
        self.errors.extend([ErrorCode::CrossSite, ErrorCode::TooSlow, ErrorCode::UnknownCoding]);
        self.members.insert("requestBody".to_owned(), body);
        self
    }

    /// Adds an answer. `own_headers` are its headers in addition to those of every answer.
    pub(crate) fn answers(
        mut self,
        status: u16,
        description: &str,
        own_headers: &[&str],
        content: &Value,
    ) -> Self {
        let quota = if self.guarded { &QUOTA[..] } else { &[] };
        let names = own_headers.iter().chain(&ALWAYS).chain(quota).copied();
        let mut response = json!({"description": description, "headers": headers::refer(names)});
        if !content.is_null() {
            response["content"] = content.clone();
        }
        self.responses.insert(status.to_string(), response);
        self
    }

    /// Adds the answers of a call that deletes the record of its path, which may be repeated.
    pub(crate) fn deletes(self, description: &str) -> Self {
        self.takes(["Idempotency-Key"])
            .answers(204, description, &["Idempotent-Replayed"], &Value::Null)
            .fails(&DELETION)
    }

    /// Adds links to the answer of this status: the calls that can follow it.
    pub(crate) fn links(mut self, status: u16, links: Value) -> Self {
        if let Some(response) = self.responses.get_mut(&status.to_string()) {
            response["links"] = links;
        }
        self
    }

    /// Adds errors.
    pub(crate) fn fails(mut self, codes: &[ErrorCode]) -> Self {
        self.errors.extend(codes);
        self
    }

    pub(crate) fn build(mut self) -> Value {
        for (status, response) in problem::by_status(&self.errors, self.guarded) {
            self.responses.insert(status.to_string(), response);
        }
        self.responses.sort_keys();
        self.parameters.push(refer("X-Request-Id"));
        self.members.insert("parameters".to_owned(), self.parameters.into());
        self.members.insert("responses".to_owned(), self.responses.into());
        Value::Object(self.members)
    }
}

/// JSON lines under each of their media types, with an example.
pub(crate) fn add_lines(content: &mut Value, description: &str, example: &str) {
    for media_type in LINES {
        content[media_type] = json!({
            "schema": {"type": "string", "description": description},
            "example": example,
        });
    }
}

/// The records as a table, in addition to the other formats of a list.
pub(crate) fn add_table(content: &mut Value, description: &str, example: &str) {
    content["text/csv"] = json!({
        "schema": {"type": "string", "description": format!("{description} RFC 4180.")},
        "example": example,
    });
}

/// A JSON body with this schema and example.
pub(crate) fn json_content(schema: Value, example: Value) -> Value {
    json!({"application/json": {"schema": schema, "example": example}})
}
