//! `GET …/bulk_actions` and `GET …/imports`: the tasks or imports of one path, newest first, in the
//! envelope of issue lists with `tasks` or `imports` in place of `issues`, as lines, or as a table.

use axum::extract::State;
use axum::response::Response;
use caseload_model::issue_query::Paging;
use caseload_model::task_query::{parse_import_list, parse_task_list};
use caseload_store::ListTasks;
use http::{HeaderMap, HeaderValue, Uri, header};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::path::BulkPath;
use super::subject::{Subject, SubjectKind};
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::etag;
use crate::http::format::{Format, SHORT_LIST_BYTES};
use crate::http::link::{self, total_pages};
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::imports::{self, View};
use crate::state::AppState;

/// The columns of the list as a table: every member of a task but its links.
const COLUMNS: [&str; 29] = [
    "task_id",
    "action",
    "status",
    "progress",
    "outcome",
    "errors",
    "results",
    "dry_run",
    "counts.total",
    "counts.succeeded",
    "counts.failed",
    "counts.unprocessed",
    "warnings",
    "created_at",
    "queued_at",
    "started_at",
    "completed_at",
    "expires_at",
    "file_name",
    "content_length",
    "submitted_by.key_id",
    "submitted_by.key_name",
    "import_id",
    "parent_task_id",
    "retried_by",
    "run_by",
    "position",
    "server_deaths",
    "next_try_at",
];

/// The wire form; members in this order.
struct Envelope {
    paging: Paging,
    key: &'static str,
    records: Vec<View>,
    total_hits: u64,
}

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { paging, key, records, total_hits } = self;
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("page", &paging.page)?;
        map.serialize_entry("page-size", &paging.page_size)?;
        map.serialize_entry(key, records)?;
        map.serialize_entry("total-hits", total_hits)?;
        map.serialize_entry("total-pages", &total_pages(paging.page_size, *total_hits))?;
        map.end()
    }
}

/// A page of tasks or imports.
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath { family, kind }: BulkPath,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let chosen = Format::chosen(&query, &headers);
    let request = match kind {
        SubjectKind::Task => parse_task_list(family, &query.0),
        SubjectKind::Import => parse_import_list(family, &query.0),
    };
    let (chosen, request) = match (chosen, request) {
        (Ok(chosen), Ok(request)) => (chosen, request),
        (chosen, request) => {
            let faults = request.err().unwrap_or_default().into_iter().map(Fault::from);
            return Err(Problem::faults(faults.chain(chosen.err().unwrap_or_default()).collect()));
        }
    };
    let (pairs, paging, domain) = (&query.0, request.paging, caller.domain_id);
    let mut memory = state.memory.take(Some(domain), SHORT_LIST_BYTES).await?;
    let command = ListTasks { domain, family, filter: request.filter, paging };
    let (found, total_hits) = match kind {
        SubjectKind::Task => {
            let page = state.store.list_tasks(command).await?;
            (page.tasks.into_iter().map(Subject::from).collect::<Vec<_>>(), page.total_hits)
        }
        SubjectKind::Import => {
            let page = state.store.list_imports(command).await?;
            let bytes = page.imports.iter().map(imports::memory_bytes).sum::<usize>();
            memory.grow_to(SHORT_LIST_BYTES + bytes).await?;
            (page.imports.into_iter().map(Subject::from).collect(), page.total_hits)
        }
    };
    let shown = format!("{domain:?} {family:?} {paging:?} {chosen:?} {base}");
    let tag = etag::of_text(&format!("{found:?} {total_hits} {shown}"));
    if etag::has_already(&headers, &tag) {
        return Ok(etag::unchanged(&format!("W/{tag}")));
    }
    let views = found.iter().map(|subject| View::new(subject, &caller.domain_name, &base));
    let (key, columns) = match kind {
        SubjectKind::Task => ("tasks", &COLUMNS[..]),
        SubjectKind::Import => ("imports", &imports::COLUMNS[..]),
    };
    let envelope = Envelope { paging, key, records: views.collect(), total_hits };
    let tag = HeaderValue::try_from(format!("W/{tag}"));
    let mut response = chosen.answer(memory, &envelope.records, columns, &envelope);
    let links = link::numbered(&base.of_path(uri.path()), pairs, paging, total_hits, || None);
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
    for link in links {
        response.headers_mut().append(header::LINK, link);
    }
    Ok(response)
}
