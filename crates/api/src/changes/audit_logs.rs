//! `GET /v2/{domain}/issues/{issue_id}/_audit_logs`: the history of an issue for clients of the API
//! family. The pages and the total need the whole history, so it is read in parts, each of which is
//! dropped before the next; a page in ascending order is read in a second pass, once the total is
//! known.

use std::ops::Range;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::change::{AuditRequest, parse_audit};
use caseload_model::issue_query::SortOrder;
use caseload_model::json::write_array;
use caseload_store::StoreError;
use http::header;

use super::history_record::Record;
use crate::http::auth::Caller;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::issues::{InvalidIssueId, IssueId, unknown_issue};
use crate::lists::deadline::in_time;
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::state::AppState;

/// How many changes are read at once.
const STEP_CHANGES: usize = 1000;

/// `GET /v2/{domain}/issues/{issue_id}/_audit_logs`
pub(crate) async fn audit_logs(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let mut faults = Vec::new();
    let id = id.map_err(|none| faults.push(none.into()));
    let request =
        parse_audit(&pairs).map_err(|others| faults.extend(others.into_iter().map(Fault::from)));
    Problem::check(faults)?;
    let (Ok(id), Ok(request)) = (id, request) else { return Err(unknown_issue()) };
    let record = Record::Issue(id.known()?);
    let memory = state.memory.take(Some(caller.domain_id), PAGE_BYTES_AHEAD).await?;
    let reading = Reading { state: &state, caller: &caller, record, request: &request };
    let log = in_time(state.config.query_timeout, reading.page()).await?;
    if log.is_unknown {
        record.require(&state, &caller).await?;
    }
    let AuditRequest { page, page_size, .. } = request;
    let mut body =
        format!("{{\"page\":{page},\"page_size\":{page_size},\"audit_logs\":").into_bytes();
    write_array(&log.entries, &mut body, |entry, out| out.extend_from_slice(entry));
    body.extend_from_slice(format!(",\"total\":{}}}", log.total).as_bytes());
    Ok(([(header::CONTENT_TYPE, "application/json")], memory.hold(body)).into_response())
}

/// A reading of the audit log of an issue.
struct Reading<'r> {
    state: &'r AppState,
    caller: &'r Caller,
    record: Record,
    request: &'r AuditRequest,
}

/// Some entries, and the number of all.
#[derive(Default)]
struct Log {
    entries: Vec<Vec<u8>>,
    total: u64,
    /// Whether there is no change of the issue.
    is_unknown: bool,
}

impl Reading<'_> {
    /// The entries of the page, in the order of the request.
    async fn page(&self) -> Result<Log, StoreError> {
        let AuditRequest { page, page_size, order, .. } = *self.request;
        let first = (page - 1).saturating_mul(page_size);
        let end = first.saturating_add(page_size);
        if order == SortOrder::Descending {
            return self.newest(None, first..end).await;
        }
        // Both passes end at the same change.
        let last = self.state.store.last_position(self.caller.domain_id).await?;
        let before = Some(last.saturating_add(1));
        let Log { total, is_unknown, .. } = self.newest(before, 0..0).await?;
        let from_the_end = total.saturating_sub(end)..total.saturating_sub(first);
        let mut log = self.newest(before, from_the_end).await?;
        log.entries.reverse();
        Ok(Log { total, is_unknown, ..log })
    }

    /// The entries with these numbers, newest first, before a position.
    async fn newest(&self, mut before: Option<u64>, shown: Range<u64>) -> Result<Log, StoreError> {
        let mut log = Log { is_unknown: true, ..Log::default() };
        loop {
            let Self { state, caller, record, request } = self;
            let page = record.history(state, caller, before, STEP_CHANGES).await?;
            for change in page.changes {
                log.is_unknown = false;
                for entry in request.entries(&change).into_iter().rev() {
                    if shown.contains(&log.total) {
                        log.entries.push(entry);
                    }
                    log.total += 1;
                }
            }
            if page.next.is_none() {
                return Ok(log);
            }
            before = page.next;
        }
    }
}
