//! The record of an import in its wire form, and the record of either kind. Names, order and types
//! are those of docs/reference.md, "File import". Links begin with the base URL of the request; in
//! a stored answer they are paths.

use std::ops::Not;

use caseload_model::ids::DomainName;
use caseload_model::import::{Doubles, Import};
use caseload_model::task::{Outcome, Task};
use caseload_model::time::UnixMillis;
use serde::Serialize;

use super::file_form::{ColumnMap, FileForm, FileFormat};
use crate::bulk_actions::{CountsView, Links, Subject, SubjectKind, SubmitterView, TaskView};
use crate::http::base_url::BaseUrl;

/// The columns of the list as a table: every member of an import but its links, its tasks and the
/// map of its columns.
pub(crate) const COLUMNS: [&str; 31] = [
    "import_id",
    "action",
    "status",
    "progress",
    "outcome",
    "dry_run",
    "counts.total",
    "counts.succeeded",
    "counts.failed",
    "counts.unprocessed",
    "warnings",
    "created_at",
    "started_at",
    "completed_at",
    "expires_at",
    "file_name",
    "content_length",
    "format.type",
    "format.encoding",
    "format.delimiter",
    "format.sheet",
    "submitted_by.key_id",
    "submitted_by.key_name",
    "parent_import_id",
    "retried_by",
    "run_by",
    "repeat_of",
    "doubles.import_id",
    "doubles.created_at",
    "doubles.entries",
    "doubles.without_id",
];

/// The record of a task or of an import.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum View {
    Task(Box<TaskView>),
    Import(Box<ImportView>),
}

impl View {
    pub(crate) fn new(subject: &Subject, domain: &DomainName, base: &BaseUrl) -> Self {
        match &subject.import {
            None => Self::Task(Box::new(TaskView::new(&subject.task, domain, base))),
            Some(import) => {
                Self::Import(Box::new(ImportView::new(import, &subject.task, domain, base)))
            }
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ImportView {
    import_id: String,
    action: &'static str,
    status: &'static str,
    progress: u32,
    outcome: Option<&'static str>,
    dry_run: bool,
    /// Only if it is true: most actions do not know it.
    #[serde(skip_serializing_if = "Not::not")]
    upsert: bool,
    counts: CountsView,
    warnings: u32,
    created_at: UnixMillis,
    started_at: Option<UnixMillis>,
    completed_at: Option<UnixMillis>,
    expires_at: UnixMillis,
    file_name: Option<String>,
    content_length: Option<u64>,
    format: FileFormat,
    columns: ColumnMap,
    tasks: Vec<String>,
    submitted_by: Option<SubmitterView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_import_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retried_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubles: Option<DoublesView>,
    pub(super) links: Links,
}

#[derive(Debug, Serialize)]
struct DoublesView {
    import_id: String,
    created_at: UnixMillis,
    entries: u32,
    without_id: u32,
}

impl From<Doubles> for DoublesView {
    fn from(doubles: Doubles) -> Self {
        let Doubles { import_id, created_at, entries, without_id } = doubles;
        Self { import_id, created_at, entries, without_id }
    }
}

impl ImportView {
    /// `sum` has the sums of the tasks.
    pub(super) fn new(import: &Import, sum: &Task, domain: &DomainName, base: &BaseUrl) -> Self {
        let FileForm { format, columns, .. } = FileForm::of(import);
        let of = (import.action.family(), SubjectKind::Import);
        Self {
            import_id: import.id.clone(),
            action: import.action.as_str(),
            status: sum.status.as_str(),
            progress: import.progress(),
            outcome: sum.outcome.map(Outcome::as_str),
            dry_run: import.dry_run,
            upsert: import.upsert,
            counts: CountsView::from(sum.counts),
            warnings: sum.warnings,
            created_at: import.created_at,
            started_at: sum.started_at,
            completed_at: sum.completed_at,
            expires_at: import.expires_at,
            file_name: import.origin.file_name.clone(),
            content_length: import.origin.content_length,
            format,
            columns,
            tasks: import.tasks.iter().map(|task| task.id.clone()).collect(),
            submitted_by: import.origin.submitted_by.clone().map(SubmitterView::from),
            parent_import_id: import.parent_id.clone(),
            retried_by: import.retried_by.clone(),
            run_by: import.run_by.clone(),
            repeat_of: import.repeat_of.clone(),
            doubles: import.doubles.clone().map(DoublesView::from),
            links: Links::new(domain, of, &import.id, base),
        }
    }
}

/// The memory of an import in a list, with its text in the answer.
pub(crate) fn memory_bytes(import: &Import) -> usize {
    const TASK_BYTES: usize = size_of::<Task>() + 256;
    4 * import.file.len() + TASK_BYTES * import.tasks.len()
}
