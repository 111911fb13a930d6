//! `GET …/results` and `GET …/errors`: the records of a completed task, streamed block by block as
//! they are stored. As JSON lines they go out untouched; for an array only the newlines between
//! records become commas, as no record contains one. Nothing is parsed.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use caseload_model::task::TaskStatus;
use caseload_store::{RecordBlock, RecordKind, Store};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};

use super::OwnTask;
use crate::AppState;
use crate::problem::{Fault, Problem};
use crate::query::QueryPairs;

/// Seconds after which a running task is worth asking again.
const RETRY_SECONDS: u64 = 1;

/// How the records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Jsonl,
}

pub(crate) async fn results(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    records(&state, &query, &headers, &own, RecordKind::Results).await
}

pub(crate) async fn errors(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    records(&state, &query, &headers, &own, RecordKind::Errors).await
}

async fn records(
    state: &AppState,
    query: &QueryPairs,
    headers: &HeaderMap,
    own: &OwnTask,
    kind: RecordKind,
) -> Result<Response, Problem> {
    let format = format(query, headers)?;
    let task = &own.task;
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
    let store = state.store.clone();
    // The first block is read before the status goes out, so that a store that fails is a 503.
    let first = store.record_block(own.caller.domain_id, &task.id, kind, 0).await?;
    let (domain, task) = (own.caller.domain_id, task.id.clone());
    let reader = Reader { store, domain, task, kind, format, next: Next::First(first) };
    let content_type = match format {
        Format::Json => "application/json",
        Format::Jsonl => "application/x-ndjson",
    };
    let headers = [(header::CONTENT_TYPE, content_type), (header::VARY, "Accept")];
    Ok((headers, Body::from_stream(stream::try_unfold(reader, Reader::step))).into_response())
}

/// Where the reading stands.
enum Next {
    First(Option<RecordBlock>),
    From(u32),
    Done,
}

struct Reader {
    store: Arc<dyn Store>,
    domain: DomainId,
    task: String,
    kind: RecordKind,
    format: Format,
    next: Next,
}

impl Reader {
    /// The next piece of the body; the connection is cut where the store fails midway.
    async fn step(mut self) -> io::Result<Option<(Bytes, Self)>> {
        let (block, is_first) = match std::mem::replace(&mut self.next, Next::Done) {
            Next::First(block) => (block, true),
            Next::From(index) => {
                let block = self.store.record_block(self.domain, &self.task, self.kind, index);
                let block = block.await.map_err(|error| {
                    tracing::error!(%error, task = self.task, "records cannot be read further");
                    io::Error::other("the records cannot be read further")
                })?;
                (block, false)
            }
            Next::Done => return Ok(None),
        };
        let next = block.as_ref().map(|block| block.next_index);
        let bytes = write(self.format, block.map(|block| block.lines), is_first);
        self.next = next.map_or(Next::Done, Next::From);
        Ok(Some((Bytes::from(bytes), self)))
    }
}

/// The bytes of a block of lines, or of the end of all blocks.
fn write(format: Format, lines: Option<Vec<u8>>, is_first: bool) -> Vec<u8> {
    match (format, lines) {
        (Format::Jsonl, lines) => lines.unwrap_or_default(),
        (Format::Json, None) if is_first => b"[]".to_vec(),
        (Format::Json, None) => b"]".to_vec(),
        (Format::Json, Some(lines)) => {
            let mut array = Vec::with_capacity(lines.len() + 1);
            array.push(if is_first { b'[' } else { b',' });
            let lines = lines.strip_suffix(b"\n").unwrap_or(&lines);
            array.extend(lines.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }));
            array
        }
    }
}

/// The format: by `format`, else by `Accept`, else an array.
fn format(query: &QueryPairs, headers: &HeaderMap) -> Result<Format, Problem> {
    let ([given], mut faults) = query.only(["format"]);
    let format = match given {
        Some("json") => Format::Json,
        Some("jsonl") => Format::Jsonl,
        Some(other) => {
            let detail = format!("{other:?} is no format; json and jsonl are accepted");
            faults.push(Fault::parameter("format", ErrorCode::InvalidValue, detail));
            Format::Json
        }
        None => accepted(headers),
    };
    Problem::check(faults).map(|()| format)
}

/// JSON lines where `Accept` prefers them by name, an array otherwise.
fn accepted(headers: &HeaderMap) -> Format {
    let (mut json, mut lines) = (0.0_f32, 0.0_f32);
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|v| HeaderValue::to_str(v).ok());
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts
            .filter_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
            .find_map(|weight| weight.parse().ok())
            .unwrap_or(1.0);
        match name.as_str() {
            "application/json" => json = json.max(weight),
            "application/x-ndjson" => lines = lines.max(weight),
            _ => {}
        }
    }
    if lines > 0.0 && lines >= json { Format::Jsonl } else { Format::Json }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_lines_become_one_array() {
        let blocks: [&[&[u8]]; 3] = [&[], &[b"{\"a\":1}\n{}\n"], &[b"{}\n", b"{}\n{}\n"]];
        let arrays = ["[]", "[{\"a\":1},{}]", "[{},{},{}]"];
        for (blocks, array) in blocks.iter().zip(arrays) {
            let mut out = Vec::new();
            let all = blocks.iter().map(|lines| Some(lines.to_vec())).chain([None]);
            for (n, block) in all.enumerate() {
                out.extend(write(Format::Json, block, n == 0));
            }
            assert_eq!(String::from_utf8_lossy(&out), array);
        }
    }

    #[test]
    fn json_lines_are_chosen_only_where_they_are_preferred() {
        for (accept, format) in [
            ("*/*", Format::Json),
            ("application/json", Format::Json),
            ("application/x-ndjson", Format::Jsonl),
            ("Application/X-NDJSON; charset=utf-8", Format::Jsonl),
            ("application/json;q=0.5, application/x-ndjson", Format::Jsonl),
            ("application/json, application/x-ndjson;q=0.1", Format::Json),
            ("application/x-ndjson;q=0", Format::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepted(&headers), format, "{accept}");
        }
    }
}
