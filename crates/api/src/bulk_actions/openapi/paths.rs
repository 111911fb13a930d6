//! The paths of bulk action tasks, and the operations that an import has as well: the same for
//! profiles and for issues.

use caseload_model::error_code::ErrorCode;
use caseload_model::task::{Action, Family};
use serde_json::{Map, Value, json};

use super::records;
use super::task::{TASK_ID, complete, task_example};
use crate::bulk_actions::SubjectKind;
use crate::imports::import_example;
use crate::openapi::json::{schema, text};
use crate::openapi::operation::{Operation, QUERY, add_lines, add_table, json_content};

/// The errors of a form with entries, of a task or of an import.
pub(crate) const FORM_ERRORS: [ErrorCode; 9] = [
    ErrorCode::InvalidRequest,
    ErrorCode::UnknownParameter,
    ErrorCode::ConflictingParameter,
    ErrorCode::InvalidValue,
    ErrorCode::MissingField,
    ErrorCode::UnknownAction,
    ErrorCode::InvalidPayload,
    ErrorCode::EmptyPayload,
    ErrorCode::TooManyEntries,
];

pub(crate) fn paths() -> Value {
    let all = Family::ALL.iter().flat_map(|family| {
        let paths = BulkPaths::of(*family, SubjectKind::Task);
        let own = [(paths.all(), json!({"get": paths.list(), "post": paths.create()}))];
        own.into_iter().chain(paths.shared())
    });
    Value::Object(all.collect::<Map<_, _>>())
}

/// The differences between the paths of profiles and of issues, of tasks and of imports.
pub(crate) struct BulkPaths {
    pub(crate) family: Family,
    kind: SubjectKind,
    tag: &'static str,
    /// The last part of the operation ids.
    noun: &'static str,
    /// The parameter with the id.
    id: &'static str,
    /// The schema of the record.
    record: &'static str,
    pub(crate) action: Action,
}

impl BulkPaths {
    pub(crate) const fn of(family: Family, kind: SubjectKind) -> Self {
        let (tag, noun, action) = match (family, kind) {
            (Family::Identity, SubjectKind::Task) => {
                ("profile tasks", "ProfileTask", Action::CreateCoreProfiles)
            }
            (Family::Issues, SubjectKind::Task) => {
                ("issue tasks", "IssueTask", Action::ImportIssues)
            }
            (Family::Identity, SubjectKind::Import) => {
                ("imports", "ProfileImport", Action::CreateCoreProfiles)
            }
            (Family::Issues, SubjectKind::Import) => {
                ("imports", "IssueImport", Action::ImportIssues)
            }
        };
        let (id, record) = match kind {
            SubjectKind::Task => ("task_id", "Task"),
            SubjectKind::Import => ("import_id", "FileImport"),
        };
        Self { family, kind, tag, noun, id, record, action }
    }

    /// The path of the list.
    pub(crate) fn all(&self) -> String {
        format!("/v2/{{domain}}/{}/{}", self.family.as_str(), self.kind.segment())
    }

    /// A path below that of one record.
    pub(crate) fn one(&self, rest: &str) -> String {
        format!("{}/{{{}}}{rest}", self.all(), self.id)
    }

    /// The paths that a task and an import have.
    pub(crate) fn shared(&self) -> [(String, Value); 5] {
        [
            (self.one(""), json!({"get": self.status()})),
            (self.one("/cancel"), json!({"post": self.cancel()})),
            (self.one("/retry"), json!({"post": self.retry()})),
            (self.one("/results"), json!({"get": self.results()})),
            (self.one("/errors"), json!({"get": self.errors()})),
        ]
    }

    /// A record that has just been accepted.
    pub(crate) fn example(&self) -> Value {
        match self.kind {
            SubjectKind::Task => task_example(self.action),
            SubjectKind::Import => import_example(self.action),
        }
    }

    /// The same, completed.
    pub(crate) fn completed(&self) -> Value {
        let mut record = self.example();
        complete(&mut record);
        record
    }

