//! `GET …/results` and `GET …/errors`: the records of a completed task or import as a
//! file, in the chosen format: the whole file, a range of it, or a gzip download. A completed task
//! never changes, so its files have strong tags and fixed bytes. [`record_file`] writes them.
//!
//! [`record_file`]: super::record_file

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::{ErrorListRequest, parse_error_list, parse_results};
use caseload_model::spelling::boolean_word;
use caseload_model::task::{Task, TaskStatus};
use caseload_store::RecordKind;
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use super::csv::Table;
use super::error_pages::{PageCall, page};
use super::path::OwnTask;
use super::record_file::{DOWNLOAD_BYTES, Layout, RecordFile, RecordView};
use super::result_record::has_changes;
use super::subject::Subject;
use crate::http::base_url::BaseUrl;
use crate::http::compression::gzip_file;
use crate::http::connection::LongAnswer;
use crate::http::csv::Style;
use crate::http::etag::{has_already, of_text, unchanged};
use crate::http::format::{Chosen, Format, no_boolean};
use crate::http::memory::Memory;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::http::range::{self, ByteRange};
use crate::state::AppState;

/// `Retry-After` while the task runs, in seconds.
const RETRY_SECONDS: u64 = 1;
/// The version of the file formats. It must rise when the bytes of a file change for the same
/// records, so that no tag names two different files.
const RENDERING: u32 = 1;

pub(crate) async fn results(
    State(state): State<AppState>,
    method: Method,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    let (changes, faults) = match parse_results(&query.0) {
        Ok(changes) => (changes, Vec::new()),
        Err(faults) => (false, faults.into_iter().map(Fault::from).collect()),
    };
    let request = FileRequest { method, query, headers };
    let without_changes = has_changes(&own.subject.task) && !changes;
    let view = RecordView { without_changes, ..RecordView::default() };
    records(&state, &request, faults, &own, RecordKind::Results, view).await
}

pub(crate) async fn errors(
    State(state): State<AppState>,
    method: Method,
    uri: Uri,
    base: BaseUrl,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    let (list, faults) = match parse_error_list(&query.0) {
        Ok(list) => (list, Vec::new()),
        Err(faults) => (ErrorListRequest::default(), faults.into_iter().map(Fault::from).collect()),
    };
    let request = FileRequest { method, query, headers };
    let Some(pages) = &list.pages else {
        let (filter, without_entry) = (list.filter, list.exclude_entry);
        let view = RecordView { filter, without_entry, without_changes: false };
        return records(&state, &request, faults, &own, RecordKind::Errors, view).await;
    };
    let (chosen, download) = request.form(faults)?;
    if download {
        let detail = "a page is not sent as a file; leave download out, or page and cursor";
        let fault = Fault::parameter("download", ErrorCode::ConflictingParameter, detail);
        return Err(Problem::faults(vec![fault]));
    }
    check_readable(&own.subject, &state)?;
    let FileRequest { query, headers, .. } = &request;
    let call = PageCall { base: &base, uri: &uri, headers, query, chosen };
    page(&state, &call, &own, &list, pages).await
}

/// The parts of a request that choose the form of the answer.
struct FileRequest {
    method: Method,
    query: QueryPairs,
    headers: HeaderMap,
}

async fn records(
    state: &AppState,
    request: &FileRequest,
    faults: Vec<Fault>,
    own: &OwnTask,
    kind: RecordKind,
    view: RecordView,
) -> Result<Response, Problem> {
    let (chosen, download) = request.form(faults)?;
    let format = chosen.format;
    check_readable(&own.subject, state)?;
    let tag = tag(&own.subject.task, kind, &chosen, &view);
    let file = RecordFile {
        store: state.store.clone(),
        domain: own.caller.domain_id,
        id: own.subject.task.id.clone(),
        parts: own.subject.parts(),
        kind,
        chosen,
        table: Table::new(
            own.subject.task.action,
            kind,
            has_changes(&own.subject.task) && !view.without_changes,
        ),
        view,
        records: match kind {
            RecordKind::Results => own.subject.task.counts.succeeded,
            RecordKind::Errors => own.subject.task.counts.failed,
        },
        memory: state.memory.clone(),
    };
    let memory = state.memory.take(Some(own.caller.domain_id), DOWNLOAD_BYTES).await?;
    if download {
        let tag = format!("W/{tag}");
        if has_already(&request.headers, &tag[2..]) {
            return Ok(unchanged(&tag));
        }
        let compressed = gzip_file(&state.memory, file.whole(memory).await?).await?;
        return Ok(download_answer(compressed, &own.subject.task, kind, format, &tag));
    }
    if has_already(&request.headers, &tag) {
        return Ok(unchanged(&tag));
    }
    if let Some(range) = ByteRange::requested(&request.method, &request.headers, &tag) {
        let layout = file.layout().await.map_err(|_| records_unavailable())?;
        return Ok(partial_answer((file, memory), chosen.content_type, &layout, range, &tag));
    }
    let length = if request.method == Method::HEAD {
        Some(file.layout().await.map_err(|_| records_unavailable())?)
    } else {
        file.known_layout().await?
    };
    let whole = file.whole(memory).await?;
    Ok(answer(chosen.content_type, &tag, length.map(|layout| layout.total), whole))
}

