//! Issues over HTTP, reading: the list, by page, by cursor or as a stream, and the single issue.
//! The store hands over rendered issues; their bytes go out as they are and are never parsed here.
//! What the parameters mean is the model's business.

pub(crate) mod envelope;
mod id;
pub(crate) mod link;
mod list;
mod stream;

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::{self, Paging, ParameterFault};
use caseload_store::{GetIssue, StoreError};
use http::{HeaderMap, header};

use crate::problem::{Fault, Problem};
use crate::query::QueryPairs;
use crate::{AppState, Caller, etag};
use envelope::{Envelope, Next};
pub(crate) use id::{IssueId, NoIssueId, unknown_issue};
pub(crate) use list::list;

/// How much longer than its deadline a read may take to give up.
const GRACE: Duration = Duration::from_millis(500);

/// `GET /v1/{domain}/issues/{issue_id}`
pub(crate) async fn single(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, NoIssueId>,
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
    let (domain, budget) = (caller.domain_id, state.config.query_timeout);
    let read = state.store.issue(GetIssue { domain, id, view, budget });
    let issue = in_time(budget, read).await?.ok_or_else(unknown_issue)?;
    let tag = etag::of_issues(&issue.version, &format!("{domain:?} {view:?}"));
    if etag::has_already(&headers, &tag) {
        return Ok(etag::unchanged(&tag));
    }
    let envelope = Envelope {
        paging: Paging::default(),
        issues: issue.body.into(),
        total_hits: Some(1),
        next: Next::Unsaid,
    };
    Ok(([(header::ETAG, tag)], envelope::respond(envelope)).into_response())
}

impl From<ParameterFault> for Fault {
    fn from(fault: ParameterFault) -> Self {
        Self::parameter(fault.parameter, fault.code, fault.detail)
    }
}

pub(crate) fn refused(faults: Vec<ParameterFault>) -> Problem {
    Problem::faults(faults.into_iter().map(Fault::from).collect())
}

/// The store keeps to the budget by itself; this is the net under it.
async fn in_time<T>(
    budget: Duration,
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let limit = budget.saturating_add(GRACE);
    tokio::time::timeout(limit, read).await.unwrap_or(Err(StoreError::DeadlinePassed))
}
