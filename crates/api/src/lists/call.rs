//! A call of a list in its three forms: a numbered page, one step by cursor, and a stream of lines
//! or of rows. The parameters and `Accept` choose the form; the query is the same in all of them.

use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::CursorPaging;
use caseload_model::spelling::same_name;
use caseload_store::{StepForm, StoreError};
use http::{HeaderMap, Uri};

use super::deadline::read_into_memory;
use super::envelope::{self, Envelope};
use super::list_error::ListError;
use super::noun::{Noun, RequestOf};
use super::place::Place;
use super::steps::{ListReader, PAGE_BYTES_AHEAD};
use super::stream::{self, StepReader, StreamForm};
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::format::{Chosen, Format};
use crate::http::log_limiter::{Event, Origin};
use crate::http::memory::WAIT;
use crate::http::problem::Problem;
use crate::http::query::refused;
use crate::state::AppState;

/// A call with valid parameters.
pub(crate) struct ListCall<N: Noun> {
    pub(crate) state: AppState,
    pub(crate) caller: Caller,
    pub(crate) base: BaseUrl,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) request: RequestOf<N>,
    pub(crate) chosen: Chosen,
}

impl<N: Noun> ListCall<N> {
    pub(crate) async fn answer(&self, is_stream: bool) -> Result<Response, Problem> {
        let answer = if is_stream { self.stream().await } else { self.part().await };
        answer.map_err(|error| match error {
            ListError::Store(error) => self.problem(error),
            ListError::Parameter(fault) => refused(vec![fault]),
        })
    }

    fn problem(&self, error: StoreError) -> Problem {
        let origin = Origin::Domain(self.caller.domain_id);
        if matches!(error, StoreError::DeadlinePassed)
            && let Some(left_out) = self.state.log_limiter.line(Event::Deadline, origin)
        {
            let domain = self.caller.domain_name.as_str();
            tracing::warn!(domain, left_out, "a list passed its deadline");
        }
        list_error::<N>(error, &self.pairs)
    }

    /// A numbered page, or a step from one cursor to the next.
    async fn part(&self) -> Result<Response, ListError> {
        let (domain, cursor) = (self.caller.domain_id, self.request.cursor.as_ref());
        let url = self.base.of_path(self.uri.path());
        let place = Place { url, pairs: &self.pairs, paging: self.request.paging, cursor };
        let scope = N::scope(&self.request.query, domain);
        let token = |after| scope.cursor(after, place.number());
        let mut reader = self.reader()?;
        let (memory, records, total, version, next, rest);
        if let Some(cursor) = cursor {
            reader.count = cursor.count;
            let (step, of_step) = reader.step(WAIT).await?;
            memory = of_step;
            // A step may have fewer records than the caller asked for: the next one continues.
            next = step.last.filter(|_| step.more).map(token);
            records = self.base.inserted(step.body, &step.urls);
            (total, version, rest) = (step.total_hits, step.version, None);
        } else {
            let read = |budget| N::page(reader.list(budget), self.request.paging);
            let limits = (PAGE_BYTES_AHEAD, WAIT);
            let (page, of_page) = read_into_memory(&self.state, domain, limits, read).await?;
            memory = of_page;
            next = page.last.clone().map(token);
            records = self.base.inserted(page.body, &page.urls);
            (total, version) = (Some(page.total_hits), page.version);
            // The part of a page that is rendered once its reader has the part before it.
            reader.after = page.last.filter(|_| page.more);
            let left = self.request.paging.page_size.saturating_sub(page.count.into());
            rest = reader.after.is_some().then(|| reader.rest_of_page(left));
        }
        let key = N::key(&self.request.query);
        let links = place.links(total, next.as_deref());
        let records = memory.hold(records);
        let envelope = Envelope { rest, ..place.envelope(key, records, total, next) };
        let about = format!("{domain:?} {key} {:?}", self.request.view);
        Ok(envelope::tagged(envelope, (&version, &about), &self.base, &self.headers, links))
    }

    /// Every match, as lines or rows.
    async fn stream(&self) -> Result<Response, ListError> {
        let mut reader = self.reader()?;
        if !self.pairs.iter().any(|(name, _)| same_name("page-size", name)) {
            reader.records_max = N::STREAM_RECORDS;
        }
        reader.bytes_max = stream::STEP_BYTES;
        let form = if self.chosen.format == Format::Csv {
            let (mut table, view) = N::table(&self.request);
            table.style = self.chosen.style;
            reader.view = view;
            StreamForm::Table(table)
        } else {
            StreamForm::Lines { trailer: !self.request.without_trailer }
        };
        let pages = self.request.cursor.as_ref().map_or(0, CursorPaging::pages_before);
        let content_type = self.chosen.content_type;
        StepReader { steps: reader, pages, content_type, form }.respond().await
    }

    /// Reads the list from the position of the request.
    fn reader(&self) -> Result<ListReader<N>, ListError> {
        let request = &self.request;
        let scope = N::scope(&request.query, self.caller.domain_id);
        let position = request.cursor.as_ref().map(|cursor| scope.position(cursor));
        Ok(ListReader {
            state: self.state.clone(),
            caller: self.caller.clone(),
            base: self.base.clone(),
            query: request.query.clone(),
            view: request.view,
            after: position.transpose().map_err(ListError::Parameter)?.flatten(),
            records_max: request.paging.page_size,
            bytes_max: PAGE_BYTES_AHEAD,
            form: StepForm::Commas,
            count: false,
        })
    }
}

/// The answer if a list, or its counts, cannot be read.
pub(crate) fn list_error<N: Noun>(error: StoreError, pairs: &[(String, String)]) -> Problem {
    if !matches!(error, StoreError::DeadlinePassed) {
        return error.into();
    }
    let why = N::too_expensive(pairs);
    let detail = format!("the list could not be read within its deadline: {why}");
    Problem::new(ErrorCode::QueryTooExpensive, detail)
}
