//! `GET /v1/{domain}/issues/{issue_id}`: one issue, in the envelope of the list.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::{self, Paging};
use caseload_store::GetIssue;
use http::{HeaderMap, header};

use super::id::{InvalidIssueId, IssueId, unknown_issue};
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::etag;
use crate::http::memory::WAIT;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::lists::deadline::read_into_memory;
use crate::lists::envelope::{self, Envelope, Next};
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::state::AppState;

/// `GET /v1/{domain}/issues/{issue_id}`
pub(crate) async fn get(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    base: BaseUrl,
    headers: HeaderMap,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let mut faults = Vec::new();
    let id = id.map_err(|none| faults.push(none.into()));
    let view = issue_query::parse_single(&pairs)
        .map_err(|others| faults.extend(others.into_iter().map(Fault::from)));
    Problem::check(faults)?;
    let (Ok(id), Ok(view)) = (id, view) else { return Err(unknown_issue()) };
    let id = id.known()?;
    let domain = caller.domain_id;
    let (issue, memory) = read_into_memory(&state, domain, (PAGE_BYTES_AHEAD, WAIT), |budget| {
        state.store.issue(GetIssue { domain, id, view, budget })
    })
    .await?;
    let issue = issue.ok_or_else(unknown_issue)?;
    let tag = etag::of_version(&issue.version, &format!("{domain:?} {view:?} {base}"));
    if etag::has_already(&headers, &tag) {
        return Ok(etag::unchanged(&tag));
    }
    let envelope = Envelope {
        paging: Paging::default(),
        key: envelope::ISSUES,
        records: memory.hold(base.inserted(issue.body, &issue.urls)),
        total_hits: Some(1),
        next: Next::ByPage,
        rest: None,
    };
    Ok(([(header::ETAG, tag)], envelope::respond(envelope)).into_response())
}
