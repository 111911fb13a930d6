//! `GET /v2/{domain}/identity/core_profiles` and `…/app_profiles` in their three forms: a numbered
//! page, one step by cursor, and a stream of lines or of rows. The parameters and `Accept` choose
//! the form; the query is the same in all of them.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::ListVersion;
use caseload_model::issue_query::{CursorPaging, Paging};
use caseload_model::profile_query::{
    ProfileId, ProfileKind, ProfileListRequest, ProfileListScope, ProfilePosition,
    parse_profile_list,
};
use caseload_model::spelling::{same_name, unbracketed};
use caseload_store::{ListProfiles, ProfileStep, Serve, StepForm, StepProfiles, StoreError};
use http::{HeaderMap, HeaderValue, Uri};

use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::format::{Chosen, Format};
use crate::http::link;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::http::query::{QueryPairs, refused};
use crate::lists::deadline::in_time;
use crate::lists::envelope::{self, Envelope, Next};
use crate::lists::list_error::ListError;
use crate::lists::refusals::{is_stream, refused_by};
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::lists::stream::{self, StepReader, StreamForm};
use crate::lists::table::Table;
use crate::lists::{ListReader, ListSteps, Step};
use crate::state::AppState;

/// The filters that an index serves. Any other one is judged profile by profile.
const INDEXED: [&str; 8] = [
    "created-since",
    "created-until",
    "updated-since",
    "updated-until",
    "ids",
    "pids",
    "identity",
    "app-ids",
];
/// A step of a stream ends after this many profiles. They are shorter than issues.
const STEP_PROFILES: u64 = 4096;
/// The parameters that are not filters.
const NO_FILTERS: [&str; 11] = [
    "page",
    "page-size",
    "cursor",
    "after",
    "count",
    "includes",
    "format",
    "trailer",
    "columns",
    "sort-by",
    "sort-order",
];

/// `GET /v2/{domain}/identity/core_profiles`
pub(crate) async fn list_core_profiles(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    list(ProfileKind::Core, state, caller, (base, uri), headers, query).await
}

/// `GET /v2/{domain}/identity/app_profiles`
pub(crate) async fn list_app_profiles(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    list(ProfileKind::App, state, caller, (base, uri), headers, query).await
}

async fn list(
    kind: ProfileKind,
    state: AppState,
    caller: Caller,
    (base, uri): (BaseUrl, Uri),
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let chosen = Format::chosen(query.first("format"), &headers);
    let request = parse_profile_list(kind, &query.0);
    let (chosen, request) = match (chosen, request) {
        (Ok(chosen), Ok(request)) => (chosen, request),
        (chosen, request) => return Err(refused_by(chosen.err(), request.err())),
    };
    let has_columns = request.columns.is_some();
    let is_stream = is_stream(&chosen, &query, request.explicit_paging, has_columns)?;
    let pairs = query.0;
    let url = base.of_path(uri.path());
    let call = ListCall { state, caller, base, url, headers, pairs, request, chosen };
    let answer = match (is_stream, &call.request.cursor) {
        (true, _) => call.stream().await,
        (false, Some(cursor)) => call.step(cursor).await,
        (false, None) => call.page().await,
    };
    answer.map_err(|error| match error {
        ListError::Store(error) => list_error(error, &call.pairs),
        ListError::Parameter(fault) => refused(vec![fault]),
        ListError::Refused(problem) => problem,
    })
}

/// A call of the list with valid parameters.
struct ListCall {
    state: AppState,
    caller: Caller,
    base: BaseUrl,
    /// Of the list, without a query.
    url: String,
    headers: HeaderMap,
    pairs: Vec<(String, String)>,
    request: ProfileListRequest,
    chosen: Chosen,
}

impl ListCall {
    /// A numbered page.
    async fn page(&self) -> Result<Response, ListError> {
        let (request, paging) = (&self.request, self.request.paging);
        let budget = self.state.config.query_timeout;
        let memory = self.memory().await?;
        let read = self.state.store.list_profiles(ListProfiles {
            domain: self.caller.domain_id,
            domain_name: self.caller.domain_name.clone(),
            query: request.query.clone(),
            view: request.view,
            paging,
            bytes_max: PAGE_BYTES_AHEAD,
            budget,
        });
        let page = in_time(budget, read).await?;
        let rest = self.rest(page.more, page.last.clone(), u64::from(page.count))?;
        let envelope = Envelope {
            paging,
            key: request.query.kind.as_str(),
            records: memory.hold(page.body),
            total_hits: Some(page.total_hits),
            next: Next::ByPage,
            rest,
        };
        let links = link::header(&self.url, &self.pairs, paging, page.total_hits, || {
            let pages = u32::try_from(paging.page).unwrap_or(u32::MAX);
            page.last.map(|after| self.cursor(after, pages))
        });
        Ok(self.answer(envelope, &page.version, links))
    }

    /// A step from one cursor to the next.
    async fn step(&self, cursor: &CursorPaging<ProfileId>) -> Result<Response, ListError> {
        let mut request = self.step_request()?;
        request.count = cursor.count;
        let memory = self.memory().await?;
        let read = self.state.store.step_profiles(request);
        let step = in_time(self.state.config.query_timeout, read).await?;
        let pages = cursor.pages_before().saturating_add(1);
        // A step may have fewer profiles than the caller asked for: the next one continues.
        let next = step.last.filter(|_| step.more).map(|after| self.cursor(after, pages));
        let page_size = self.request.paging.page_size;
        let envelope = Envelope {
            paging: Paging { page: u64::from(pages), page_size },
            key: self.request.query.kind.as_str(),
            records: memory.hold(step.body),
            total_hits: step.total_hits,
            next: next.as_deref().map_or(Next::End, Next::Cursor),
            rest: None,
        };
        let links = link::stepped(&self.url, &self.pairs, next.as_deref());
        Ok(self.answer(envelope, &step.version, links))
    }

