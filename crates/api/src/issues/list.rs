//! `GET /v1/{domain}/issues`: the part of the list of issues in which it differs from other lists.
//! The forms of the answer are those of every list.

use axum::extract::State;
use axum::response::Response;
use caseload_model::ids::DomainId;
use caseload_model::issue_query::{
    IssueFilter, IssueQuery, IssueView, ListRequest, ListScope, parse_list,
};
use caseload_model::parameters::Paging;
use caseload_model::spelling::unbracketed;
use caseload_store::query::is_expensive;
use caseload_store::{IssuePage, IssueStep, ListIssues, StepIssues, StoreFuture};
use http::{HeaderMap, Uri};

use super::person;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::lists::ListCall;
use crate::lists::call::list_error;
use crate::lists::envelope;
use crate::lists::noun::{ListRead, Noun, StepRead};
use crate::lists::refusals::accepted;
use crate::lists::table::Table;
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

    fn page(list: ListRead<'_, Self>, paging: Paging) -> StoreFuture<'_, IssuePage> {
        let ListRead { store, caller, query, view, bytes_max, budget } = list;
        let domain = caller.domain_id;
        store.list_issues(ListIssues { domain, query, view, paging, bytes_max, budget })
    }

    fn step(list: ListRead<'_, Self>, step: StepRead<u64>) -> StoreFuture<'_, IssueStep> {
        let ListRead { store, caller, query, view, bytes_max, budget } = list;
        let StepRead { after, records_max: issues_max, form, count } = step;
        let domain = caller.domain_id;
        store.step_issues(StepIssues {
            domain,
            query,
            view,
            after,
            issues_max,
            bytes_max,
            form,
            count,
            budget,
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
