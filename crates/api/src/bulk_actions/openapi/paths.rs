//! The paths of bulk action tasks: the same operations for actions on profiles and for actions on
//! issues.

use caseload_model::error_code::ErrorCode;
use caseload_model::task::{Action, Family};
use serde_json::{Map, Value, json};

use super::records;
use super::task::{TASK_ID, completed_example, task_example};
use crate::openapi::json::{schema, text};
use crate::openapi::operation::{Operation, QUERY, add_lines, add_table, json_content};

pub(crate) fn paths() -> Value {
    let all = Family::ALL.iter().flat_map(|family| FamilyPaths::of(*family).paths());
    Value::Object(all.collect::<Map<_, _>>())
}

/// The differences between the two paths.
pub(super) struct FamilyPaths {
    family: Family,
    tag: &'static str,
    /// The last part of the operation ids.
    noun: &'static str,
    form: &'static str,
    upload: &'static str,
    body: &'static str,
    action: Action,
}

impl FamilyPaths {
    pub(super) const fn of(family: Family) -> Self {
        match family {
            Family::Identity => Self {
                family,
                tag: "profile tasks",
                noun: "ProfileTask",
                form: "IdentityTaskForm",
                upload: "IdentityTaskUpload",
                body: "IdentityTaskJson",
                action: Action::CreateCoreProfiles,
            },
            Family::Issues => Self {
                family,
                tag: "issue tasks",
                noun: "IssueTask",
                form: "IssueTaskForm",
                upload: "IssueTaskUpload",
                body: "IssueTaskJson",
                action: Action::ImportIssues,
            },
        }
    }

    fn paths(&self) -> [(String, Value); 6] {
        let all = format!("/v2/{{domain}}/{}/bulk_actions", self.family.as_str());
        let one = |rest: &str| format!("{all}/{{task_id}}{rest}");
        let (results, errors) = (self.results(), self.errors());
        [
            (all.clone(), json!({"get": self.list(), "post": self.create()})),
            (one(""), json!({"get": self.status()})),
            (one("/cancel"), json!({"post": self.cancel()})),
            (one("/retry"), json!({"post": self.retry()})),
            (one("/results"), json!({"get": results})),
            (one("/errors"), json!({"get": errors})),
        ]
    }

