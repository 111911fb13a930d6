//! `GET …/bulk_actions`: the tasks of one path, newest first, in the envelope of issue lists with
//! `tasks` in place of `issues`, as lines, or as a table.

use axum::extract::State;
use axum::response::Response;
use caseload_model::task_query::parse_task_list;
use caseload_store::ListTasks;
use http::{HeaderMap, HeaderValue, Uri, header};
use serde::Serialize;

use super::path::BulkPath;
use super::view::TaskView;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::etag;
use crate::http::format::{Format, SHORT_LIST_BYTES};
use crate::http::link::{self, total_pages};
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// The columns of the list as a table: every member of a task but its links.
const COLUMNS: [&str; 28] = [
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
    "parent_task_id",
    "retried_by",
    "run_by",
    "position",
    "server_deaths",
    "next_try_at",
];

/// The wire form; members in this order.
#[derive(Debug, Serialize)]
struct Envelope {
    page: u64,
    #[serde(rename = "page-size")]
    page_size: u64,
    tasks: Vec<TaskView>,
    #[serde(rename = "total-hits")]
    total_hits: u64,
    #[serde(rename = "total-pages")]
    total_pages: u64,
}

/// A page of tasks.
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath(family): BulkPath,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let chosen = Format::chosen(query.first("format"), &headers);
    let (chosen, request) = match (chosen, parse_task_list(family, &query.0)) {
        (Ok(chosen), Ok(request)) => (chosen, request),
        (chosen, request) => {
            let faults = request.err().unwrap_or_default().into_iter().map(Fault::from);
            return Err(Problem::faults(faults.chain(chosen.err()).collect()));
        }
    };
    let pairs = &query.0;
    let paging = request.paging;
    let memory = state.memory.take(Some(caller.domain_id), SHORT_LIST_BYTES).await?;
    let page = state.store.list_tasks(ListTasks {
        domain: caller.domain_id,
        family,
        filter: request.filter,
        paging,
    });
    let page = page.await?;
    let shown = format!("{:?} {family:?} {paging:?} {chosen:?} {base}", caller.domain_id);
    let tag = etag::of_tasks(&page, &shown);
    if etag::has_already(&headers, &tag) {
        return Ok(etag::unchanged(&format!("W/{tag}")));
    }
    let views = page.tasks.iter().map(|task| TaskView::new(task, &caller.domain_name, &base));
    let envelope = Envelope {
        page: paging.page,
        page_size: paging.page_size,
        tasks: views.collect(),
        total_hits: page.total_hits,
        total_pages: total_pages(paging.page_size, page.total_hits),
    };
    let tag = HeaderValue::try_from(format!("W/{tag}"));
    let mut response = chosen.answer(memory, &envelope.tasks, &COLUMNS, &envelope);
    let links = link::numbered(&base.of_path(uri.path()), pairs, paging, page.total_hits, || None);
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
    for link in links {
        response.headers_mut().append(header::LINK, link);
    }
    Ok(response)
}