impl FileRequest {
    /// The format, and whether the caller wants a gzip download.
    fn form(&self, mut faults: Vec<Fault>) -> Result<(Chosen, bool), Problem> {
        let chosen = Format::chosen(&self.query, &self.headers);
        let download = self.query.first("download").unwrap_or("false");
        let download = boolean_word(download).unwrap_or_else(|| {
            faults.push(no_boolean("download", download));
            false
        });
        match chosen {
            Ok(chosen) if faults.is_empty() => Ok((chosen, download)),
            chosen => {
                faults.extend(chosen.err().unwrap_or_default());
                Err(Problem::faults(faults))
            }
        }
    }
}

/// Refuses the call before the task or import has completed and after its records have expired.
pub(super) fn check_readable(subject: &Subject, state: &AppState) -> Result<(), Problem> {
    check_completed(subject)?;
    check_kept(subject, state)
}

/// Refuses a call that needs a completed task or import.
pub(super) fn check_completed(subject: &Subject) -> Result<(), Problem> {
    let task = &subject.task;
    if task.status == TaskStatus::Completed {
        return Ok(());
    }
    let detail = format!(
        "the {} is {} ({} %); ask again until its status is completed",
        subject.noun(),
        task.status.as_str(),
        task.progress()
    );
    Err(Problem::new(ErrorCode::NotCompleted, detail).retry_after(RETRY_SECONDS))
}

/// Refuses the call after the entries and records have expired.
pub(super) fn check_kept(subject: &Subject, state: &AppState) -> Result<(), Problem> {
    if subject.task.expires_at.is_none_or(|end| end > state.clock.now()) {
        return Ok(());
    }
    let noun = subject.noun();
    let detail = format!(
        "the entries, results and errors of this {noun} have expired, at the time in its expires_at"
    );
    Err(Problem::new(ErrorCode::Expired, detail))
}

/// The strong tag of the plain file.
fn tag(task: &Task, kind: RecordKind, chosen: &Chosen, view: &RecordView) -> String {
    let Chosen { format, style, .. } = chosen;
    if !view.is_whole() || *style != Style::Plain {
        let shown = format!("{} {kind:?} {format:?} {style:?} {RENDERING} {view:?}", task.id);
        return of_text(&shown);
    }
    let completed = task.completed_at.map_or(0, |at| at.0);
    let (kind, format) = (word(kind), format.as_str());
    format!("\"{}-{kind}-{format}-{completed}-{RENDERING}\"", task.id)
}

const fn word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Results => "results",
        RecordKind::Errors => "errors",
    }
}

fn answer(
    content_type: &'static str,
    tag: &str,
    length: Option<u64>,
    pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::ETAG, tag),
        (header::ACCEPT_RANGES, "bytes"),
        (header::VARY, "Accept"),
    ];
    let mut response = (headers, Body::from_stream(pieces)).into_response();
    if let Some(length) = length {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response.extensions_mut().insert(LongAnswer);
    response
}

fn partial_answer(
    (file, memory): (RecordFile, Memory),
    content_type: &'static str,
    layout: &Layout,
    range: ByteRange,
    tag: &str,
) -> Response {
    let Some(bytes) = range.within(layout.total) else {
        return range::unsatisfiable(layout.total);
    };
    let mut response = answer(content_type, tag, None, file.range(layout, bytes, memory));
    range::mark_partial(&mut response, bytes, layout.total);
    response
}

fn download_answer(
    body: Body,
    task: &Task,
    kind: RecordKind,
    format: Format,
    tag: &str,
) -> Response {
    let (action, kind, format) = (task.action.as_str(), word(kind), format.as_str());
    let name = format!("{action}-{}-{kind}.{format}.gz", task.id);
    let headers = [
        (header::CONTENT_TYPE, "application/gzip".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (header::ETAG, tag.to_owned()),
        (header::VARY, "Accept".to_owned()),
    ];
    let mut response = (headers, body).into_response();
    response.extensions_mut().insert(LongAnswer);
    response
}

fn records_unavailable() -> Problem {
    Problem::unavailable("the records cannot be read now; try again")
}