    pub(super) fn operation(
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
        let task = json_content(schema("Task"), task_example(self.action));
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
            .fails(&[
                ErrorCode::InvalidRequest,
                ErrorCode::UnknownParameter,
                ErrorCode::ConflictingParameter,
                ErrorCode::InvalidValue,
                ErrorCode::MissingField,
                ErrorCode::UnknownAction,
                ErrorCode::InvalidPayload,
                ErrorCode::EmptyPayload,
                ErrorCode::TooManyEntries,
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
        let action = self.action.as_str();
        json!({
            "required": true,
            "content": {
                "application/json": {
                    "schema": schema(self.body),
                    "example": {"action": action, "payload": [entry]},
                },
                "application/x-www-form-urlencoded": {
                    "schema": schema(self.form),
                    "example": {"action": action, "payload": json!([entry]).to_string()},
                },
                "multipart/form-data": {
                    "schema": schema(self.upload),
                    "encoding": {"payload": {"contentType": "application/x-ndjson"}},
                    "example": {"action": action, "payload": format!("{entry}\n")},
                },
            },
        })
    }

    /// The calls that take the id of the answer.
    fn links(&self) -> Value {
        let link = |verb: &str, rest: &str, about: &str| {
            json!({
                "operationId": format!("{verb}{}{rest}", self.noun),
                "description": about,
                "parameters": {
                    "domain": "$request.path.domain",
                    "task_id": "$response.body#/task_id",
                },
            })
        };
        json!({
            "status": link("get", "", "The status of the task."),
            "results": link("get", "Results", "The results of the task, once it is completed."),
            "errors": link("get", "Errors", "The errors of the task, once it is completed."),
            "cancel": link("cancel", "", "Ends the task early."),
            "retry": link("retry", "", "Runs the failed and unprocessed entries again."),
        })
    }

    fn list(&self) -> Value {
        let example = json!({
            "page": 1,
            "page-size": 100,
            "tasks": [completed_example(self.action)],
            "total-hits": 1,
            "total-pages": 1,
        });
        let action = match self.family {
            Family::Identity => "action-identity",
            Family::Issues => "action-issues",
        };
        let line = format!("{}\n", completed_example(self.action));
        let mut page = json_content(schema("TaskEnvelope"), example);
        add_lines(&mut page, "The tasks of the page, one per line.", &line);
        let table = "task_id,action,status\r\n0198f0c2,create_core_profiles,completed\r\n";
        add_table(&mut page, "The tasks of the page, one per row, with all columns.", table);
        self.operation("list", "s", "List tasks", "The tasks of this path, newest first.")
            .takes(["status", action, "outcome", "task-created-since", "task-created-until"])
            .takes(["task-dry-run", "parent_task_id", "submitted_by"])
            .takes(["page", "page-size", "list-format", "If-None-Match"])
            .answers(200, "A page of tasks.", &["Link", "ETag"], &page)
            .answers(304, "The caller already has the list.", &["ETag"], &Value::Null)
            .fails(&QUERY)
            .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
            .build()
    }

    fn status(&self) -> Value {
        let example = completed_example(self.action);
        let event = format!("data: {example}\n\n");
        let mut content = json_content(schema("Task"), example);
        content["text/event-stream"] = json!({
            "schema": text("Each event is one `data:` line with the whole record: one at once, one \
                            per change, and the last one completed."),
            "example": event,
        });
        self.operation(
            "get",
            "",
            "Get the status of a task",
            "Answers at once; with `wait`, when the task is completed or the time is up; with \
             `Accept: text/event-stream`, as a stream of its changes.",
        )
        .takes(["task_id", "wait"])
        .answers(200, "The task.", &[], &content)
        .fails(&QUERY[..3])
        .fails(&[ErrorCode::NotFound])
        .build()
    }

    fn cancel(&self) -> Value {
        let task = json_content(schema("Task"), completed_example(self.action));
        self.operation(
            "cancel",
            "",
            "End a task early",
            "The task ends after its current chunk; entries that have taken effect remain. Needs \
             the same access as creating the task.",
        )
        .takes(["task_id"])
        .body(no_fields())
        .answers(200, "The task, completed or about to be.", &[], &task)
        .fails(&[ErrorCode::InvalidRequest, ErrorCode::UnknownParameter, ErrorCode::InvalidValue])
        .fails(&[ErrorCode::NotFound, ErrorCode::AlreadyCompleted])
        .fails(&[ErrorCode::UnsupportedMediaType])
        .build()
    }

    fn retry(&self) -> Value {
        self.again(
            "retry",
            "Retry the failed and unprocessed entries",
            "A new task of the entries of a completed task that failed or were not processed. A \
             task has at most one retry; the retry itself can be retried. Needs the same access as \
             creating the task.",
            &[ErrorCode::AlreadyRetried, ErrorCode::NothingToRetry],
        )
    }

    /// A call that makes a new task of a completed one, with the errors of this call alone.
    pub(super) fn again(
        &self,
        verb: &str,
        summary: &str,
        description: &str,
        errors: &[ErrorCode],
    ) -> Value {
        let mut example = task_example(self.action);
        example["parent_task_id"] = TASK_ID.into();
        let task = json_content(schema("Task"), example);
        self.operation(verb, "", summary, description)
            .takes(["task_id", "Idempotency-Key"])
            .body(no_fields())
            .answers(201, "The new task.", &["Location", "Idempotent-Replayed"], &task)
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
        self.file_operation("Results", "Get the results of a task", &content)
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
        self.file_operation("Errors", "Get the errors of a task", &content)
            .takes(["page", "page-size", "error-cursor", "error-count"])
            .takes(["error-excludes", "code", "pointer"])
            .fails(&[ErrorCode::OutOfRange, ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
            .build()
    }

    /// A file of records.
    fn file_operation(&self, what: &str, summary: &str, content: &Value) -> Operation {
        let plain = &["ETag", "Accept-Ranges", "Content-Disposition"];
        self.operation(
            "get",
            what,
            summary,
            "In payload order, once the task is completed. `format` overrides `Accept`.",
        )
        .takes(["task_id", "format", "download", "If-None-Match", "Range", "If-Range"])
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
