//! The task record in its wire form. Names, order and types are those of docs/reference.md, "Task".
//! Links begin with the base URL of the request; in a stored answer they are paths.

use std::ops::Not;

use caseload_model::ids::DomainName;
use caseload_model::task::{Counts, Family, Outcome, Submitter, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use serde::Serialize;

use super::path::BulkPath;
use super::subject::SubjectKind;
use crate::http::base_url::BaseUrl;

#[expect(clippy::struct_excessive_bools, reason = "they are members of the record")]
#[derive(Debug, Serialize)]
pub(crate) struct TaskView {
    task_id: String,
    action: &'static str,
    status: &'static str,
    progress: u32,
    errors: bool,
    results: bool,
    outcome: Option<&'static str>,
    dry_run: bool,
    /// Only if it is true: most actions do not know it.
    #[serde(skip_serializing_if = "Not::not")]
    upsert: bool,
    counts: CountsView,
    warnings: u32,
    created_at: UnixMillis,
    queued_at: Option<UnixMillis>,
    started_at: Option<UnixMillis>,
    completed_at: Option<UnixMillis>,
    expires_at: Option<UnixMillis>,
    file_name: Option<String>,
    content_length: Option<u64>,
    submitted_by: Option<SubmitterView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    import_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retried_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_deaths: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try_at: Option<UnixMillis>,
    pub(crate) links: Links,
}

#[derive(Debug, Serialize)]
pub(crate) struct SubmitterView {
    key_id: String,
    key_name: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct CountsView {
    total: u32,
    succeeded: u32,
    failed: u32,
    unprocessed: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct Links {
    #[serde(rename = "self")]
    pub(crate) this: String,
    results: String,
    errors: String,
}

impl Links {
    /// Those of the task or import with this id.
    pub(crate) fn new(
        domain: &DomainName,
        (family, kind): (Family, SubjectKind),
        id: &str,
        base: &BaseUrl,
    ) -> Self {
        let this = base.of_path(&format!("{}/{id}", BulkPath::of(domain, family, kind)));
        Self { results: format!("{this}/results"), errors: format!("{this}/errors"), this }
    }
}

impl TaskView {
    pub(crate) fn new(task: &Task, domain: &DomainName, base: &BaseUrl) -> Self {
        let of = (task.action.family(), SubjectKind::Task);
        let links = Links::new(domain, of, &task.id, base);
        Self {
            task_id: task.id.clone(),
            action: task.action.as_str(),
            status: task.status.as_str(),
            progress: task.progress(),
            errors: task.counts.failed > 0,
            results: task.status == TaskStatus::Completed,
            outcome: task.outcome.map(Outcome::as_str),
            dry_run: task.dry_run,
            upsert: task.upsert,
            counts: CountsView::from(task.counts),
            warnings: task.warnings,
            created_at: task.created_at,
            queued_at: task.queued_at,
            started_at: task.started_at,
            completed_at: task.completed_at,
            expires_at: task.expires_at,
            file_name: task.origin.file_name.clone(),
            content_length: task.origin.content_length,
            submitted_by: task.origin.submitted_by.clone().map(SubmitterView::from),
            import_id: task.import_id.clone(),
            parent_task_id: task.parent_id.clone(),
            retried_by: task.retried_by.clone(),
            run_by: task.run_by.clone(),
            position: task.position,
            server_deaths: (task.deaths > 0 && task.outcome.is_none()).then_some(task.deaths),
            next_try_at: task.next_try_at,
            links,
        }
    }
}

impl From<Submitter> for SubmitterView {
    fn from(by: Submitter) -> Self {
        let Submitter { key_id, key_name } = by;
        Self { key_id, key_name }
    }
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        let Counts { total, succeeded, failed, unprocessed } = counts;
        Self { total, succeeded, failed, unprocessed }
    }
}