    /// Every match, as lines or rows.
    async fn stream(&self) -> Result<Response, ListError> {
        let mut request = self.step_request()?;
        let sized = self.pairs.iter().any(|(name, _)| same_name("page-size", name));
        if !sized {
            request.profiles_max = STEP_PROFILES;
        }
        request.bytes_max = stream::STEP_BYTES;
        let form = if self.chosen.format == Format::Csv {
            let (columns, view) = self.request.table();
            request.view = view;
            StreamForm::Table(Table::of_profiles(columns))
        } else {
            StreamForm::Lines { trailer: !self.request.without_trailer }
        };
        let reader = StepReader {
            steps: self.steps(request),
            pages: self.request.cursor.as_ref().map_or(0, CursorPaging::pages_before),
            content_type: self.chosen.content_type,
            form,
        };
        reader.respond().await
    }

    /// Memory for as much of a list as is rendered ahead of its reader.
    async fn memory(&self) -> Result<Memory, ListError> {
        let taken = self.state.memory.take(Some(self.caller.domain_id), PAGE_BYTES_AHEAD);
        taken.await.map_err(ListError::Refused)
    }

    fn steps(&self, request: StepProfiles) -> ListReader<StepProfiles> {
        let (state, caller, base) = (self.state.clone(), self.caller.clone(), self.base.clone());
        ListReader { state, caller, base, request }
    }

    /// The part of a page that is rendered once its reader has the part before it.
    fn rest(
        &self,
        more: bool,
        last: Option<ProfilePosition>,
        count: u64,
    ) -> Result<Option<Body>, ListError> {
        if !more || last.is_none() {
            return Ok(None);
        }
        let mut request = self.step_request()?;
        request.after = last;
        Ok(Some(self.steps(request).rest_of_page(self.request.paging.page_size - count)))
    }

    fn step_request(&self) -> Result<StepProfiles, ListError> {
        let scope = self.scope();
        let position = self.request.cursor.as_ref().map(|cursor| scope.position(cursor));
        Ok(StepProfiles {
            domain: self.caller.domain_id,
            domain_name: self.caller.domain_name.clone(),
            query: self.request.query.clone(),
            view: self.request.view,
            after: position.transpose().map_err(ListError::Parameter)?.flatten(),
            profiles_max: self.request.paging.page_size,
            bytes_max: PAGE_BYTES_AHEAD,
            form: StepForm::Commas,
            count: false,
            budget: self.state.config.query_timeout,
        })
    }

    fn scope(&self) -> ProfileListScope {
        ProfileListScope::of(self.caller.domain_id, &self.request.query)
    }

    fn cursor(&self, after: ProfilePosition, pages: u32) -> String {
        self.scope().cursor(after, pages)
    }

    /// The envelope with its links and its tag, or 304 if the caller has it already.
    fn answer(
        &self,
        envelope: Envelope<'_>,
        version: &ListVersion,
        links: Vec<HeaderValue>,
    ) -> Response {
        let (domain, view) = (self.caller.domain_id, self.request.view);
        let kind = self.request.query.kind;
        let about = format!("{domain:?} {kind:?} {view:?}");
        envelope::tagged(envelope, (version, &about), &self.base, &self.headers, links)
    }
}

impl ListSteps for StepProfiles {
    async fn step(&mut self, store: &dyn Serve) -> Result<Step, StoreError> {
        let ProfileStep { count, body, last, more, .. } = store.step_profiles(self.clone()).await?;
        self.after = last.or_else(|| self.after.take());
        Ok(Step { count, body, urls: Vec::new(), more })
    }

    fn cursor(&self, pages: u32) -> Option<String> {
        let scope = ProfileListScope::of(self.domain, &self.query);
        Some(scope.cursor(self.after.clone()?, pages))
    }

    fn set_form(&mut self, form: StepForm) {
        self.form = form;
    }

    fn set_records_max(&mut self, records: u64) {
        self.profiles_max = records;
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn budget(&self) -> Duration {
        self.budget
    }
}

/// Names the filters of a list that passed its deadline.
fn list_error(error: StoreError, pairs: &[(String, String)]) -> Problem {
    if !matches!(error, StoreError::DeadlinePassed) {
        return error.into();
    }
    let among = |names: &[&str], name: &str| names.iter().any(|other| same_name(other, name));
    let names = pairs.iter().map(|(name, _)| unbracketed(name).0);
    let mut unindexed: Vec<&str> =
        names.filter(|name| !among(&NO_FILTERS, name) && !among(&INDEXED, name)).collect();
    unindexed.dedup();
    let used = if unindexed.is_empty() {
        "the list has too many profiles".to_owned()
    } else {
        format!(
            "no index serves {}, so the server reads every profile that the other filters match",
            unindexed.join(", ")
        )
    };
    let detail = format!(
        "the list could not be read within its deadline: {used}; narrow it, for example by \
         created_since and created_until, or read it by cursor without count"
    );
    Problem::new(ErrorCode::QueryTooExpensive, detail)
}
