//! Issues over HTTP, reading: the list and the single issue, each in the envelope. The store hands
//! over rendered issues; their bytes go out as they are and are never parsed here. What the
//! parameters mean is the model's business.

pub(crate) mod envelope;
pub(crate) mod link;

use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::{self, ParameterFault};
use caseload_store::{GetIssue, IssuePage, ListIssues, StoreError};
use http::{Uri, header};

use crate::problem::{Fault, Problem};
use crate::query::{QueryPairs, same_name};
use crate::{AppState, Caller};

/// How much longer than its deadline a read may take to give up.
const GRACE: Duration = Duration::from_millis(500);
/// Parameters that choose no issues: what is shown of them, and which page.
const NO_FILTERS: [&str; 5] = ["page", "page-size", "includes", "excludes", "timestamp-format"];

/// `GET /v1/{domain}/issues`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let request = issue_query::parse_list(&pairs).map_err(refused)?;
    let budget = state.config.query_timeout;
    let read = state.store.list_issues(ListIssues {
        domain: caller.domain_id,
        query: request.query.clone(),
        view: request.view,
        paging: request.paging,
        budget,
    });
    let page = in_time(budget, read).await.map_err(|error| expensive(error, &pairs))?;
    let mut response = envelope::respond(request.paging, &page);
    if let Some(links) = link::header(uri.path(), &pairs, &request, &page) {
        response.headers_mut().insert(header::LINK, links);
    }
    Ok(response)
}

/// `GET /v1/{domain}/issues/{issue_id}`
pub(crate) async fn single(
    State(state): State<AppState>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let mut faults = Vec::new();
    let id = match path.as_ref().map(|Path((_, id))| id.as_str()) {
        Ok(id) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) => Some(id),
        _ => {
            let detail = "the id of an issue is a whole number: digits only, such as 28";
            faults.push(Fault::parameter("issue-id", ErrorCode::InvalidValue, detail));
            None
        }
    };
    let view = issue_query::parse_single(&pairs)
        .map_err(|others| faults.extend(others.into_iter().map(Fault::from)));
    Problem::check(faults)?;
    // Digits beyond 64 bits are an id that no issue has.
    let id = id.and_then(|id| id.parse().ok());
    let (Some(id), Ok(view)) = (id, view) else { return Err(unknown_issue()) };
    let budget = state.config.query_timeout;
    let read = state.store.issue(GetIssue { domain: caller.domain_id, id, view, budget });
    let body = in_time(budget, read).await?.ok_or_else(unknown_issue)?;
    let page = IssuePage { total_hits: 1, count: 1, body, last_created_at: None };
    Ok(envelope::respond(issue_query::Paging::default(), &page).into_response())
}

fn unknown_issue() -> Problem {
    Problem::new(ErrorCode::NotFound, "the domain has no issue of that id")
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

/// Names what made a list too expensive, where its deadline passed.
fn expensive(error: StoreError, pairs: &[(String, String)]) -> Problem {
    if !matches!(error, StoreError::DeadlinePassed) {
        return error.into();
    }
    let is_filter = |name: &&str| !NO_FILTERS.iter().any(|other| same_name(other, name));
    let mut filters: Vec<&str> = pairs.iter().map(|(n, _)| n.as_str()).filter(is_filter).collect();
    filters.dedup();
    let used = match filters.len() {
        0 => "no filter is set".to_owned(),
        _ => format!("the filters are {}", filters.join(", ")),
    };
    let detail = format!(
        "the list could not be read within its deadline: {used}; narrow it, for example by \
         created_since and created_until"
    );
    Problem::new(ErrorCode::QueryTooExpensive, detail)
}
