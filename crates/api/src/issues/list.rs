//! `GET /v1/{domain}/issues` in its three forms: a numbered page, one step by cursor, and a stream
//! of lines or of rows. The parameters and `Accept` choose the form; the query is the same in all
//! of them.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::ListVersion;
use caseload_model::issue_query::{
    self, Cursor, CursorPaging, CursorScope, ListPosition, ListRequest, Paging,
};
use caseload_model::spelling::{same_name, unbracketed};
use caseload_store::{IssueStep, ListIssues, Serve, StepForm, StepIssues, StoreError};
use http::{HeaderMap, HeaderValue, Uri};

use super::person;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::format::{Chosen, Format};
use crate::http::link;
use crate::http::log_limiter::{Event, Origin};
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

/// The parameters that are not filters: they choose the members of each issue and the part of the
/// list.
const NO_FILTERS: [&str; 14] = [
    "page",
    "page-size",
    "cursor",
    "after",
    "count",
    "includes",
    "excludes",
    "timestamp-format",
    "format",
    "trailer",
    "columns",
    "group-by",
    "timezone",
    "limit",
];

/// `GET /v1/{domain}/issues`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let chosen = Format::chosen(query.first("format"), &headers);
    let request = issue_query::parse_list(&query.0);
    let (chosen, mut request) = match (chosen, request) {
        (Ok(chosen), Ok(request)) => (chosen, request),
        (chosen, request) => return Err(refused_by(chosen.err(), request.err())),
    };
    let has_columns = request.columns.is_some();
    let is_stream = is_stream(&chosen, &query, request.explicit_paging, has_columns)?;
    let pairs = query.0;
    let found = person::look_up(&state, &caller, &mut request.query).await;
    found.map_err(|error| list_error(error, &pairs))?;
    let url = base.of_path(uri.path());
    let call = ListCall { state, caller, base, url, headers, pairs, request, chosen };
    let answer = match (is_stream, &call.request.cursor) {
        (true, _) => call.stream().await,
        (false, Some(cursor)) => call.step(cursor).await,
        (false, None) => call.page().await,
    };
    answer.map_err(|error| match error {
        ListError::Store(error) => {
            call.log_deadline(&error);
            list_error(error, &call.pairs)
        }
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
    request: ListRequest,
    chosen: Chosen,
}

impl ListCall {
    fn log_deadline(&self, error: &StoreError) {
        let origin = Origin::Domain(self.caller.domain_id);
        if matches!(error, StoreError::DeadlinePassed)
            && let Some(left_out) = self.state.log_limiter.line(Event::Deadline, origin)
        {
            let domain = self.caller.domain_name.as_str();
            tracing::warn!(domain, left_out, "a list passed its deadline");
        }
    }

    /// A numbered page.
    async fn page(&self) -> Result<Response, ListError> {
        let (request, paging) = (&self.request, self.request.paging);
        let budget = self.state.config.query_timeout;
        let memory = self.memory().await?;
        let read = self.state.store.list_issues(ListIssues {
            domain: self.caller.domain_id,
            query: request.query.clone(),
            view: request.view,
            paging,
            bytes_max: PAGE_BYTES_AHEAD,
            budget,
        });
        let page = in_time(budget, read).await?;
        let total_hits = Some(page.total_hits);
        let records = memory.hold(self.base.inserted(page.body, &page.urls));
        let rest = self.rest(page.more, page.last, paging.page_size, u64::from(page.count))?;
        let envelope = Envelope {
            paging,
            key: envelope::ISSUES,
            records,
            total_hits,
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
    async fn step(&self, cursor: &CursorPaging) -> Result<Response, ListError> {
        let mut request = self.step_request()?;
        request.count = cursor.count;
        let memory = self.memory().await?;
        let read = self.state.store.step_issues(request);
        let step = in_time(self.state.config.query_timeout, read).await?;
        let pages = cursor.pages_before().saturating_add(1);
        // A step may have fewer issues than the caller asked for: the next one continues.
        let next = step.last.filter(|_| step.more).map(|after| self.cursor(after, pages));
        let page_size = self.request.paging.page_size;
        let envelope = Envelope {
            paging: Paging { page: u64::from(pages), page_size },
            key: envelope::ISSUES,
            records: memory.hold(self.base.inserted(step.body, &step.urls)),
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
            request.issues_max = stream::STEP_RECORDS;
        }
        request.bytes_max = stream::STEP_BYTES;
        let form = if self.chosen.format == Format::Csv {
            let (columns, view) = self.request.table();
            request.view = view;
            StreamForm::Table(Table::of_issues(columns))
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

    fn steps(&self, request: StepIssues) -> ListReader<StepIssues> {
        let (state, caller, base) = (self.state.clone(), self.caller.clone(), self.base.clone());
        ListReader { state, caller, base, request }
    }

    /// The part of a page that is rendered once its reader has the part before it.
    fn rest(
        &self,
        more: bool,
        last: Option<ListPosition>,
        page_size: u64,
        count: u64,
    ) -> Result<Option<Body>, ListError> {
        if !more || last.is_none() {
            return Ok(None);
        }
        let mut request = self.step_request()?;
        request.after = last;
        Ok(Some(self.steps(request).rest_of_page(page_size - count)))
    }

    fn step_request(&self) -> Result<StepIssues, ListError> {
        let (domain, query) = (self.caller.domain_id, &self.request.query);
        let position = self.request.cursor.as_ref().map(|cursor| cursor.position(domain, query));
        Ok(StepIssues {
            domain,
            query: query.clone(),
            view: self.request.view,
            after: position.transpose().map_err(ListError::Parameter)?.flatten(),
            issues_max: self.request.paging.page_size,
            bytes_max: PAGE_BYTES_AHEAD,
            form: StepForm::Commas,
            count: false,
            budget: self.state.config.query_timeout,
        })
    }

    fn cursor(&self, after: ListPosition, pages: u32) -> String {
        let query = &self.request.query;
        let scope = CursorScope::of(self.caller.domain_id, query);
        Cursor { scope, sort: query.sort, after, pages }.encode()
    }

    /// The envelope with its links and its tag, or 304 if the caller has it already.
    fn answer(
        &self,
        envelope: Envelope<'_>,
        version: &ListVersion,
        links: Vec<HeaderValue>,
    ) -> Response {
        let (domain, view) = (self.caller.domain_id, self.request.view);
        let about = format!("{domain:?} {view:?}");
        envelope::tagged(envelope, (version, &about), &self.base, &self.headers, links)
    }
}

impl ListSteps for StepIssues {
    async fn step(&mut self, store: &dyn Serve) -> Result<Step, StoreError> {
        let IssueStep { count, body, urls, last, more, .. } =
            store.step_issues(self.clone()).await?;
        self.after = last.or(self.after);
        Ok(Step { count, body, urls, more })
    }

    fn cursor(&self, pages: u32) -> Option<String> {
        let scope = CursorScope::of(self.domain, &self.query);
        Some(Cursor { scope, sort: self.query.sort, after: self.after?, pages }.encode())
    }

    fn set_form(&mut self, form: StepForm) {
        self.form = form;
    }

    fn set_records_max(&mut self, records: u64) {
        self.issues_max = records;
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn budget(&self) -> Duration {
        self.budget
    }
}

/// Whether the filter of this name searches texts, for which the store reads the issues themselves.
fn reads_texts(name: &str) -> bool {
    ["text", "title", "messages", "notes", "feedback-comment", "custom-fields"]
        .iter()
        .any(|filter| same_name(filter, name))
}

/// Names the filters of a list, or of counts, that passed its deadline.
pub(super) fn list_error(error: StoreError, pairs: &[(String, String)]) -> Problem {
    if !matches!(error, StoreError::DeadlinePassed) {
        return error.into();
    }
    let is_filter = |name: &&str| !NO_FILTERS.iter().any(|other| same_name(other, name));
    let names = pairs.iter().map(|(name, _)| unbracketed(name).0);
    let mut filters: Vec<&str> = names.filter(is_filter).collect();
    filters.dedup();
    let texts: Vec<&str> = filters.iter().copied().filter(|name| reads_texts(name)).collect();
    let (used, longer) = match (&filters[..], &texts[..]) {
        ([], _) => ("no filter is set".to_owned(), ""),
        (_, []) => (format!("the filters are {}", filters.join(", ")), ""),
        _ => (
            format!(
                "for {}, the server reads each issue that the other filters match and that may \
                 contain the text",
                texts.join(", ")
            ),
            "a longer text, ",
        ),
    };
    let detail = format!(
        "the list could not be read within its deadline: {used}; narrow it, for example by \
         {longer}created_since and created_until"
    );
    Problem::new(ErrorCode::QueryTooExpensive, detail)
}
