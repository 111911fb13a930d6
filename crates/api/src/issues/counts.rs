//! `GET /v1/{domain}/issues/counts`: the number of matches, and their numbers by one or two
//! properties. The filters are those of the list.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::{Grouping, parse_counts};
use caseload_model::json::write_string;
use caseload_store::{CountIssues, IssueCounts};
use http::header;

use super::list::Issues;
use super::person;
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::{QueryPairs, refused};
use crate::lists::call::list_error;
use crate::lists::deadline::in_time;
use crate::state::AppState;

/// `GET /v1/{domain}/issues/counts`
pub(crate) async fn counts(
    State(state): State<AppState>,
    caller: Caller,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let mut request = parse_counts(&pairs).map_err(refused)?;
    let found = person::look_up(&state, &caller, &mut request.query).await;
    found.map_err(|error| list_error::<Issues>(error, &pairs))?;
    let budget = state.config.query_timeout;
    let read = state.store.count_issues(CountIssues {
        domain: caller.domain_id,
        query: request.query,
        grouping: request.grouping.clone(),
        budget: budget.into(),
    });
    let counts =
        in_time(budget, read).await.map_err(|error| list_error::<Issues>(error, &pairs))?;
    let body = rendered(&request.grouping, &counts);
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

fn rendered(grouping: &Grouping, counts: &IssueCounts) -> Vec<u8> {
    let mut out = format!("{{\"total-hits\":{},\"groups\":[", counts.total_hits).into_bytes();
    for (n, (values, issues)) in counts.groups.iter().enumerate() {
        out.extend_from_slice(if n == 0 { b"{" } else { b",{" });
        for (by, value) in grouping.by.iter().zip(values) {
            write_string(by.as_str(), &mut out);
            out.push(b':');
            value.write_json(&mut out);
            out.push(b',');
        }
        out.extend_from_slice(format!("\"count\":{issues}}}").as_bytes());
    }
    out.extend_from_slice(format!("],\"other\":{}}}", counts.other).as_bytes());
    out
}
