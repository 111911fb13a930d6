//! `GET …/results` and `GET …/errors`: the records of a completed task as a file: in the format
//! that is asked for, whole, a part of it, or packed to be kept. A completed task never changes, so
//! its files have strong tags and fixed bytes; what they are made of is in [`record_file`].
//!
//! [`record_file`]: super::record_file

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::task::{Task, TaskStatus};
use caseload_store::RecordKind;
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, Method, header};

use super::csv::Table;
use super::format::Format;
use super::path::OwnTask;
use super::record_file::{Layout, RecordFile};
use crate::AppState;
use crate::compression::gzip_file;
use crate::etag::{has_already, unchanged};
use crate::problem::{Fault, Problem};
use crate::query::QueryPairs;
use crate::range::{self, ByteRange};

/// What a file of records takes.
pub(crate) const PARAMETERS: [&str; 2] = ["format", "download"];
/// Seconds after which a running task is worth asking again.
const RETRY_SECONDS: u64 = 1;
/// Goes up when the bytes of a file change for the same records, so that no tag stands for two.
const RENDERING: u32 = 1;

pub(crate) async fn results(
    State(state): State<AppState>,
    method: Method,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    records(&state, &Asked { method, query, headers }, &own, RecordKind::Results).await
}

pub(crate) async fn errors(
    State(state): State<AppState>,
    method: Method,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    records(&state, &Asked { method, query, headers }, &own, RecordKind::Errors).await
}

/// The parts of the request that decide about the form of the answer.
struct Asked {
    method: Method,
    query: QueryPairs,
    headers: HeaderMap,
}

async fn records(
    state: &AppState,
    asked: &Asked,
    own: &OwnTask,
    kind: RecordKind,
) -> Result<Response, Problem> {
    let (format, download) = asked.form()?;
    readable(&own.task, state)?;
    let tag = tag(&own.task, kind, format);
    let file = RecordFile {
        store: state.store.clone(),
        domain: own.caller.domain_id,
        task_id: own.task.id.clone(),
        kind,
        format,
        table: Table::new(own.task.action, kind),
        records: match kind {
            RecordKind::Results => own.task.counts.succeeded,
            RecordKind::Errors => own.task.counts.failed,
        },
    };
    if download {
        let tag = format!("W/{tag}");
        if has_already(&asked.headers, &tag[2..]) {
            return Ok(unchanged(&tag));
        }
        let packed = gzip_file(file.whole().await?);
        return Ok(as_download(packed, &own.task, kind, format, &tag));
    }
    if has_already(&asked.headers, &tag) {
        return Ok(unchanged(&tag));
    }
    if let Some(range) = ByteRange::wanted(&asked.method, &asked.headers, &tag) {
        let layout = file.layout().await.map_err(|_| unread())?;
        return Ok(part(file, &layout, range, &tag));
    }
    let length = if asked.method == Method::HEAD {
        Some(file.layout().await.map_err(|_| unread())?)
    } else {
        file.known_layout().await?
    };
    let whole = file.whole().await?;
    Ok(answer(format, &tag, length.map(|layout| layout.total), whole))
}

impl Asked {
    /// The format, and whether it is wanted as a packed file.
    fn form(&self) -> Result<(Format, bool), Problem> {
        let ([format, download], mut faults) = self.query.only(PARAMETERS);
        let format = Format::wanted(format, &self.headers).map_err(|fault| faults.push(fault));
        let download = match download {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                let shown: String = other.chars().take(100).collect();
                let detail = format!("download is true or false, not {shown:?}");
                faults.push(Fault::parameter("download", ErrorCode::InvalidValue, detail));
                false
            }
        };
        Problem::check(faults)?;
        Ok((format.unwrap_or(Format::Json), download))
    }
}

/// Refuses where there is nothing to read yet, or any more.
fn readable(task: &Task, state: &AppState) -> Result<(), Problem> {
    if task.status != TaskStatus::Completed {
        let detail = format!(
            "the task is {} ({} %); ask again until its status is completed",
            task.status.as_str(),
            task.progress()
        );
        return Err(Problem::new(ErrorCode::NotCompleted, detail).retry_after(RETRY_SECONDS));
    }
    if task.expires_at.is_some_and(|end| end <= state.clock.now()) {
        let detail = "the results and errors of this task are no longer kept; expires_at of the \
                      task says until when they were";
        return Err(Problem::new(ErrorCode::Expired, detail));
    }
    Ok(())
}

/// The strong tag of the plain file.
fn tag(task: &Task, kind: RecordKind, format: Format) -> String {
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
    format: Format,
    tag: &str,
    length: Option<u64>,
    pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, format.content_type()),
        (header::ETAG, tag),
        (header::ACCEPT_RANGES, "bytes"),
        (header::VARY, "Accept"),
    ];
    let mut response = (headers, Body::from_stream(pieces)).into_response();
    if let Some(length) = length {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

fn part(file: RecordFile, layout: &Layout, range: ByteRange, tag: &str) -> Response {
    let Some(place) = range.within(layout.total) else {
        return range::unsatisfiable(layout.total);
    };
    let format = file.format;
    let mut response = answer(format, tag, None, file.part(layout, place));
    range::mark_part(&mut response, place, layout.total);
    response
}

fn as_download(packed: Body, task: &Task, kind: RecordKind, format: Format, tag: &str) -> Response {
    let (action, kind, format) = (task.action.as_str(), word(kind), format.as_str());
    let name = format!("{action}-{}-{kind}.{format}.gz", task.id);
    let headers = [
        (header::CONTENT_TYPE, "application/gzip".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (header::ETAG, tag.to_owned()),
        (header::VARY, "Accept".to_owned()),
    ];
    (headers, packed).into_response()
}

fn unread() -> Problem {
    Problem::unavailable("the records cannot be read now; try again")
}