    /// The id of the path as a parameter.
    pub(crate) const fn id(&self) -> &'static str {
        self.id
    }

    const fn word(&self) -> &'static str {
        self.kind.noun()
    }

    /// The record as an answer.
    pub(crate) fn content(&self, example: Value) -> Value {
        json_content(schema(self.record), example)
    }

    pub(crate) fn operation(
        &self,
        verb: &str,
        rest: &str,
        summary: &str,
        description: &str,
    ) -> Operation {
        let id = format!("{verb}{}{rest}", self.noun);
        Operation::guarded(&id, self.tag, summary, description).takes(["domain"])
    }

    fn create(&self) -> Value {
        let task = self.content(self.example());
        let operation = self.operation(
            "create",
            "",
            "Create a task",
            "Answers once the task and its payload are durable. A body may be compressed: \
             `Content-Encoding: gzip` or `zstd`. A fault of the request is refused at once; a \
             fault of a single entry is reported in the errors of the task. A read key may create \
             `get_…` tasks and dry runs.",
        );
        operation
            .takes(["Idempotency-Key"])
            .body(self.create_body())
            .answers(201, "The task.", &["Location", "Idempotent-Replayed"], &task)
            .links(201, self.links())
            .fails(&FORM_ERRORS)
            .fails(&[
                ErrorCode::IdempotencyInProgress,
                ErrorCode::TooLarge,
                ErrorCode::UnsupportedMediaType,
                ErrorCode::IdempotencyKeyReused,
                ErrorCode::QueueFull,
            ])
            .build()
    }

    fn create_body(&self) -> Value {
        let entry = match self.family {
            Family::Identity => json!({"identities": [{"email": "ada@example.org"}]}),
            Family::Issues => json!({"title": "No mail", "created_at": 1_767_225_600_000_u64}),
        };
        let [form, upload, body] = match self.family {
            Family::Identity => ["IdentityTaskForm", "IdentityTaskUpload", "IdentityTaskJson"],
            Family::Issues => ["IssueTaskForm", "IssueTaskUpload", "IssueTaskJson"],
        };
        let action = self.action.as_str();
        json!({
            "required": true,
            "content": {
                "application/json": {
                    "schema": schema(body),
                    "example": {"action": action, "payload": [entry]},
                },
                "application/x-www-form-urlencoded": {
                    "schema": schema(form),
                    "example": {"action": action, "payload": json!([entry]).to_string()},
                },
                "multipart/form-data": {
                    "schema": schema(upload),
                    "encoding": {"payload": {"contentType": "application/x-ndjson"}},
                    "example": {"action": action, "payload": format!("{entry}\n")},
                },
            },
        })
    }

    /// The calls that take the id of the answer.
    pub(crate) fn links(&self) -> Value {
        let word = self.word();
        let link = |verb: &str, rest: &str, about: &str| {
            json!({
                "operationId": format!("{verb}{}{rest}", self.noun),
                "description": about,
                "parameters": {
                    "domain": "$request.path.domain",
                    self.id: format!("$response.body#/{}", self.id),
                },
            })
        };
        json!({
            "status": link("get", "", &format!("The status of the {word}.")),
            "results": link("get", "Results", "The results, once all entries are done."),
            "errors": link("get", "Errors", "The errors, once all entries are done."),
            "cancel": link("cancel", "", &format!("Ends the {word} early.")),
            "retry": link("retry", "", "Runs the failed and unprocessed entries again."),
        })
    }

    fn list(&self) -> Value {
        let example = json!({
            "page": 1,
            "page-size": 100,
            "tasks": [self.completed()],
            "total-hits": 1,
            "total-pages": 1,
        });
        let action = match self.family {
            Family::Identity => "action-identity",
            Family::Issues => "action-issues",
        };
        let line = format!("{}\n", self.completed());
        let mut page = json_content(schema("TaskEnvelope"), example);
        add_lines(&mut page, "The tasks of the page, one per line.", &line);
        let table = "task_id,action,status\r\n0198f0c2,create_core_profiles,completed\r\n";
        add_table(&mut page, "The tasks of the page, one per row, with all columns.", table);
        self.operation("list", "s", "List tasks", "The tasks of this path, newest first.")
            .takes(["status", action, "outcome", "task-created-since", "task-created-until"])
            .takes(["task-dry-run", "parent_task_id", "task-import_id", "submitted_by"])
            .takes(["page", "page-size", "list-format", "bom", "spreadsheet", "If-None-Match"])
            .answers(200, "A page of tasks.", &["Link", "ETag"], &page)
            .answers(304, "The caller already has the list.", &["ETag"], &Value::Null)
            .fails(&QUERY)
            .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
            .build()
    }

    fn status(&self) -> Value {
        let (word, example) = (self.word(), self.completed());
        let event = format!("data: {example}\n\n");
        let mut content = self.content(example);
        content["text/event-stream"] = json!({
            "schema": text("Each event is one `data:` line with the whole record: one at once, one \
                            per change, and the last one completed."),
            "example": event,
        });
        self.operation(
            "get",
            "",
            &format!("Get the status of {}", self.one_of()),
            &format!(
                "Answers at once; with `wait`, when the {word} is completed or the time is up; \
                 with `Accept: text/event-stream`, as a stream of its changes."
            ),
        )
        .takes([self.id, "wait"])
        .answers(200, "The record.", &[], &content)
        .fails(&QUERY[..3])
        .fails(&[ErrorCode::NotFound])
        .build()
    }

    fn cancel(&self) -> Value {
        let (word, record) = (self.word(), self.content(self.completed()));
        self.operation(
            "cancel",
            "",
            &format!("End {} early", self.one_of()),
            &format!(
                "The {word} ends after its current chunk; entries that have taken effect remain. \
                 Needs the same access as creating the {word}."
            ),
        )
        .takes([self.id])
        .body(no_fields())
        .answers(200, "The record, completed or about to be.", &[], &record)
        .fails(&[ErrorCode::InvalidRequest, ErrorCode::UnknownParameter, ErrorCode::InvalidValue])
        .fails(&[ErrorCode::NotFound, ErrorCode::AlreadyCompleted])
        .fails(&[ErrorCode::UnsupportedMediaType])
        .build()
    }

    fn retry(&self) -> Value {
        let word = self.word();
        self.again(
            "retry",
            "Retry the failed and unprocessed entries",
            &format!(
                "A new {word} of the entries of a completed one that failed or were not \
                 processed. There is at most one retry; the retry itself can be retried. Needs the \
                 same access as creating the {word}."
            ),
            &[ErrorCode::AlreadyRetried, ErrorCode::NothingToRetry],
        )
    }

    /// A call that makes a new task of a completed one, with the errors of this call alone.
    pub(crate) fn again(
        &self,
        verb: &str,
        summary: &str,
        description: &str,
        errors: &[ErrorCode],
    ) -> Value {
        let mut example = self.example();
        example[format!("parent_{}", self.id)] = TASK_ID.into();
        let record = self.content(example);
        let new = format!("The new {}.", self.word());
        self.operation(verb, "", summary, description)
            .takes([self.id, "Idempotency-Key"])
            .body(no_fields())
            .answers(201, &new, &["Location", "Idempotent-Replayed"], &record)
            .links(201, self.links())
            .fails(&[
                ErrorCode::InvalidRequest,
                ErrorCode::UnknownParameter,
                ErrorCode::ConflictingParameter,
                ErrorCode::InvalidValue,
                ErrorCode::NotFound,
                ErrorCode::Expired,
                ErrorCode::NotCompleted,
            ])
            .fails(errors)
            .fails(&[
                ErrorCode::IdempotencyInProgress,
                ErrorCode::UnsupportedMediaType,
                ErrorCode::IdempotencyKeyReused,
                ErrorCode::QueueFull,
            ])
            .build()
    }

    fn results(&self) -> Value {
        let (kind, record, line, table) = match self.family {
            Family::Identity => (
                "ProfileResult",
                json!({
                    "index": 0, "line": 1, "outcome": "created",
                    "core-profile-id": "188474421477632",
                }),
                "{\"index\":0,\"line\":1,\"outcome\":\"created\",\"core-profile-id\":\
                 \"188474421477632\"}\n",
                "index,line,outcome,core-profile-id,warnings\r\n0,1,created,188474421477632,\r\n",
            ),
            Family::Issues => (
                "ImportedIssue",
                json!({"index": 0, "line": 1, "outcome": "created", "id": 1}),
                "{\"index\":0,\"line\":1,\"outcome\":\"created\",\"id\":1}\n",
                "index,line,outcome,id,created_at,original_created_at,warnings\r\n\
                 0,1,created,1,,,\r\n",
            ),
        };
        let content = records::content(kind, &record, line, table);
        self.file_operation("Results", &format!("Get the results of {}", self.one_of()), &content)
            .takes(["result-includes"])
            .build()
    }

    fn errors(&self) -> Value {
        let (record, table) = match self.family {
            Family::Identity => (
                json!({
                    "index": 1,
                    "line": 2,
                    "errors": [{
                        "code": "unknown_country",
                        "pointer": "/last_country",
                        "detail": "\"Atlantis\" is not a country of ISO 3166-1",
                        "value": "Atlantis",
                    }],
                    "entry": {"last_country": "Atlantis"},
                }),
                "index,line,core-profile-id,code,pointer,detail,value,entry\r\n",
            ),
            Family::Issues => (
                json!({
                    "index": 1,
                    "line": 2,
                    "errors": [{
                        "code": "required",
                        "pointer": "/created_at",
                        "detail": "created_at is missing: Unix milliseconds",
                    }],
                    "entry": {"title": "No mail"},
                }),
                "index,line,id,code,pointer,detail,value,entry\r\n",
            ),
        };
        let lines = format!("{record}\n");
        let mut content = records::content("ErrorRecord", &record, &lines, table);
        let array = content["application/json"]["schema"].take();
        let either = json!({"anyOf": [array, schema("ErrorEnvelope")]});
        content["application/json"]["schema"] = either;
        self.file_operation("Errors", &format!("Get the errors of {}", self.one_of()), &content)
            .takes(["page", "page-size", "error-cursor", "error-count"])
            .takes(["error-excludes", "code", "pointer"])
            .fails(&[ErrorCode::OutOfRange, ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
            .build()
    }

    /// The noun with its article.
    pub(crate) const fn one_of(&self) -> &'static str {
        match self.kind {
            SubjectKind::Task => "a task",
            SubjectKind::Import => "an import",
        }
    }

    /// A file of records.
    fn file_operation(&self, what: &str, summary: &str, content: &Value) -> Operation {
        let plain = &["ETag", "Accept-Ranges", "Content-Disposition"];
        self.operation(
            "get",
            what,
            summary,
            "In the order of the entries, once all are done. `format` overrides `Accept`.",
        )
        .takes([
            self.id,
            "format",
            "bom",
            "spreadsheet",
            "download",
            "If-None-Match",
            "Range",
            "If-Range",
        ])
        .answers(200, "The records.", plain, content)
        .answers(206, "The range.", &["ETag", "Accept-Ranges", "Content-Range"], &records::range())
        .answers(304, "The caller already has the file.", &["ETag"], &Value::Null)
        .fails(&QUERY[..3])
        .fails(&[
            ErrorCode::NotFound,
            ErrorCode::Expired,
            ErrorCode::NotCompleted,
            ErrorCode::RangeNotSatisfiable,
        ])
    }
}

/// The body of a call that takes no fields: none, an empty form, or an empty object.
fn no_fields() -> Value {
    json!({
        "required": false,
        "content": {
            "application/json": {"schema": schema("NoFieldsJson")},
            "application/x-www-form-urlencoded": {"schema": schema("NoFields")},
        },
    })
}
