//! `GET …/bulk_actions`: the tasks of one path, newest first, in the envelope of issue lists with
//! `tasks` in place of `issues`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::task_query::parse_task_list;
use caseload_store::ListTasks;
use http::{Uri, header};
use serde::Serialize;

use super::path::BulkPath;
use super::view::TaskView;
use crate::link::{self, total_pages};
use crate::problem::Problem;
use crate::query::{QueryPairs, refused};
use crate::{AppState, Caller};

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
    uri: Uri,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let request = parse_task_list(family, &pairs).map_err(refused)?;
    let paging = request.paging;
    let page = state.store.list_tasks(ListTasks {
        domain: caller.domain_id,
        family,
        statuses: request.statuses,
        actions: request.actions,
        paging,
    });
    let page = page.await?;
    let views = page.tasks.iter().map(|task| TaskView::new(task, &caller.domain_name));
    let envelope = Envelope {
        page: paging.page,
        page_size: paging.page_size,
        tasks: views.collect(),
        total_hits: page.total_hits,
        total_pages: total_pages(paging.page_size, page.total_hits),
    };
    let mut response = Json(envelope).into_response();
    let links = link::numbered(uri.path(), &pairs, paging, page.total_hits, || None);
    for link in links {
        response.headers_mut().append(header::LINK, link);
    }
    Ok(response)
}
