//! `GET /v1/{domain}/issues`: what the list of issues has of its own. The forms of the answer are
//! those of every list.

use axum::extract::State;
use axum::response::Response;
use caseload_model::ids::DomainId;
use caseload_model::issue_query::{
    IssueFilter, IssueQuery, IssueView, ListRequest, ListScope, parse_list,
};
use caseload_model::spelling::unbracketed;
use caseload_store::query::is_expensive;
use caseload_store::{IssuePage, IssueStep, ListIssues, StepIssues, StoreFuture};
use http::{HeaderMap, Uri};

use super::person;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::lists::call::list_error;
use crate::lists::envelope;
use crate::lists::refusals::accepted;
use crate::lists::steps::{ListReader, PAGE_BYTES_AHEAD};
use crate::lists::table::Table;
use crate::lists::{ListCall, Noun};
use crate::state::AppState;

/// `GET /v1/{domain}/issues`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let request = parse_list(&query.0);
    let (chosen, mut request, is_stream) = accepted(&query, &headers, request)?;
    let pairs = query.0;
    let found = person::look_up(&state, &caller, &mut request.query).await;
    found.map_err(|error| list_error::<Issues>(error, &pairs))?;
    let call = ListCall::<Issues> { state, caller, base, uri, headers, pairs, request, chosen };
    call.answer(is_stream).await
}

/// Issues, as a list has them.
pub(super) struct Issues;

impl Noun for Issues {
    type Query = IssueQuery;
    type View = IssueView;
    type Id = u64;

    const STREAM_RECORDS: u64 = 1000;

    fn key(_: &IssueQuery) -> &'static str {
        envelope::ISSUES
    }

    fn scope(query: &IssueQuery, domain: DomainId) -> ListScope {
        query.scope(domain)
    }

    fn table(request: &ListRequest) -> (Table, IssueView) {
        let (columns, view) = request.table();
        (Table::of_issues(columns), view)
    }

    fn page(call: &ListCall<Self>) -> StoreFuture<'_, IssuePage> {
        call.state.store.list_issues(ListIssues {
            domain: call.caller.domain_id,
            query: call.request.query.clone(),
            view: call.request.view,
            paging: call.request.paging,
            bytes_max: PAGE_BYTES_AHEAD,
            budget: call.state.config.query_timeout,
        })
    }

    fn step(reader: &ListReader<Self>) -> StoreFuture<'_, IssueStep> {
        reader.state.store.step_issues(StepIssues {
            domain: reader.caller.domain_id,
            query: reader.query.clone(),
            view: reader.view,
            after: reader.after,
            issues_max: reader.records_max,
            bytes_max: reader.bytes_max,
            form: reader.form,
            count: reader.count,
            budget: reader.state.config.query_timeout,
        })
    }

    fn is_expensive(query: &IssueQuery) -> bool {
        is_expensive(query)
    }

    fn too_expensive(pairs: &[(String, String)]) -> String {
        let names = pairs.iter().map(|(name, _)| unbracketed(name).0);
        let mut filters: Vec<_> =
            names.filter_map(|name| Some((name, IssueFilter::named(name)?))).collect();
        filters.dedup_by_key(|(name, _)| *name);
        let named = |filters: Vec<(&str, &IssueFilter)>| {
            filters.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
        };
        let texts: Vec<_> =
            filters.iter().copied().filter(|(_, filter)| filter.reads_texts()).collect();
        let (used, longer) = match (filters.is_empty(), texts.is_empty()) {
            (true, _) => ("no filter is set".to_owned(), ""),
            (_, true) => (format!("the filters are {}", named(filters)), ""),
            _ => (
                format!(
                    "for {}, the server reads each issue that the other filters match and that \
                     may contain the text",
                    named(texts)
                ),
                "a longer text, ",
            ),
        };
        format!("{used}; narrow it, for example by {longer}created_since and created_until")
    }
}
